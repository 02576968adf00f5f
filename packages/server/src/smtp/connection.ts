import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { SMTPServerDataStream, SMTPServerError } from 'smtp-server';
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import type { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { Authentication, type AuthPeer, offersAuth } from './auth/authentication.ts';
import { CommandGuard, isLastWord } from './command-guard.ts';
import { CommandStream } from './command-stream.ts';
import { SMTPConnection } from './library.ts';
import type { Listener, ListenerContext } from './listener.ts';
import { REPLIES, type Reply, replyText } from './replies.ts';
import { Session } from './session.ts';
import { SessionTimer } from './session-timer.ts';
import { destroyOnEnd, handshakeDeadline } from './transport/handshake-deadline.ts';
import { HandshakeWatch } from './transport/handshake-failures.ts';

/*
 * This file, command-stream.ts and listener.ts, and library.ts which loads it, alone know smtp-server. It
 * gives sockets, the reading of lines and of the data's end, STARTTLS and the PROXY line; what is changed of
 * it is changed by overriding methods, and test/smtp/library.test.ts fails when an update no longer calls them.
 */

/** The places of connections, counted over all listeners. */
export interface Doorkeeper {
  /** The reply that turns a connection away, or undefined; then `leave` is called once, later. */
  enter(connection: Connection): Reply | undefined;
  leave(connection: Connection): void;
}

const ENHANCED_CODE = /^[245]\.\d{1,3}\.\d{1,3} /;

/** One client: smtp-server's connection with our rules in front of it and our replies. */
export class Connection extends SMTPConnection {
  readonly #context: ListenerContext;
  readonly #mail: Session;
  readonly #auth: Authentication;
  readonly #guard: CommandGuard;
  readonly #timer: SessionTimer;
  #errors = 0;
  #entered = false;
  #leaving = false;
  #handshake: AbortController | undefined;
  readonly #handshakeWatch: HandshakeWatch;

  constructor(listener: Listener, socket: Socket | TLSSocket, options: SMTPConnectionOptions | undefined) {
    super(listener, socket, options);
    const { context } = listener;
    this.#context = context;
    this.#mail = new Session(this.id, context);
    const { id: session, remoteAddress } = this;
    this.#handshakeWatch = new HandshakeWatch(context, { session, remoteAddress });
    if (this.secure) this.#handshakeWatch.done();
    this.#auth = new Authentication(this.id, context.auth);
    this.#guard = new CommandGuard(context.limits, (verb) => verb === 'AUTH' || this._isSupported(verb));
    this.#timer = new SessionTimer(context.limits, context.clock.now());
  }

  /** No wait before the greeting: smtp-server waits 100 ms for clients that talk too early. */
  override init(): void {
    this._setListeners(() => {
      const refusal = this.#context.door.enter(this);
      if (refusal) return this.reply(refusal);
      this.#entered = true;
      this.connectionReady();
    });
  }

  reply(reply: Reply): void {
    this.send(reply.code, replyText(reply));
  }

  /** A text that begins with an enhanced code keeps it; smtp-server would put its own before it. */
  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    if (code === 421) this.#handshakeWatch.settled();
    const itsOwn = typeof data === 'string' && ENHANCED_CODE.test(data) ? false : context;
    if (this._socket.readyState === 'writeOnly') this.#sendToHalfClosed(code, data, itsOwn);
    super.send(code, data, itsOwn);
    if (code < 500) return;
    this.#errors++;
    if (this.#errors >= this.#context.limits.maxErrors) this.reply(REPLIES.tooManyErrors);
  }

  /** smtp-server says nothing to a client that has closed its side; it waits for its replies all the same. */
  #sendToHalfClosed(
    code: number,
    data: string | string[] | null | undefined,
    context?: string | false,
  ): void {
    const enhanced = this._getEnhancedStatusCode(code, context);
    const lines = [data ?? ''].flat().map((text) => (enhanced ? `${enhanced} ${text}` : text));
    const last = lines.length - 1;
    this._socket.write(lines.map((line, i) => `${code}${i < last ? '-' : ' '}${line}\r\n`).join(''));
  }

  /** Finishes the mail that is coming in or being stored, if one is, and then closes with 421. */
  leave(): void {
    this.#leaving = true;
    if (!this._dataStream) this.#sayGoodbye();
  }

  /** Closes now, whatever is going on. */
  cut(): void {
    this.#sayGoodbye();
    this._socket.destroy();
  }

  /** Enforces the limits of time; called every few seconds. @param now epoch milliseconds */
  watch(now: number): void {
    const transfer = this.#mail.transfer;
    const reply = this.#timer.check(now, {
      waitsForUs: transfer ? transfer.paused : this._handlerPending || Boolean(this._dataStream),
      dataBytes: transfer?.bytesReceived ?? null,
    });
    if (reply) this.#end(reply);
  }

  /** Closes with a reply, and gives back at once what an unfinished mail holds. */
  #end(reply: Reply): void {
    const unfinished = this._dataStream;
    this.reply(reply);
    if (unfinished && this.#mail.transfer) unfinished.destroy();
  }

  #sayGoodbye(): void {
    this.#end(REPLIES.shuttingDown);
    this._socket.destroySoon();
  }

  override _createParser(): SMTPStream {
    const listener = this._server as Listener;
    const parser = new CommandStream(this, listener.context.limits);
    parser.oncommand = (command, done) => this._onCommand(command, done);
    parser.on('error', () => this.close());
    return parser;
  }

  override _onCommand(command: Buffer, callback?: () => void): void {
    const done = callback ?? (() => undefined);
    // smtp-server discards plaintext that follows a STARTTLS, without a reply.
    if (this._upgrading) {
      super._onCommand(command, done);
      return;
    }
    this.#handshakeWatch.settled();
    // In a later turn, as smtp-server does it: a flood of bad commands must not delay other connections.
    const resume = (): void => void setImmediate(() => this._whenWritable(done));
    const refusal = this.#refusal(command);
    if (refusal) {
      this.reply(refusal);
      if (isLastWord(refusal)) this.close();
      resume();
    } else if (this.#auth.awaitsResponse || /^auth(?: |$)/i.test(command.toString('latin1', 0, 5))) {
      void this.#authenticate(command.toString()).then(resume);
    } else super._onCommand(command, done);
  }

  #refusal(command: Buffer): Reply | undefined {
    this.#timer.touch(this.#context.clock.now());
    if (this.#leaving) return REPLIES.shuttingDown;
    return this.#auth.awaitsResponse ? undefined : this.#guard.refusal(command, this.#mail.isFull);
  }

  /** Replies to an AUTH command, or to the client's answer to a challenge; smtp-server's own AUTH is not used. */
  async #authenticate(line: string): Promise<void> {
    const peer: AuthPeer = {
      tls: this.secure,
      remoteAddress: this.remoteAddress,
      greeted: Boolean(this.hostNameAppearsAs),
      inTransaction: this.#mail.inTransaction,
    };
    this._handlerPending = true;
    const reply = await (this.#auth.awaitsResponse
      ? this.#auth.response(line, peer)
      : this.#auth.command(line, peer));
    this._handlerPending = false;
    this.reply(reply);
    if (this.#auth.exhausted) this.reply(REPLIES.tooManyFailedAuths);
  }

  get #offersAuth(): boolean {
    const { secure: tls, remoteAddress } = this;
    return offersAuth(this.#context.auth, { tls, remoteAddress });
  }

  /** smtp-server lists AUTH in its reply to EHLO when this is true for it. */
  override _isSupported(command: string): boolean {
    if (command === 'AUTH') return this.#offersAuth && !this.#auth.authenticated;
    return super._isSupported(command);
  }

  maxLineBytes(beginning: string): number {
    return this.#auth.maxLineBytes(beginning, this.#context.limits.maxCommandBytes);
  }

  lineTooLong(): void {
    this.reply(this.#auth.awaitsResponse ? REPLIES.authLineTooLong : REPLIES.lineTooLong);
    this.#auth.abandonExchange();
  }

  override _resetSession(): void {
    super._resetSession();
    // smtp-server has forgotten the client's name after a handshake, and only then.
    if (!this.hostNameAppearsAs) this.#auth.reset();
    // Also called when the handshake after STARTTLS is done.
    if (this.#handshake && !this.#handshake.signal.aborted) this.#handshakeWatch.done();
    this.#handshake?.abort();
    this.#mail.reset();
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    const helo = this.hostNameAppearsAs || '';
    const { remoteAddress, secure: tls } = this;
    const { target, authenticated } = this.#auth;
    const rights = { target, allowsAuth: authenticated || this.#offersAuth };
    this.reply(this.#mail.mail(command.toString().trimEnd(), { helo, remoteAddress, tls }, rights));
    callback();
  }

  override handler_RCPT(command: Buffer, callback: () => void): void {
    void this.#mail.rcpt(command.toString().trimEnd()).then((reply) => {
      this.reply(reply);
      callback();
    });
  }

  override handler_DATA(command: Buffer, callback: () => void): void {
    const problem = this.#mail.dataProblem();
    if (problem) {
      this.reply(problem);
      callback();
      return;
    }
    // smtp-server has its own list of recipients and begins no DATA while it is empty.
    this.session.envelope.rcptTo = [{ address: '', args: false }];
    super.handler_DATA(command, callback);
  }

  override handler_STARTTLS(command: Buffer, callback: () => void): void {
    const upgrade = (): void => {
      if (this._closing || this._closed) callback();
      else super.handler_STARTTLS(command, callback);
    };
    const refuse = (err: unknown): void => {
      this.#context.log.error({ session: this.id, err }, 'no certificate could be made');
      this.reply(REPLIES.noTlsNow);
      callback();
    };
    void (this._server as Listener).certified().then(upgrade, refuse);
  }

  /** Called by the listener with what comes after DATA. */
  receive(stream: SMTPServerDataStream, callback: (error?: Error | null, message?: string) => void): void {
    this.#timer.beginData(this.#context.clock.now());
    this.#mail.data(stream, (reply, inStep) => {
      this.#timer.touch(this.#context.clock.now());
      if (!inStep) {
        this.reply(reply);
        this.close();
        stream.destroy();
        return;
      }
      if (reply.code < 300) {
        this.#errors = 0;
        this.#guard.mailTaken();
        callback(null, replyText(reply));
      } else callback(Object.assign(new Error(replyText(reply)), { responseCode: reply.code }));
      if (this.#leaving) this.#sayGoodbye();
    });
  }

  /**
   * smtp-server's own idle timer counts bytes and real time: a byte a minute would keep a place for
   * ever, and a mail held back by our budget would be idle. `watch` does it instead. What is left is
   * the deadline of the handshake, which begins where smtp-server arms the timer of the TLS socket.
   */
  override _armTimeout(socket: Socket = this._socket): void {
    if (!this._upgrading || this.#handshake) return;
    this.#handshake = handshakeDeadline(socket, this.#context);
    this.#handshake.signal.addEventListener('abort', destroyOnEnd(socket), { once: true });
  }

  /** See the listener's `_upgrade`. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    if (this._socket.destroyed) {
      callback();
      return;
    }
    this.#handshakeWatch.begin();
    super.upgrade(callback, secureCallback);
  }

  /** An error in a handshake is reported by its watch, once. */
  override _onError(error: SMTPServerError): void {
    if (!this._upgrading) {
      super._onError(error);
      return;
    }
    this.#handshakeWatch.failed(error);
    this.close();
  }

  override _onClose(): void {
    super._onClose();
    this.#handshakeWatch.closed();
    this.#handshake?.abort();
    if (this.#entered) this.#context.door.leave(this);
    this.#entered = false;
  }
}
