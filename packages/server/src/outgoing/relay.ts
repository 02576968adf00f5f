import type { HostPort } from '../config/values.ts';
import { messageOf } from '../errors.ts';

/** Time limit for connecting, for the greeting, and for each reply. */
const TIMEOUT_MS = 10_000;

export class RelayRefused extends Error {
  /** Whether the rejection is permanent. */
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Sends mail to an external server. @throws RelayRefused */
export type Relay = (mail: { mailFrom: string; to: readonly string[]; raw: Uint8Array }) => Promise<void>;

/** Sends mail to the first of these servers that accepts it. Imports nodemailer on first use. */
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
      // Relay servers in test environments often have self-signed certificates.
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
