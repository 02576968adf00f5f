import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, repeat, SECOND_MS } from '../clock.ts';
import { type Config, certificateOf } from '../config/config.ts';
import {
  ConnectionLimiter,
  isLoopback,
  type LimitedConnection,
  plainAddress,
  sourceKey,
} from '../connection-limiter.ts';
import { newSessionId } from '../ids.ts';
import { type Logger, oncePerMinute } from '../log.ts';
import { NO_RECIPIENT } from '../refusals/sql.ts';
import { isInside } from '../text/networks.ts';
import { type DataReader, readProxyHeader } from './input.ts';
import { SMTP_LIMITS, type SmtpLimits } from './limits.ts';
import { REPLIES, type Reply, replyLine } from './protocol.ts';
import { SmtpVisits } from './reports.ts';
import { Session, type SessionContext, type Transport } from './session.ts';
import { Certificate, type Handshake, handshakeFailure } from './tls.ts';

interface ConnectionContext extends SessionContext {
  server: ConnectionServer<Connection>;
}

/** Input is discarded this long after the last reply: closing with unread input could lose the reply. */
const LINGER_MS = 2_000;
const NOTHING = Buffer.alloc(0);

/** The connection of one client: PROXY header, TLS, reading, writing and time limits. */
class Connection implements Transport, LimitedConnection {
  readonly id = newSessionId();
  remoteAddress: string;
  source = '';
  readonly connectedAt: number;
  readonly #context: ConnectionContext;
  readonly #implicitTls: boolean;
  readonly #plain: Socket;
  /** The plain socket until TLS begins, then the TLS socket. */
  #socket: Socket;
  /** When the PROXY header or TLS handshake in progress began, monotonic milliseconds. */
  #settingUpSince: number | undefined;
  /** Set from start of TLS to first data. A client that closes before may have rejected the certificate. */
  #handshake: Handshake | undefined;
  #session: Session | undefined;
  #hasEntered = false;
  #isLeaving = false;
  /** The pending read. Bytes that arrive without a pending read are added to `#unread`. */
  #reader: ((bytes: Buffer | undefined) => void) | undefined;
  #unread: Buffer | undefined;
  #drained: (() => void) | undefined;
  /** When the final reply was written, monotonic milliseconds. */
  #endedAt: number | undefined;
  /** Start of the session (monotonic ms), plus delays by fault rules, which must not count in `sessionMs`. */
  #begunAt: number;
  #delayedAt = 0;
  #window: { reader: DataReader; since: number; bytes: number } | undefined;

  constructor(socket: Socket, implicitTls: boolean, context: ConnectionContext) {
    this.#plain = socket;
    this.#socket = socket;
    this.#implicitTls = implicitTls;
    this.#context = context;
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.connectedAt = context.clock.now();
    this.#begunAt = context.clock.monotonic();
    context.server.open.add(this);
    this.#listen(socket);
    void this.#serve();
  }

  async #serve(): Promise<void> {
    const { config, server, metrics, visits } = this.#context;
    const isProxy = config.smtpProxyFrom.some((network) => isInside(network, this.remoteAddress));
    if (isProxy && !(await this.#readProxyHeader())) {
      this.#socket.destroy();
      return;
    }
    visits.lastAt = this.connectedAt;
    this.source = sourceKey(this.remoteAddress);
    const rejectedBy = server.limiter.enter(this, isLoopback(this.remoteAddress));
    if (rejectedBy) {
      const reply = rejectedBy === 'address' ? REPLIES.tooManyFromYou : REPLIES.tooManyConnections;
      // A client that expects a TLS handshake cannot read a reply in plain text.
      this.#socket.end(this.#implicitTls ? '' : `${replyLine(reply)}\r\n`);
      this.#socket.destroySoon();
      return;
    }
    this.#hasEntered = true;
    metrics.connection();
    if (this.#unread) server.limiter.used(this);
    const cipher = this.#implicitTls ? await this.encrypt('') : null;
    this.#session = new Session(this.#context, this, !this.#implicitTls && server.offersTls);
    await this.#session.run(cipher);
  }

  async #readProxyHeader(): Promise<boolean> {
    this.#settingUpSince = this.#begunAt;
    let bytes = NOTHING;
    let header = readProxyHeader(bytes);
    while (header === 'incomplete') {
      const more = await this.read();
      if (!more) return false;
      bytes = Buffer.concat([bytes, more]);
      header = readProxyHeader(bytes);
    }
    this.#settingUpSince = undefined;
    if (header === 'invalid') {
      this.#context.log.info({ proxy: this.remoteAddress }, 'The PROXY header is missing or invalid');
      return false;
    }
    this.remoteAddress = header.client ?? this.remoteAddress;
    const rest = Buffer.concat([bytes.subarray(header.length), this.#unread ?? NOTHING]);
    this.#unread = rest.length > 0 ? rest : undefined;
    return true;
  }

  get isIdle(): boolean {
    const session = this.#session;
    return !session || this.#settingUpSince !== undefined || !(session.isWaiting || session.reader);
  }

  read(): Promise<Buffer | undefined> {
    const bytes = this.#unread;
    this.#unread = undefined;
    const { readableEnded, destroyed } = this.#socket;
    if (bytes || readableEnded || destroyed || this.#endedAt !== undefined) return Promise.resolve(bytes);
    if (this.#socket.isPaused()) this.#socket.resume();
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  write(text: string): Promise<void> | undefined {
    if (this.#socket.write(text, 'latin1')) return undefined;
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  end(text: string, isDone: boolean): void {
    if (text !== '') this.#handshake = undefined;
    this.#endedAt = this.#context.clock.monotonic();
    this.#socket.end(text, 'latin1');
    // When stopping, and after QUIT, do not wait for the client to close its side.
    if (this.#isLeaving || (isDone && !this.#unread)) this.#socket.destroySoon();
    else this.#socket.resume();
    this.#leaveLimiter();
    this.#giveToReader(undefined);
    this.#drained?.();
  }

  setDelayed(isDelayed: boolean): void {
    const now = this.#context.clock.monotonic();
    if (isDelayed) this.#delayedAt = now;
    else this.#begunAt += now - this.#delayedAt;
    const { limiter } = this.#context.server;
    if (isDelayed) limiter.exempt(this);
    else limiter.readmit(this);
  }

  leave(): void {
    this.#isLeaving = true;
    this.#handshake = undefined;
    if (!this.#session || this.#settingUpSince !== undefined) this.#socket.destroy();
    else if (this.#endedAt !== undefined) this.#socket.destroySoon();
    else this.#session.leave();
  }

  makeRoom(): void {
    this.#close(REPLIES.makesRoom);
  }

  cut(): void {
    this.#close(REPLIES.shuttingDown);
    this.#socket.destroy();
  }

  /** Sends no reply before the session or during a TLS handshake: the client could not read it then. */
  #close(reply: Reply): void {
    this.#handshake = undefined;
    if (this.#session && this.#settingUpSince === undefined) this.#session.close(reply);
    else this.#socket.destroy();
  }

  watch(now: number): void {
    const since = this.#settingUpSince ?? this.#endedAt;
    const limit = this.#settingUpSince === undefined ? LINGER_MS : this.#context.limits.handshakeMs;
    if (since !== undefined && now - since >= limit) this.#socket.destroy();
    const reply = since === undefined && this.#session && this.#overdue(this.#session, now);
    if (reply) this.#session?.close(reply);
  }

  #overdue({ isWaiting, reader, commandAt }: Session, now: number): Reply | undefined {
    const { idleMs, sessionMs, slowWindowMs, minDataBytesPerSecond } = this.#context.limits;
    const window = this.#window?.reader === reader && !isWaiting ? this.#window : undefined;
    this.#window = window;
    if (isWaiting) return undefined;
    if (now - this.#begunAt > sessionMs) return REPLIES.sessionTooLong;
    if (!reader) return now - commandAt > idleMs ? REPLIES.idle : undefined;
    if (window && now - window.since < slowWindowMs) return undefined;
    this.#window = { reader, since: now, bytes: reader.bytesRead };
    const rate = window ? ((reader.bytesRead - window.bytes) * 1000) / (now - window.since) : Infinity;
    return rate < minDataBytesPerSecond ? REPLIES.tooSlow : undefined;
  }

  readonly #onData = (bytes: Buffer): void => {
    this.#handshake = undefined;
    this.#context.server.limiter.used(this);
    if (this.#endedAt !== undefined) return;
    if (this.#reader) this.#giveToReader(bytes);
    else {
      this.#unread = this.#unread ? Buffer.concat([this.#unread, bytes]) : bytes;
      this.#socket.pause();
    }
  };

  readonly #onEnd = (): void => {
    if (this.#settingUpSince !== undefined) this.#socket.destroy();
    this.#giveToReader(undefined);
  };

  #giveToReader(bytes: Buffer | undefined): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.(bytes);
  }

  readonly #onError = (err: Error): void => {
    if (this.#settingUpSince !== undefined && this.#handshake) this.#handshake.error ??= err;
    else this.#context.log.debug({ session: this.id, err }, 'An SMTP connection failed');
  };

  readonly #onDrain = (): void => this.#drained?.();

  readonly #onClose = (): void => {
    if (this.#handshake) this.#reportHandshake(this.#handshake);
    this.#settingUpSince = undefined;
    this.#session?.ended();
    this.#giveToReader(undefined);
    this.#drained?.();
    this.#leaveLimiter();
    this.#context.server.open.delete(this);
  };

  #leaveLimiter(): void {
    if (!this.#hasEntered) return;
    this.#hasEntered = false;
    this.#context.server.limiter.leave(this);
    this.#context.metrics.disconnection();
  }

  #listen(socket: Socket): void {
    socket.on('data', this.#onData).on('end', this.#onEnd).on('drain', this.#onDrain);
    socket.on('error', this.#onError).on('close', this.#onClose);
  }

  #reportHandshake(handshake: Handshake): void {
    const { clock, limits, log, metrics, receiver } = this.#context;
    const { helo, bytesBefore } = handshake;
    const tookTooLong = clock.monotonic() - (this.#settingUpSince ?? Infinity) >= limits.handshakeMs;
    // A connection to the TLS port that sent no byte was a health check.
    if (this.#implicitTls && this.#plain.bytesRead <= bytesBefore && !tookTooLong) return;
    const reason = handshakeFailure(handshake, tookTooLong);
    const { id: session, remoteAddress } = this;
    log.warn({ session, remoteAddress, helo, reason }, 'A TLS handshake failed');
    metrics.tlsHandshakeFailure();
    const refusal = { at: clock.now(), address: NO_RECIPIENT, reply: reason, mailFrom: '' };
    receiver.refused({ ...refusal, remoteAddress, helo });
  }

  encrypt(helo: string): Promise<string> {
    const plain = this.#plain;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#settingUpSince = this.#context.clock.monotonic();
    plain.pause();
    // Discard plaintext that was pipelined after STARTTLS (CVE-2011-0411).
    if (this.#session) while (plain.read() !== null);
    else if (this.#unread) plain.unshift(this.#unread);
    this.#unread = undefined;
    plain.off('data', this.#onData).off('end', this.#onEnd).off('drain', this.#onDrain);
    // Node.js crashes when TLS is started on a destroyed socket.
    if (plain.destroyed || plain.readableEnded) {
      plain.destroy();
      return promise;
    }
    plain.off('close', this.#onClose);
    const handshake: Handshake = { helo, bytesBefore: plain.bytesRead - plain.readableLength, isDone: false };
    this.#handshake = handshake;
    const secureContext = this.#context.server.certificate.context;
    const secure = new TLSSocket(plain, { isServer: true, secureContext });
    this.#socket = secure;
    this.#listen(secure);
    secure.once('secure', () => {
      this.#settingUpSince = undefined;
      handshake.isDone = true;
      resolve(`${secure.getProtocol()} ${secure.getCipher().standardName}`);
    });
    return promise;
  }
}

export interface ServerDeps {
  /** Host name in a generated certificate. */
  hostname: string;
  clock: Clock;
  log: Logger;
}

interface ServedConnection extends LimitedConnection {
  /** Enforces time limits; called every second. @param now monotonic milliseconds */
  watch(now: number): void;
  /** Closes the connection when the current message is complete; {@link cut} closes it at once. */
  leave(): void;
  cut(): void;
}

/** The listeners of SMTP or POP3, and their connections. A connection adds itself to `open` and removes itself. */
export class ConnectionServer<C extends ServedConnection> {
  readonly open = new Set<C>();
  readonly limiter: ConnectionLimiter<C>;
  readonly certificate: Certificate;
  /** With `auto`, TLS needs a configured certificate, because clients may reject a self-signed one. */
  readonly offersTls: boolean;
  readonly #protocol: string;
  readonly #config: Config;
  readonly #deps: ServerDeps;
  readonly #listeners: Server[] = [];
  readonly #stopWatching: () => Promise<void>;

  /** @throws Error if the configured certificate cannot be used */
  constructor(protocol: string, config: Config, deps: ServerDeps) {
    const { smtpStarttls, smtpMaxConnections, smtpMaxConnectionsPerAddress } = config;
    const { hostname, clock } = deps;
    const pair = certificateOf(config);
    this.certificate = new Certificate(hostname, clock, pair);
    this.offersTls = smtpStarttls === 'self-signed' || (smtpStarttls === 'auto' && pair !== null);
    this.limiter = new ConnectionLimiter({
      maxConnections: smtpMaxConnections,
      maxConnectionsPerAddress: smtpMaxConnectionsPerAddress,
    });
    this.#protocol = protocol;
    this.#config = config;
    this.#deps = deps;
    this.#stopWatching = repeat(clock, SECOND_MS, async () => {
      for (const connection of this.open) connection.watch(clock.monotonic());
    });
  }

  /** @param port 0 for any free port @returns the port in use */
  async listen(port: number, accept: (socket: Socket) => void): Promise<number> {
    const { smtpHost: host, smtpMaxConnections: maxConnections } = this.#config;
    const { clock, log } = this.#deps;
    // Half-open: a client that closes its side after sending everything, as scripts do, still gets replies.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      // Twice the limit, because the limiter counts no connection that sends a PROXY header or is closing.
      if (this.open.size >= 2 * maxConnections) socket.destroy();
      else accept(socket);
    });
    this.#listeners.push(listener);
    // In a burst of connections, Node's default backlog of 511 overflows, and some clients then wait forever.
    listener.listen({ port, host, backlog: maxConnections });
    await once(listener, 'listening');
    const report = oncePerMinute(clock, (err, count) =>
      log.error({ err, count }, `${this.#protocol} connections were not accepted`),
    );
    listener.on('error', report);
    return (listener.address() as AddressInfo).port;
  }

  /** Gives connections `graceMs` to finish, then closes them. Callable twice, and after a failed `listen`. */
  async stop(graceMs: number): Promise<void> {
    void this.#stopWatching();
    const closed = this.#listeners.map((listener) => new Promise((resolve) => listener.close(resolve)));
    for (const connection of this.open) connection.leave();
    const allGone = new AbortController();
    const late = this.#deps.clock.sleep(graceMs, allGone.signal).then(() => {
      for (const connection of this.open) connection.cut();
    });
    await Promise.all(closed);
    allGone.abort();
    await late;
  }
}

type SmtpServerDeps = Omit<SessionContext, 'config' | 'limits' | 'visits'> & { limits?: Partial<SmtpLimits> };

export function createSmtpServer(config: Config, deps: SmtpServerDeps) {
  const server = new ConnectionServer<Connection>('SMTP', config, deps);
  const visits = new SmtpVisits();
  const context = { ...deps, config, server, visits, limits: { ...SMTP_LIMITS, ...deps.limits } };
  const accept = (implicitTls: boolean) => (socket: Socket) =>
    void new Connection(socket, implicitTls, context);

  let endpoint: { host: string; port: number; tlsPort: number | null } | null = null;
  return {
    visits,
    certificate: server.certificate,
    /** Null before `start`. */
    endpoint: () => endpoint,
    /** If this fails, call `stop` to close open ports. */
    async start() {
      const { smtpHost: host, smtpPort, smtpsPort } = config;
      const port = await server.listen(smtpPort, accept(false));
      const tlsPort = smtpsPort === null ? null : await server.listen(smtpsPort, accept(true));
      endpoint = { host, port, tlsPort };
      return endpoint;
    },
    stop: (graceMs: number) => server.stop(graceMs),
  };
}
