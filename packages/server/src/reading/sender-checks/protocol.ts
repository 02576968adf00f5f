import type { MailAuthentication } from '../../mail/mail.ts';

/** Messages between the main thread and the thread that checks senders; see authenticator.ts and worker.ts. */

export interface CheckerData {
  /** Name servers as `address` or `address:port`; null for the machine's own. */
  servers: readonly string[] | null;
}

export interface CheckJob {
  id: number;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The mail as its sender sent it, without our Received line; the thread frees a large one. */
  raw: Uint8Array;
}

/** A mail to check, or the id of a check that must return what is known so far. */
export type ToChecker = CheckJob | { hurry: number };

/** `ready` when the thread listens; then one result for each mail. */
export type FromChecker = 'ready' | { id: number; found: MailAuthentication };
