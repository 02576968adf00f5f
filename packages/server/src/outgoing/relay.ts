import { messageOf } from '../errors.ts';
import type { HostPort } from '../text/host-port.ts';

const TIMEOUTS_MS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 10_000 };

/** Sending failed for a known reason. `state` is the new state of the mail; only `pending` is retried. */
export class NotSent extends Error {
  readonly state: 'failed' | 'cancelled' | 'pending';
  constructor(state: NotSent['state'], message: string) {
    super(message);
    this.state = state;
  }
}

export const failed = (why: string): NotSent => new NotSent('failed', why);

export type Relay = (mail: { mailFrom: string; to: readonly string[]; raw: Uint8Array }) => Promise<void>;

/** Sends mail to the first of these servers that accepts it. Imports nodemailer on first use. */
export function createRelay(servers: readonly HostPort[], name: string): Relay {
  return async ({ mailFrom, to, raw }) => {
    const { createTransport } = await import('nodemailer');
    let refused = failed('MAYFLY_REPLY_SMTP names no server.');
    for (const { host, port } of servers) {
      const transport = createTransport({
        ...{ host, port, name },
        // Relay servers in test environments often have self-signed certificates.
        tls: { rejectUnauthorized: false },
        ...TIMEOUTS_MS,
      });
      try {
        await transport.sendMail({ envelope: { from: mailFrom, to: [...to] }, raw: Buffer.from(raw) });
        return;
      } catch (error) {
        const isPermanent = Number((error as { responseCode?: number }).responseCode ?? 0) >= 500;
        const message = `${host}:${port} refused the mail: ${messageOf(error)}`;
        refused = new NotSent(isPermanent ? 'failed' : 'pending', message);
      } finally {
        transport.close();
      }
    }
    throw refused;
  };
}
