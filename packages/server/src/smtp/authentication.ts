import type { CaptureTarget, FindCaptureTarget, SmtpCredentials } from '../inbound/smtp-credentials.ts';
import type { Logger } from '../log.ts';
import type { AuthOffer } from './interpreter.ts';
import { isLoopback } from './networks.ts';
import { REPLIES, type Reply, replyForError } from './replies.ts';

/**
 * `inbox`: credentials of an inbox only; `any`: all others are accepted too, and change nothing; `off`: no
 * AUTH.
 */
export type AuthMode = 'inbox' | 'any' | 'off';

/** What all sessions share. */
export interface AuthContext {
  mode: AuthMode;
  /** True to offer AUTH without TLS to clients on other machines too. */
  plaintext: boolean;
  find: FindCaptureTarget;
  log: Logger;
  /** `captured`: credentials of an inbox; `accepted`: any others in mode `any`; `refused`: 535. */
  onResult(result: 'captured' | 'accepted' | 'refused'): void;
}

const OUR_CREDENTIAL = /^mf[kt]_/;
const UNMATCHED =
  'The SMTP user name and password belong to no live inbox; the mail is delivered by its recipients';

/**
 * Where AUTH is offered to a client: a password must not cross a network in the clear.
 * @param remoteAddress the client's own address, also behind a proxy
 */
export function authOffer(
  { mode, plaintext }: Pick<AuthContext, 'mode' | 'plaintext'>,
  remoteAddress: string,
): AuthOffer {
  if (mode === 'off') return 'off';
  return plaintext || isLoopback(remoteAddress) ? 'always' : 'encrypted';
}

/** @property target the inbox that takes all mail of the session; null for delivery by recipients */
export interface AuthResult {
  reply: Reply;
  target: CaptureTarget | null;
}

/** Checks the credentials of a session. Never rejects. @param peer for the log */
export async function checkCredentials(
  { find, mode, log, onResult }: AuthContext,
  credentials: SmtpCredentials,
  peer: { session: string; remoteAddress: string },
): Promise<AuthResult> {
  let target: CaptureTarget | undefined;
  try {
    target = await find(credentials);
  } catch (err) {
    const { session } = peer;
    if (!replyForError(err)) log.error({ session, err }, 'SMTP authentication failed unexpectedly');
    return { reply: REPLIES.authUnavailable, target: null };
  }
  if (!target && mode === 'inbox') {
    onResult('refused');
    log.info(peer, 'SMTP credentials were refused');
    return { reply: REPLIES.badCredentials, target: null };
  }
  onResult(target ? 'captured' : 'accepted');
  if (target) log.info({ ...peer, inbox: target.inboxId }, 'An SMTP session was authenticated for an inbox');
  // A credential of ours in the password is meant for an inbox: it is mistyped, revoked or expired.
  else if (OUR_CREDENTIAL.test(credentials.password)) log.warn(peer, UNMATCHED);
  else log.info(peer, UNMATCHED);
  return { reply: REPLIES.authenticated, target: target ?? null };
}
