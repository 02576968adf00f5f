import { setTimeout as pause } from 'node:timers/promises';
import { createTransport } from 'nodemailer';

const ATTEMPTS = 3;
/** Short here, because a test waits for it; an application waits minutes. */
const PAUSE_MS = 100;

/** 4yz and lost connections may go away by themselves, 5yz does not (RFC 5321 section 4.2.1). */
const isTemporary = ({ responseCode }) => responseCode === undefined || responseCode < 500;

/** How an application sends mail: three attempts, and then the error of the last one. */
export async function sendWithRetries(mail, { host = '127.0.0.1', port = 2525 } = {}) {
  const transport = createTransport({ pool: true, host, port });
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return await transport.sendMail(mail);
      } catch (error) {
        if (!isTemporary(error) || attempt === ATTEMPTS) throw error;
        await pause(PAUSE_MS * attempt);
      }
    }
  } finally {
    transport.close();
  }
}
