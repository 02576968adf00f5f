import type { SecureContext } from 'node:tls';
import { freeRead } from '../memory.ts';
import { authOffer } from './authentication.ts';
import type { BareLineEndings } from './protocol/data-reader.ts';
import { SmtpEngine } from './protocol/engine.ts';
import type { ProtocolEvent } from './protocol/events.ts';
import { REPLIES, type Reply } from './protocol/replies.ts';
import type { Fault } from './session/faults.ts';
import { Session, type SessionContext, type SessionOptions } from './session/session.ts';
import { SessionTimer } from './session/session-timer.ts';

/** What all dialogues share. */
export interface DialogueContext extends SessionContext {
  bareLineEndings: BareLineEndings;
}

export interface DialogueOptions extends SessionOptions {
  /** The server's name, in the greeting. */
  name: string;
  /** Protocol and cipher of a connection that is encrypted already; null for one that is not. */
  cipher: string | null;
  /** Whether STARTTLS is offered while it is not. */
  startTls: boolean;
}

/** The connection below a dialogue. */
export interface Transport {
  /** True while written bytes wait for the client; `resume` of the dialogue is called when they are sent. */
  readonly isCongested: boolean;
  write(text: string): void;
  /** Writes the last replies and closes. */
  end(text: string): void;
  /** Starts or stops reading from the client. */
  setReading(reads: boolean): void;
  /** A delay that a fault rule asks for begins or ends. */
  setDelayed(isDelayed: boolean): void;
  /** The certificate to show; it may have to be generated first. */
  certificate(): Promise<SecureContext>;
  /** Discards unread bytes and begins a TLS handshake; calls `secured` of the dialogue when it is complete. */
  encrypt(certificate: SecureContext): void;
}

/** One SMTP session: connects the protocol engine with the application's session and with the transport. */
export class Dialogue {
  readonly #context: DialogueContext;
  readonly #id: string;
  readonly #transport: Transport;
  readonly #engine: SmtpEngine;
  readonly #session: Session;
  readonly #timer: SessionTimer;
  /** True while the incoming message waits for memory. */
  #isHeld = false;
  #linesSeen = 0;
  /** Not written yet. */
  #replies = '';
  #isOver = false;
  /** True during a TLS handshake. */
  #isEncrypting = false;

  constructor(
    { name, cipher, startTls, ...session }: DialogueOptions,
    context: DialogueContext,
    transport: Transport,
  ) {
    this.#context = context;
    this.#id = session.id;
    this.#transport = transport;
    const { maxMessageBytes, bareLineEndings, limits, clock } = context;
    const peer = session.remoteAddress;
    const auth = authOffer(context.auth, peer);
    this.#engine = new SmtpEngine({
      name,
      peer,
      maxMessageBytes,
      bareLineEndings,
      limits,
      tls: cipher !== null,
      startTls,
      auth,
    });
    this.#session = new Session(session, context, (isDelayed) => this.#setDelayed(isDelayed));
    if (cipher !== null) this.#session.secured(cipher);
    this.#timer = new SessionTimer(limits, clock.monotonic());
  }

  /** The name that the client has sent; undefined before it has. */
  get helo(): string | undefined {
    return this.#engine.helo;
  }

  greet(): void {
    this.#engine.greet();
    this.resume();
  }

  /** @param bytes are changed */
  receive(bytes: Buffer): void {
    // At most one more read is buffered while the engine is busy.
    if (!this.#engine.wantsInput) this.#transport.setReading(false);
    this.#engine.push(bytes);
    this.resume();
    const { isReceiving, backlog } = this.#engine;
    if (isReceiving && backlog === 0 && this.#session.hasCopied) freeRead(bytes);
  }

  /** The client has closed its side: it still gets the replies to what it sent. */
  peerEnded(): void {
    this.#engine.end();
    this.resume();
  }

  /** A TLS handshake is complete. @param cipher protocol and cipher */
  secured(cipher: string): void {
    this.#isEncrypting = false;
    this.#engine.secured();
    this.#session.secured(cipher);
  }

  /** Closes with a reply after the message that is coming in or being stored, or else now. */
  leave(reply: Reply): void {
    this.#session.endDelays();
    this.#engine.leave(reply);
    this.resume();
  }

  /** Closes with a reply now. */
  close(reply: Reply): void {
    this.#engine.close(reply);
    this.resume();
  }

  /** The connection is gone. */
  ended(): void {
    this.#isOver = true;
    this.#session.ended(this.#engine.messageBytes, this.#isEncrypting ? undefined : this.helo);
  }

  /** True while the next command is waited for. */
  get isIdle(): boolean {
    const { isWaiting, isReceiving } = this.#engine;
    return !isWaiting && !isReceiving && !this.#isHeld;
  }

  /** Enforces the limits of time; called every second. @param now monotonic milliseconds */
  watch(now: number): void {
    const { isWaiting, isReceiving, messageBytes } = this.#engine;
    const reply = this.#timer.check(now, {
      waitsForUs: isWaiting || this.#isHeld,
      dataBytes: isReceiving ? messageBytes : null,
    });
    if (reply) this.close(reply);
  }

  /** Processes all pending events and writes all replies at once. */
  resume(): void {
    if (this.#isOver) return;
    const engine = this.#engine;
    const event = this.#handleEvents();
    this.#replies += engine.takeOutput();
    if (engine.linesRead !== this.#linesSeen) {
      this.#linesSeen = engine.linesRead;
      this.#timer.touch(this.#context.clock.monotonic());
    }
    if (event?.type === 'close') {
      this.ended();
      this.#transport.end(this.#replies);
      return;
    }
    // Most answers arrive in the same turn of the event loop; their replies then share one write.
    if (!engine.isWaiting) this.#flush();
    else if (this.#replies !== '') setImmediate(() => this.#flush());
    if (event?.type === 'yield') setImmediate(() => this.resume());
    if (engine.wantsInput && !this.#isHeld) this.#transport.setReading(true);
  }

  #flush(): void {
    if (this.#isOver || this.#replies === '') return;
    this.#transport.write(this.#replies);
    this.#replies = '';
  }

  /** @returns the event that interrupted the processing, if one did */
  #handleEvents(): ProtocolEvent | undefined {
    const engine = this.#engine;
    while (engine.isClosed || (!this.#isHeld && !this.#transport.isCongested)) {
      const event = engine.next();
      if (!event || event.type === 'yield' || event.type === 'close') return event;
      try {
        this.#handle(event);
      } catch (error) {
        engine.close(this.#session.failed(error));
      }
    }
    return undefined;
  }

  #handle(event: ProtocolEvent): void {
    const session = this.#session;
    switch (event.type) {
      case 'mail':
        session.mail(event);
        break;
      case 'rejected':
        session.rejected(event);
        break;
      case 'rcpt':
        this.#answer(session.rcpt(event.rcptTo));
        break;
      case 'data':
        if (session.hasFaults) this.#checkData();
        else this.#beginData();
        break;
      case 'bytes':
        this.#isHeld = !session.append(event.bytes);
        break;
      case 'data-refused':
        session.refuseData();
        break;
      case 'end-of-data':
        this.#answer(session.endData(event.refusal, this.#engine.messageBytes));
        break;
      case 'auth':
        this.#answer(session.authenticate(event.credentials));
        break;
      case 'starttls':
        this.#startTls();
        break;
      default:
    }
  }

  #answer(reply: Promise<Reply | Fault>): void {
    const answered = reply.catch((error) => this.#session.failed(error));
    void answered.then((given) => this.#give(given));
  }

  #give(given: Reply | Fault): void {
    this.#timer.touch(this.#context.clock.monotonic());
    if ('disconnects' in given) this.#engine.fail(given.reply, given.disconnects);
    else this.#engine.answer(given);
    this.resume();
  }

  /** DATA where a recipient's inbox has fault rules. */
  #checkData(): void {
    const found = this.#session.data().catch((error) => this.#session.failed(error));
    void found.then((given) => {
      if (this.#isOver) return;
      if (given) return this.#give(given);
      this.#beginData();
      this.resume();
    });
  }

  #setDelayed(isDelayed: boolean): void {
    const now = this.#context.clock.monotonic();
    if (isDelayed) this.#timer.pause(now);
    else this.#timer.goOn(now);
    this.#transport.setDelayed(isDelayed);
  }

  #beginData(): void {
    this.#timer.beginData(this.#context.clock.monotonic());
    const maxBytes = this.#session.beginData({
      resume: () => {
        this.#isHeld = false;
        this.resume();
      },
      revoke: () => this.close(REPLIES.slowerThanOthersNeed),
    });
    this.#engine.acceptData(maxBytes);
  }

  #startTls(): void {
    const begin = (certificate: SecureContext): void => {
      if (this.#isOver) return;
      this.#isEncrypting = true;
      this.#engine.acceptTls();
      this.#replies += this.#engine.takeOutput();
      this.#flush();
      this.#transport.encrypt(certificate);
    };
    const refuse = (err: unknown): Reply => {
      this.#context.log.error({ session: this.#id, err }, 'A TLS certificate could not be generated');
      return REPLIES.noTlsNow;
    };
    this.#transport.certificate().then(begin, (err) => this.#answer(Promise.resolve(refuse(err))));
  }
}
