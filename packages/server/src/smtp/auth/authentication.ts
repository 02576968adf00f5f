import type { CaptureTarget, FindCaptureTarget, SmtpCredentials } from '../../inbound/smtp-credentials.ts';
import type { Logger } from '../../log.ts';
import {
  type AuthExchange,
  type AuthStep,
  beginAuth,
  continueAuth,
  MAX_AUTH_LINE_BYTES,
} from '../protocol/sasl.ts';
import { REPLIES, type Reply, replyForError } from '../replies.ts';
import { isLoopback } from '../transport/networks.ts';

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
  /** Failed attempts after which a connection is closed. */
  maxFailures: number;
  log: Logger;
  /** `captured`: credentials of an inbox; `accepted`: any others in mode `any`; `refused`: 535. */
  onResult(result: 'captured' | 'accepted' | 'refused'): void;
}

/** What decides about an AUTH command besides its own text. */
export interface AuthPeer {
  tls: boolean;
  /** The client's own address, also behind a proxy. */
  remoteAddress: string;
  /** True after EHLO or HELO. */
  greeted: boolean;
  /** True between MAIL and the end of the message. */
  inTransaction: boolean;
}

const OUR_CREDENTIAL = /^mf[kt]_/;
const UNMATCHED =
  'The SMTP user name and password belong to no live inbox; the mail is delivered by its recipients';

/** Whether EHLO lists AUTH: a password must not cross a network in the clear. */
export function offersAuth(
  { mode, plaintext }: Pick<AuthContext, 'mode' | 'plaintext'>,
  { tls, remoteAddress }: Pick<AuthPeer, 'tls' | 'remoteAddress'>,
): boolean {
  return mode !== 'off' && (tls || plaintext || isLoopback(remoteAddress));
}

/** Authentication of one connection (RFC 4954): its state, and the replies to its lines. */
export class Authentication {
  readonly #context: AuthContext;
  readonly #session: string;
  #exchange: AuthExchange | undefined;
  #authenticated = false;
  #target: CaptureTarget | null = null;
  #failures = 0;

  /** @param session the session's id, for the log */
  constructor(session: string, context: AuthContext) {
    this.#session = session;
    this.#context = context;
  }

  /** The inbox that takes all mail of this session; null for delivery by recipients. */
  get target(): CaptureTarget | null {
    return this.#target;
  }

  get authenticated(): boolean {
    return this.#authenticated;
  }

  /** True while the client's next line is not a command but its answer to a challenge. */
  get awaitsResponse(): boolean {
    return this.#exchange !== undefined;
  }

  /** True when the connection has to be closed. */
  get exhausted(): boolean {
    return this.#failures >= this.#context.maxFailures;
  }

  /** Forgets who the client is, after STARTTLS (RFC 3207 section 4.2); its failures still count. */
  reset(): void {
    this.#exchange = undefined;
    this.#authenticated = false;
    this.#target = null;
  }

  /**
   * The longest line that may come now.
   * @param beginning what there is of the line, at least its first five characters
   * @param maxCommandBytes the limit of other commands
   */
  maxLineBytes(beginning: string, maxCommandBytes: number): number {
    return this.awaitsResponse || /^auth /i.test(beginning) ? MAX_AUTH_LINE_BYTES : maxCommandBytes;
  }

  /** Ends an exchange whose line was too long to be read. */
  abandonExchange(): void {
    this.#exchange = undefined;
  }

  /** The reply to an AUTH command. Never rejects. @param line without its line end */
  async command(line: string, peer: AuthPeer): Promise<Reply> {
    const problem = this.#problem(peer);
    return problem ?? this.#follow(beginAuth(line), peer);
  }

  /** The reply to the client's answer to a challenge. Never rejects. @param line without its line end */
  async response(line: string, peer: AuthPeer): Promise<Reply> {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (!exchange) throw new Error('no challenge was sent');
    return this.#follow(continueAuth(exchange, line), peer);
  }

  #problem(peer: AuthPeer): Reply | undefined {
    if (this.#context.mode === 'off') return REPLIES.notImplemented;
    if (!peer.greeted) return REPLIES.needHello;
    if (!offersAuth(this.#context, peer)) return REPLIES.authNeedsTls;
    if (this.#authenticated) return REPLIES.alreadyAuthenticated;
    return peer.inTransaction ? REPLIES.authInTransaction : undefined;
  }

  #follow(step: AuthStep, peer: AuthPeer): Reply | Promise<Reply> {
    if ('rejected' in step) return step.rejected;
    if ('credentials' in step) return this.#check(step.credentials, peer);
    this.#exchange = step.exchange;
    return step.challenge;
  }

  async #check(credentials: SmtpCredentials, { remoteAddress }: AuthPeer): Promise<Reply> {
    const { find, mode, log, onResult } = this.#context;
    const session = this.#session;
    let target: CaptureTarget | undefined;
    try {
      target = await find(credentials);
    } catch (err) {
      if (!replyForError(err)) log.error({ session, err }, 'unexpected failure in SMTP authentication');
      return REPLIES.authUnavailable;
    }
    if (!target && mode === 'inbox') {
      this.#failures++;
      onResult('refused');
      log.info({ session, remoteAddress }, 'SMTP authentication failed');
      return REPLIES.badCredentials;
    }
    this.#authenticated = true;
    this.#target = target ?? null;
    onResult(target ? 'captured' : 'accepted');
    if (target) log.info({ session, remoteAddress, inbox: target.inboxId }, 'SMTP session authenticated');
    // A credential of ours in the password is meant for an inbox: it is mistyped, revoked or expired.
    else if (OUR_CREDENTIAL.test(credentials.password)) log.warn({ session, remoteAddress }, UNMATCHED);
    else log.info({ session, remoteAddress }, UNMATCHED);
    return REPLIES.authenticated;
  }
}
