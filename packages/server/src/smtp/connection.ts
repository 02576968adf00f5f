import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerError,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection.js';
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import type { KeyPair } from './certificate.ts';
import type { NetworkMatch } from './networks.ts';
import { REPLIES, type Reply, replyText } from './replies.ts';
import { Session, type SessionContext } from './session.ts';

/*
 * The only file that knows smtp-server. It gives sockets, the reading of lines and of the data's end,
 * STARTTLS and the PROXY line; what is changed of it is changed by overriding the methods below, and
 * test/smtp/library.test.ts fails when an update no longer calls them.
 */

/** The places of connections, counted over all listeners. */
export interface Doorkeeper {
  /** The reply that turns a connection away, or undefined; then `leave` is called once, later. */
  enter(connection: Connection): Reply | undefined;
  leave(connection: Connection): void;
}

export interface ListenerContext extends SessionContext {
  door: Doorkeeper;
  /** Peers that speak the PROXY protocol (version 1) to us. */
  isTrustedProxy: NetworkMatch;
  /** Makes the certificate of a listener that was given none. */
  makeCertificate(): Promise<KeyPair>;
}

/** Commands that exist and are not offered here. */
const NOT_OFFERED = new Set(['AUTH', 'BDAT', 'BURL', 'ETRN', 'EXPN', 'SAML', 'SEND', 'SOML', 'TURN']);
/** Commands of smtp-server that are not SMTP, or that we do not want. */
const DISABLED = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL'];
const WITHOUT_ARGUMENT = new Set(['DATA', 'RSET', 'QUIT']);
/** Replies of another class than 421 after which nothing the client says can make sense. */
const LAST_WORDS = new Set<Reply>([REPLIES.notSmtp, REPLIES.untrustedProxy]);
const HTTP_VERB = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PRI|PUT|TRACE) /i;
const PROXY_LINE = /^PROXY /i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x1f\x7f]/;
const ENHANCED_CODE = /^[245]\.\d{1,3}\.\d{1,3} /;
const LF = 0x0a;

/** Reads lines; a line that is too long is refused and skipped, and the session goes on. */
class CommandStream extends SMTPStream {
  readonly #connection: Connection;
  readonly #maxLine: number;
  readonly #maxSkipped: number;
  /** Bytes of the present line that were thrown away; 0 when it is not being skipped. */
  #skipped = 0;

  constructor(connection: Connection, limits: { maxCommandBytes: number; maxSkippedLineBytes: number }) {
    // A complete line is judged by the connection, an incomplete one here.
    super({ maxCommandLength: Number.MAX_SAFE_INTEGER });
    this.#connection = connection;
    this.#maxLine = limits.maxCommandBytes;
    this.#maxSkipped = limits.maxSkippedLineBytes;
  }

  override _write(
    piece: Buffer,
    encoding: BufferEncoding | 'buffer',
    next: (error?: Error | null) => void,
  ): void {
    if (this._dataMode || this.isClosed) {
      super._write(piece, encoding, next);
      return;
    }
    const line = this.#skipped > 0 ? this.#skipLine(piece) : piece;
    super._write(line, encoding, (error) => {
      // Anything longer is the beginning of a line too long: its end is not here yet.
      if (!this._dataMode && this._remainder.length > this.#maxLine) {
        this.#skipped = this._remainder.length;
        this._remainder = '';
        this.#connection.reply(REPLIES.lineTooLong);
      }
      next(error);
    });
  }

  /** RFC 5321 section 2.3.8: a line without its end is no command. All replies are given: say goodbye. */
  override _flushData(): void {
    this._remainder = '';
    this.#connection.close();
  }

  #skipLine(piece: Buffer): Buffer {
    const end = piece.indexOf(LF);
    if (end >= 0) {
      this.#skipped = 0;
      return piece.subarray(end + 1);
    }
    this.#skipped += piece.length;
    if (this.#skipped > this.#maxSkipped) this.#connection.reply(REPLIES.endlessLine);
    return piece.subarray(piece.length);
  }
}

/** One client: smtp-server's connection with our rules in front of it and our replies. */
export class Connection extends SMTPConnection {
  readonly #context: ListenerContext;
  readonly #mail: Session;
  readonly #begunAt: number;
  #lastCommandAt: number;
  #commands = 0;
  #commandsSinceMail = 0;
  #errors = 0;
  #entered = false;
  #leaving = false;
  #handshake: AbortController | undefined;
  /** Bytes of the mail coming in, when it was last looked at. */
  #rate = { since: 0, bytes: 0 };

  constructor(listener: Listener, socket: Socket | TLSSocket, options: SMTPConnectionOptions | undefined) {
    super(listener, socket, options);
    this.#context = listener.context;
    this.#mail = new Session(this.id, listener.context);
    this.#begunAt = listener.context.clock.now();
    this.#lastCommandAt = this.#begunAt;
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
    const { limits } = this.#context;
    const transfer = this.#mail.transfer;
    const waitsForUs = transfer ? transfer.paused : this._handlerPending || Boolean(this._dataStream);
    if (waitsForUs) {
      this.#rate = { since: now, bytes: transfer?.bytesReceived ?? 0 };
      this.#lastCommandAt = now;
    } else if (now - this.#begunAt > limits.sessionMs) this.#end(REPLIES.sessionTooLong);
    else if (transfer) this.#watchRate(now, transfer.bytesReceived);
    else if (now - this.#lastCommandAt > limits.idleMs) this.#end(REPLIES.idle);
  }

  #watchRate(now: number, bytes: number): void {
    const { slowWindowMs, minDataBytesPerSecond } = this.#context.limits;
    const elapsed = now - this.#rate.since;
    if (elapsed < slowWindowMs) return;
    const wanted = (minDataBytesPerSecond * elapsed) / 1000;
    if (bytes - this.#rate.bytes < wanted) this.#end(REPLIES.tooSlow);
    else this.#rate = { since: now, bytes };
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
    const line = command.toString();
    // Plaintext behind a STARTTLS is never answered; smtp-server throws it away.
    const refusal = this._upgrading ? undefined : this.#refusal(command, line);
    if (!refusal) {
      super._onCommand(command, done);
      return;
    }
    this.reply(refusal);
    if (LAST_WORDS.has(refusal)) this.close();
    // In a later turn, as smtp-server does it: a flood of bad commands must not hold up the others.
    setImmediate(() => this._whenWritable(done));
  }

  #refusal(command: Buffer, line: string): Reply | undefined {
    this.#commands++;
    this.#lastCommandAt = this.#context.clock.now();
    return this.#lastWords(line) ?? this.#problemOf(command, line);
  }

  /** The reply after which the connection is closed. */
  #lastWords(line: string): Reply | undefined {
    if (this.#leaving) return REPLIES.shuttingDown;
    if (this.#commands === 1 && HTTP_VERB.test(line)) return REPLIES.notSmtp;
    if (this.#commands === 1 && PROXY_LINE.test(line)) return REPLIES.untrustedProxy;
    // A RCPT past the limit costs next to nothing and has its own reply, however many there are.
    if (!this.#mail.isFull) this.#commandsSinceMail++;
    return this.#commandsSinceMail > this.#context.limits.maxCommandsPerMail
      ? REPLIES.tooManyCommands
      : undefined;
  }

  #problemOf(command: Buffer, line: string): Reply | undefined {
    const verb = line.split(' ', 1)[0]?.toUpperCase() ?? '';
    if (command.length > this.#context.limits.maxCommandBytes) return REPLIES.lineTooLong;
    if (CONTROL.test(line)) return REPLIES.controlCharacter;
    if (NOT_OFFERED.has(verb)) return REPLIES.notImplemented;
    if (!this._isSupported(verb)) return REPLIES.unknownCommand;
    if (WITHOUT_ARGUMENT.has(verb) && line.trim().length > verb.length) return REPLIES.noArgument;
    return undefined;
  }

  override _resetSession(): void {
    super._resetSession();
    // Also called when the handshake after STARTTLS is done.
    this.#handshake?.abort();
    this.#mail.reset();
  }

  override handler_MAIL(command: Buffer, callback: () => void): void {
    const helo = this.hostNameAppearsAs || '';
    const { remoteAddress, secure: tls } = this;
    this.reply(this.#mail.mail(command.toString().trimEnd(), { helo, remoteAddress, tls }));
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
    this.#rate = { since: this.#context.clock.now(), bytes: 0 };
    this.#mail.data(stream, (reply, inStep) => {
      this.#lastCommandAt = this.#context.clock.now();
      if (!inStep) {
        this.reply(reply);
        this.close();
        stream.destroy();
        return;
      }
      if (reply.code < 300) {
        this.#errors = 0;
        this.#commandsSinceMail = 0;
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
    this.#handshake = destroyAfter(socket, this.#context);
  }

  /** See the listener's `_upgrade`. */
  override upgrade(callback: () => void, secureCallback?: () => void): void {
    if (this._socket.destroyed) callback();
    else super.upgrade(callback, secureCallback);
  }

  override _onClose(): void {
    super._onClose();
    this.#handshake?.abort();
    if (this.#entered) this.#context.door.leave(this);
    this.#entered = false;
  }
}

/** A listening socket and its connections. */
export class Listener extends SMTPServer {
  readonly context: ListenerContext;
  readonly #bySession = new WeakMap<SMTPServerSession, Connection>();
  /** Until their socket is closed, which may be after smtp-server has forgotten them. */
  readonly #open = new Set<Connection>();
  #certified: Promise<void> | undefined;

  constructor(options: SMTPServerOptions, context: ListenerContext) {
    super({
      ...options,
      size: context.maxMessageBytes,
      maxClients: context.limits.maxConnections,
      disabledCommands: DISABLED,
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      // A client that sends all and closes its side (a script through nc) still reads its replies.
      allowHalfOpen: true,
      logger: false,
      onConnect: (_session, callback) => callback(),
      onSecure: (_socket, _session, callback) => callback(),
    });
    this.context = context;
    if (options.cert) this.#certified = Promise.resolve();
    // A client's broken connection, which its session tells of by ending.
    this.on('error', (error: Error) => context.log.debug({ err: error }, 'SMTP connection failed'));
  }

  /**
   * Resolves when there is a certificate to show. One that nobody gave is made for the first client that
   * asks for TLS: many never meet one, and making it takes 8 MB. Until then nothing may be shown.
   */
  certified(): Promise<void> {
    this.#certified ??= this.context.makeCertificate().then(
      (made) => this.updateSecureContext({ ...made }),
      (error) => {
        this.#certified = undefined;
        throw error;
      },
    );
    return this.#certified;
  }

  override connect(socket: Socket, options?: SMTPConnectionOptions): void {
    const connection = new Connection(this, socket, options);
    this.#bySession.set(connection.session, connection);
    this.connections.add(connection);
    this.#open.add(connection);
    connection.on('error', (error: SMTPServerError) => this._onError(error));
    connection.init();
  }

  override onData(
    stream: SMTPServerDataStream,
    session: SMTPServerSession,
    callback: (error?: Error | null, message?: string) => void,
  ): void {
    this.#bySession.get(session)?.receive(stream, callback);
  }

  /** smtp-server compares single addresses; operators name networks. */
  override _expectsProxyHeader(socket: Socket): boolean {
    return this.context.isTrustedProxy(socket.remoteAddress);
  }

  /** The PROXY line and the first handshake have their deadline too. */
  override _acceptSocket(socket: Socket, handshake: boolean): false | (() => void) {
    const release = super._acceptSocket(socket, handshake);
    if (!release || (!handshake && !this._expectsProxyHeader(socket))) return release;
    const deadline = destroyAfter(socket, this.context, () => this._pendingSockets.get(socket));
    return () => {
      deadline.abort();
      release();
    };
  }

  /**
   * A stop, or the client, may destroy the socket in the turn between its acceptance and this call,
   * and Node's TLS crashes the process when it is put upon a destroyed socket.
   */
  override _upgrade(socket: Socket, callback: (error: Error | null, secure?: TLSSocket) => void): void {
    if (socket.destroyed) callback(new Error('closed before the TLS handshake'));
    else super._upgrade(socket, callback);
  }

  override onClose(session: SMTPServerSession): void {
    const connection = this.#bySession.get(session);
    if (connection) this.#open.delete(connection);
  }

  /** Stops listening; the connections live on. */
  stopListening(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const topmost of this._pendingSockets.values()) topmost.destroy();
    return stopped;
  }

  /** Closes every socket now, those of ended sessions too whose clients do not close their side. */
  cutAll(): void {
    for (const connection of this.#open) connection.cut();
  }
}

/** Destroys the socket (or the one upon it) after the time a handshake may take, unless aborted. */
function destroyAfter(socket: Socket, context: SessionContext, topmost = (): Socket | undefined => socket) {
  const done = new AbortController();
  void context.clock.sleep(context.limits.handshakeMs, done.signal).then(() => {
    if (!done.signal.aborted) (topmost() ?? socket).destroy();
  });
  return done;
}
