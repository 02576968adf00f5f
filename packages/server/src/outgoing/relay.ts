import type { HostPort } from '../config/values.ts';
import { messageOf } from '../errors.ts';

/** Time limit of connecting, of the greeting, and of each reply. */
const TIMEOUT_MS = 10_000;

export class RelayRefused extends Error {
  /** Whether the server said that it will never take the mail. */
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** @throws RelayRefused */
export type Relay = (mail: { mailFrom: string; to: readonly string[]; raw: Uint8Array }) => Promise<void>;

/** Sends mail to the first of these servers that takes it, and to no others. Loads nodemailer when it is first used. */
export function createRelay(servers: readonly HostPort[], name: string): Relay {
  return async ({ mailFrom, to, raw }) => {
    const { createTransport } = await import('nodemailer');
    let refused = new RelayRefused('MAYFLY_REPLY_SMTP names no server.', true);
    for (const { host, port } of servers) {
      const timeouts = {
        connectionTimeout: TIMEOUT_MS,
        greetingTimeout: TIMEOUT_MS,
        socketTimeout: TIMEOUT_MS,
      };
      // Servers of a test have certificates of their own.
      const transport = createTransport({
        host,
        port,
        name,
        tls: { rejectUnauthorized: false },
        ...timeouts,
      });
      try {
        await transport.sendMail({ envelope: { from: mailFrom, to: [...to] }, raw: Buffer.from(raw) });
        return;
      } catch (error) {
        const code = Number((error as { responseCode?: number }).responseCode ?? 0);
        refused = new RelayRefused(`${host}:${port} refused the mail: ${messageOf(error)}`, code >= 500);
      } finally {
        transport.close();
      }
    }
    throw refused;
  };
}
