import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Situations in which a wait fails, each with what its explanation must say. `later.json` has those of former defects.
 * They are in `situations/`; `explained.test.ts` plays them on both engines.
 *
 * `{me}`, `{id}` and `{token}` are the address, id and read token of the inbox that is waited for.
 */

/** A mail that a sender tries to deliver in a session of its own. */
export interface Mail {
  to: string;
  from?: string;
  subject?: string;
  text?: string;
  html?: string;
  /** The whole message, in place of the fields above. */
  raw?: string;
  /** Address of this machine that the sender connects from, by default 127.0.0.1. */
  ip?: string;
  helo?: string;
  auth?: [string, string];
  /** Bytes of the body. */
  bytes?: number;
  /** Declared by the SIZE parameter of MAIL. */
  declares?: number;
  /** Lines end with LF alone. */
  bareLf?: true;
  attachment?: 'file' | 'inline';
  /** Recipients in front of `to`, all of them tags of this address. */
  others?: { count: number; of: string };
}

export type Step =
  /** Seconds that pass. */
  | { pass: number }
  /** `{n}` is the number of the mail, from 0. */
  | { send: Mail; times?: number }
  /** A client that says these lines, and then closes the connection. */
  | { session: string[]; ip?: string }
  /** The same, and the client stays connected. */
  | { staying: string[] }
  /** STARTTLS by a client that does not trust the certificate; then it gives up. */
  | { distrust: number; ip?: string; helo?: string }
  /** Another live inbox of the same account. */
  | { inbox: string; domain?: string }
  /** A live inbox of another account. */
  | { foreignInbox: string }
  /** Mails to this many other live inboxes, each of which receives its own. */
  | { noise: number; subject?: string }
  /** RCPT commands of strangers in one session, for so many addresses that no inbox has. */
  | { refusedElsewhere: number }
  | { call: string; body?: object };

export interface Situation {
  title: string;
  /** `dev`: sink, SMTP AUTH `any`; `serve`: no sink, AUTH `inbox`, bare LF refused; `shared`: as serve, with a second account. */
  server: 'dev' | 'serve' | 'shared';
  /** Local part of the inbox, or the domain of a catch-all inbox. */
  me: string | { catchAll: string };
  /** Default: the account's API key. */
  as?: 'token';
  /** Before the inbox is created. */
  earlier?: Step[];
  /** Between its creation and the wait. */
  before?: Step[];
  /** By default for one message, for 10 seconds; `since` in seconds from its beginning, or the cursor of `before`'s end. */
  wait?: {
    match?: object;
    count?: number;
    timeoutSeconds?: number;
    since?: number | 'cursor';
    waitedSeconds?: number;
    askedSeconds?: number;
  };
  /** While it is held, from its first moment on. */
  during?: Step[];
  /** After it has failed; what is stored must not change. */
  after?: Step[];
  /** The cause that must come first; for a request that is rejected, the code of the error. */
  first: string;
  /** Further causes that must be named, in this order. */
  also?: string[];
  /** Causes that must not be named. */
  never?: string[];
  /** Patterns of what the summary must say, whatever its wording. */
  facts: string[];
  /** Patterns of what it must not say. */
  lies?: string[];
}

const FOLDER = join(import.meta.dirname, 'situations');

export const situations: Situation[] = readdirSync(FOLDER).flatMap((file): Situation[] =>
  JSON.parse(readFileSync(join(FOLDER, file), 'utf8')),
);
