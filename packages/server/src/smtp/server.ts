import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import {
  ConnectionLimiter,
  isLoopback,
  type LimitedConnection,
  plainAddress,
  sourceKey,
} from '../connection-limiter.ts';
import { ConnectionServer } from '../connection-server.ts';
import { newSessionId } from '../ids.ts';
import { NO_RECIPIENT } from '../refusals/sql.ts';
import { type DataReader, type NetworkMatch, networkMatch, readProxyHeader } from './input.ts';
import { DEFAULT_SMTP_LIMITS, type SmtpLimits } from './limits.ts';
import { REPLIES, type Reply, replyLine } from './protocol.ts';
import { SmtpVisits } from './reports.ts';
import { Session, type SessionContext, type SessionSettings, type Transport } from './session.ts';
import { Certificate, type Handshake, handshakeFailure, type KeyPair } from './tls.ts';

interface ConnectionContext extends SessionContext {
  certificate: Certificate;
  limiter: ConnectionLimiter<Connection>;
  isTrustedProxy: NetworkMatch;
  open: Set<Connection>;
}

interface Protection {
  implicitTls: boolean;
  startTls: boolean;
}

/** Input is discarded for this time before closing, or the last reply could be lost (RFC 1122 4.2.2.13). */
const LINGER_MS = 2_000;
const NOTHING = Buffer.alloc(0);

/** The socket of one client, from accept to close: PROXY header, TLS, reading and writing, time limits. */
class Connection implements Transport, LimitedConnection {
  readonly id = newSessionId();
  remoteAddress: string;
  source = '';
  readonly connectedAt: number;
  readonly #context: ConnectionContext;
  readonly #protection: Protection;
  readonly #plain: Socket;
  /** The plain socket until TLS begins, then the TLS socket. */
  #socket: Socket;
  /** When the PROXY header or TLS handshake in progress began, monotonic milliseconds. */
  #settingUpSince: number | undefined;
  /** Set until data follows the handshake. Until then, the client may reject the certificate by closing. */
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
  /** Start of the session in monotonic milliseconds. Delays of fault rules are added, so that they do not count. */
  #begunAt: number;
  #delayedAt = 0;
  #window: { reader: DataReader; since: number; bytes: number } | undefined;

  constructor(socket: Socket, protection: Protection, context: ConnectionContext) {
    this.#plain = socket;
    this.#socket = socket;
    this.#protection = protection;
    this.#context = context;
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.connectedAt = context.clock.now();
    this.#begunAt = context.clock.monotonic();
    context.open.add(this);
    this.#listen(socket);
    void this.#serve();
  }

  async #serve(): Promise<void> {
    const { implicitTls, startTls } = this.#protection;
    const isProxy = this.#context.isTrustedProxy(this.#plain.remoteAddress);
    if (isProxy && !(await this.#readProxyHeader())) {
      this.#socket.destroy();
      return;
    }
    const { limiter, metrics, visits } = this.#context;
    visits.lastAt = this.connectedAt;
    this.source = sourceKey(this.remoteAddress);
    const rejectedBy = limiter.enter(this, isLoopback(this.remoteAddress));
    if (rejectedBy) {
      const reply = rejectedBy === 'address' ? REPLIES.tooManyFromYou : REPLIES.tooManyConnections;
      // A client that expects a TLS handshake could not read a reply in plain text.
      this.#socket.end(implicitTls ? '' : `${replyLine(reply)}\r\n`);
      this.#socket.destroySoon();
      return;
    }
    this.#hasEntered = true;
    metrics.connection();
    if (this.#unread) limiter.used(this);
    const cipher = implicitTls ? await this.encrypt('') : null;
    this.#session = new Session(this.#context, this, startTls);
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

  end(text: string): void {
    if (text !== '') this.#handshake = undefined;
    this.#endedAt = this.#context.clock.monotonic();
    this.#socket.end(text, 'latin1');
    // When stopping, do not wait for the client to close its side.
    if (this.#isLeaving) this.#socket.destroySoon();
    else this.#socket.resume();
    this.#leaveLimiter();
    this.#giveToReader(undefined);
    this.#drained?.();
  }

  setDelayed(isDelayed: boolean): void {
    const now = this.#context.clock.monotonic();
    if (isDelayed) this.#delayedAt = now;
    else this.#begunAt += now - this.#delayedAt;
    if (isDelayed) this.#context.limiter.exempt(this);
    else this.#context.limiter.readmit(this);
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

  /** Closes the connection. During a handshake, no reply is sent. */
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
    this.#context.limiter.used(this);
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
    this.#context.open.delete(this);
  };

  #leaveLimiter(): void {
    if (!this.#hasEntered) return;
    this.#hasEntered = false;
    this.#context.limiter.leave(this);
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
    // A health check of the TLS port sends no byte.
    if (this.#protection.implicitTls && this.#plain.bytesRead <= bytesBefore && !tookTooLong) return;
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
    const secureContext = this.#context.certificate.context;
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

export interface SmtpServerOptions extends SessionSettings {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Port for implicit TLS; null for none. */
  tlsPort: number | null;
  /** Served domains, lower case. */
  domains: readonly string[];
  /** Mail to postmaster: `log` accepts and logs it without storing it. */
  postmaster: 'refuse' | 'log';
  tls: KeyPair | null;
  /** `auto` offers STARTTLS only with a configured certificate, because clients verify the certificate. */
  startTls: 'auto' | 'self-signed' | 'off';
  /** Addresses and networks (CIDR) whose connections begin with a PROXY header. */
  proxyFrom: readonly string[];
  limits?: Partial<SmtpLimits>;
}

export type SmtpServerDeps = Pick<
  SessionContext,
  'receiver' | 'findCaptureTarget' | 'clock' | 'log' | 'metrics' | 'budget'
>;

export type SmtpServer = ReturnType<typeof createSmtpServer>;

export function createSmtpServer(options: SmtpServerOptions, deps: SmtpServerDeps) {
  const { clock, log } = deps;
  const { host, name, domains, tls, tlsPort, startTls, postmaster, proxyFrom } = options;
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  const certificate = new Certificate(name, clock);
  const server = new ConnectionServer<Connection>({
    ...{ protocol: 'SMTP', host, maxConnections: limits.maxConnections, clock, log },
  });
  const context: ConnectionContext = {
    ...options,
    ...deps,
    ...{ limits, certificate, open: server.open },
    limiter: new ConnectionLimiter(limits),
    visits: new SmtpVisits(),
    postmasterDomains: new Set(postmaster === 'log' ? domains : []),
    isTrustedProxy: networkMatch(proxyFrom),
  };
  const accept = (implicitTls: boolean, startTls: boolean) => (socket: Socket) =>
    void new Connection(socket, { implicitTls, startTls }, context);

  return {
    visits: context.visits,
    useCertificate: (pair: KeyPair) => certificate.set(pair),
    /** If this fails, call `stop` to close open ports. */
    async start(): Promise<{ port: number; tlsPort: number | null }> {
      if (tls) certificate.set(tls);
      const offersTls = startTls === 'self-signed' || (startTls === 'auto' && tls !== null);
      const port = await server.listen(options.port, accept(false, offersTls));
      return { port, tlsPort: tlsPort === null ? null : await server.listen(tlsPort, accept(true, false)) };
    },
    /** Waits up to `deadlineMs` for messages in transit; other sessions get 421. Idempotent. */
    stop: (deadlineMs: number) => server.stop(deadlineMs),
  };
}
