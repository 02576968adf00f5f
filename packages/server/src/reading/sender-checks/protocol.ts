import type { MailAuthentication } from '../../mail/mail.ts';

/** Messages between the main thread and the thread that checks senders; see authenticator.ts and worker.ts. */

/** What a thread is started with. */
export interface CheckerData {
  /** Name servers as `address` or `address:port`; null for the machine's own. */
  servers: readonly string[] | null;
}

/** A mail whose sender is to be checked. */
export interface CheckJob {
  id: number;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The mail as its sender sent it, without our Received line; the thread frees a large one. */
  raw: Uint8Array;
}

/** To the thread: check a mail, or wait no longer for what one still lacks. */
export type ToChecker = CheckJob | { hurry: number };

/** From the thread: it listens, or what it found of a mail. Each mail is answered once. */
export type FromChecker = 'ready' | { id: number; found: MailAuthentication };
