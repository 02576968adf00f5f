import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { repeat, SECOND_MS } from '../clock.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { DEFAULT_SMTP_LIMITS, type SmtpLimits } from './limits.ts';
import { type NetworkMatch, networkMatch } from './networks.ts';
import type { SessionContext, SessionSettings } from './session.ts';
import {
  type CertificateSummary,
  checkKeyPair,
  type KeyPair,
  offersStartTls,
  type StartTlsMode,
  selfSignedCertificate,
} from './tls.ts';

export interface SmtpServerOptions extends Partial<SessionSettings> {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The port that speaks TLS from the first byte; null for none. */
  tlsPort?: number | null;
  name: string;
  maxMessageBytes: number;
  /** Served domains, lower case: those whose postmaster is meant by `postmaster`. */
  domains: readonly string[];
  /** Mail to postmaster: `log` accepts it, logs that it came, and keeps nothing. Default `refuse`. */
  postmaster?: 'refuse' | 'log';
  /** The configured certificate; null for none. */
  tls?: KeyPair | null;
  /** Default `auto`. */
  startTls?: StartTlsMode;
  /** Addresses and networks (CIDR) whose connections begin with a PROXY header, version 1 or 2. */
  proxyFrom?: readonly string[];
  /** Those that differ from the default. */
  limits?: Partial<SmtpLimits>;
}

export type SmtpServerDeps = Pick<
  SessionContext,
  'receiver' | 'findCaptureTarget' | 'clock' | 'log' | 'metrics' | 'budget'
>;

export interface SmtpServer {
  /** Listens. @returns the ports taken */
  start(): Promise<{ port: number; tlsPort: number | null }>;
  /**
   * Replaces the configured certificate for new connections.
   * @throws Error when it cannot be used; the old one stays in use
   */
  useCertificate(pair: KeyPair): CertificateSummary;
  /**
   * Stops listening, sends 421 to idle clients, lets messages that are being received or stored finish, and
   * closes the remaining connections after `deadlineMs`. Resolves when all are closed. Safe to call twice.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** What all listeners share. */
interface ListenerContext extends ConnectionContext {
  /** Peers that speak the PROXY protocol. */
  isTrustedProxy: NetworkMatch;
  /** All sockets of all listeners, until they are closed. */
  open: Set<Connection>;
}

interface ListenerOptions {
  port: number;
  implicitTls: boolean;
  startTls: boolean;
  /** Null where a certificate is generated for the first client that asks for TLS. */
  tls: KeyPair | null;
}

/** A listening socket and its certificate. */
class Listener {
  readonly #options: ListenerOptions;
  readonly #context: ListenerContext;
  readonly #server: Server;
  #certificate: Promise<SecureContext> | undefined;

  constructor(options: ListenerOptions, context: ListenerContext) {
    this.#options = options;
    this.#context = context;
    // A client that sends all and closes its side (a script through nc) still reads its replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    if (options.tls) this.useCertificate(options.tls);
  }

  /** @returns the port taken */
  listen(host: string): Promise<number> {
    const { limits, log } = this.#context;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      // With Node's default of 511 a burst of connections overflows the queue, and some clients wait forever.
      this.#server.listen({ port: this.#options.port, host, backlog: limits.maxConnections }, () => {
        this.#server.off('error', reject);
        // Such as too many open files.
        this.#server.on('error', (err) => log.error({ err }, 'An SMTP connection was not accepted'));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Stops listening. Resolves when all its connections are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** New connections, and STARTTLS from now on, use this certificate; established ones are not affected. */
  useCertificate(pair: KeyPair): void {
    this.#certificate = Promise.resolve(createSecureContext({ ...pair }));
  }

  /**
   * The certificate to show. Where none is configured, one is generated for the first client that asks for TLS:
   * most servers never need it, and generating it takes 8 MB.
   */
  #certified(): Promise<SecureContext> {
    const { name, clock } = this.#context;
    this.#certificate ??= selfSignedCertificate(name, clock.now()).then(createSecureContext, (error) => {
      this.#certificate = undefined;
      throw error;
    });
    return this.#certificate;
  }

  #accept(socket: Socket): void {
    const { open, limits, isTrustedProxy } = this.#context;
    // Rejected connections and those in a handshake are not counted by the limiter.
    if (open.size >= 2 * limits.maxConnections) {
      socket.destroy();
      return;
    }
    const { implicitTls, startTls } = this.#options;
    const expectsProxyHeader = isTrustedProxy(socket.remoteAddress);
    const certificate = () => this.#certified();
    const onClose = () => void open.delete(connection);
    const options = { implicitTls, startTls, expectsProxyHeader, certificate, onClose };
    const connection = new Connection(socket, options, this.#context);
    open.add(connection);
  }
}

/** The SMTP server: mail comes in here, and every rule about it is the receiver's. */
export function createSmtpServer(options: SmtpServerOptions, deps: SmtpServerDeps): SmtpServer {
  const { clock, metrics } = deps;
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  const { name, domains, maxMessageBytes, bareLineEndings = 'refuse' } = options;
  const { auth = 'off', authPlaintext = false, proxyFrom = [] } = options;
  const open = new Set<Connection>();
  const context: ListenerContext = {
    ...deps,
    ...{ name, maxMessageBytes, bareLineEndings, auth, authPlaintext, limits, open },
    limiter: new ConnectionLimiter(limits, metrics),
    postmasterDomains: new Set(options.postmaster === 'log' ? domains : []),
    isTrustedProxy: networkMatch(proxyFrom),
  };
  const stopping = new AbortController();
  const listeners: Listener[] = [];

  const listen = (listenerOptions: ListenerOptions): Promise<number> => {
    const listener = new Listener(listenerOptions, context);
    listeners.push(listener);
    return listener.listen(options.host);
  };

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    const closed = Promise.all(listeners.map((listener) => listener.close()));
    for (const connection of open) connection.leave();
    const allGone = new AbortController();
    const late = clock.sleep(deadlineMs, allGone.signal).then(() => {
      for (const connection of open) connection.cut();
    });
    await closed;
    allGone.abort();
    await late;
  }

  let stopped: Promise<void> | undefined;
  return {
    async start() {
      const { port, tlsPort = null, startTls: mode = 'auto' } = options;
      if (options.tls) checkKeyPair(options.tls);
      const startTls = offersStartTls(mode, Boolean(options.tls));
      const generates = !options.tls && tlsPort !== null;
      const tls = generates ? await selfSignedCertificate(name, clock.now()) : (options.tls ?? null);
      try {
        const taken = await listen({ port, implicitTls: false, startTls, tls });
        const tlsTaken =
          tlsPort === null ? null : await listen({ port: tlsPort, implicitTls: true, startTls: false, tls });
        void repeat(clock, SECOND_MS, stopping.signal, async () => {
          for (const connection of open) connection.watch(clock.monotonic());
        });
        return { port: taken, tlsPort: tlsTaken };
      } catch (error) {
        // One port taken, the other not: nothing may stay open.
        for (const listener of listeners) void listener.close();
        throw error;
      }
    },
    useCertificate(pair) {
      const summary = checkKeyPair(pair);
      for (const listener of listeners) listener.useCertificate(pair);
      return summary;
    },
    stop(deadlineMs) {
      stopped ??= stop(deadlineMs);
      return stopped;
    },
  };
}
