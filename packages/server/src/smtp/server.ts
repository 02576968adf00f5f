import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { repeat, SECOND_MS } from '../clock.ts';
import { ConnectionLimiter } from '../connection-limiter.ts';
import { oncePerMinute } from '../log.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { type NetworkMatch, networkMatch } from './input.ts';
import { DEFAULT_SMTP_LIMITS, type SmtpLimits } from './limits.ts';
import { SmtpVisits } from './reports.ts';
import type { SessionContext, SessionSettings } from './session.ts';
import { type CertificateSummary, checkKeyPair, type KeyPair, selfSignedCertificate } from './tls.ts';

export interface SmtpServerOptions extends Partial<SessionSettings> {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Port for implicit TLS; null for none. */
  tlsPort?: number | null;
  name: string;
  maxMessageBytes: number;
  /** Served domains, lower case. */
  domains: readonly string[];
  /** Mail to postmaster: `log` accepts and logs it without storing it. Default `refuse`. */
  postmaster?: 'refuse' | 'log';
  tls?: KeyPair | null;
  /** `auto` (default): only with a configured certificate, because libraries that see STARTTLS verify certificates. */
  startTls?: 'auto' | 'self-signed' | 'off';
  /** Addresses and networks (CIDR) whose connections begin with a PROXY header. */
  proxyFrom?: readonly string[];
  limits?: Partial<SmtpLimits>;
}

export type SmtpServerDeps = Pick<
  SessionContext,
  'receiver' | 'findCaptureTarget' | 'clock' | 'log' | 'metrics' | 'budget'
>;

export type SmtpServer = ReturnType<typeof createSmtpServer>;

interface ListenerContext extends ConnectionContext {
  isTrustedProxy: NetworkMatch;
  /** The open connections of all listeners. */
  open: Set<Connection>;
}

class Listener {
  readonly #context: ListenerContext;
  readonly #how: { implicitTls: boolean; startTls: boolean };
  // Half-open, so that a client that sends everything and closes its side (a script with nc) still gets replies.
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  #certificate: Promise<SecureContext> | undefined;

  constructor(context: ListenerContext, how: { implicitTls: boolean; startTls: boolean }) {
    this.#context = context;
    this.#how = how;
  }

  async listen(host: string, port: number): Promise<number> {
    const { limits, log, clock } = this.#context;
    // Bursts of connections overflow Node's default of 511, and some clients then wait forever.
    this.#server.listen({ port, host, backlog: limits.maxConnections });
    await once(this.#server, 'listening');
    // Errors of accepting a connection, for example EMFILE.
    const report = oncePerMinute(clock, (err, count) =>
      log.error({ err, count }, 'SMTP connections were not accepted'),
    );
    this.#server.on('error', report);
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when all connections of this listener are closed. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  useCertificate(pair: KeyPair): void {
    this.#certificate = Promise.resolve(createSecureContext({ ...pair }));
  }

  /** Generates a certificate on first use if none is configured: most servers never need it. */
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
    // Twice the limit, because the limiter does not count rejected connections and those in a handshake.
    if (open.size >= 2 * limits.maxConnections) {
      socket.destroy();
      return;
    }
    const options = {
      ...this.#how,
      expectsProxyHeader: isTrustedProxy(socket.remoteAddress),
      certificate: () => this.#certified(),
      onClose: () => void open.delete(connection),
    };
    const connection = new Connection(socket, options, this.#context);
    open.add(connection);
  }
}

function contextOf(options: SmtpServerOptions, deps: SmtpServerDeps): ListenerContext {
  const { name, domains, maxMessageBytes } = options;
  const { bareLineEndings = 'refuse', auth = 'off', authPlaintext = false } = options;
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  return {
    ...deps,
    ...{ name, maxMessageBytes, bareLineEndings, auth, authPlaintext, limits },
    open: new Set<Connection>(),
    limiter: new ConnectionLimiter(limits),
    visits: new SmtpVisits(),
    postmasterDomains: new Set(options.postmaster === 'log' ? domains : []),
    isTrustedProxy: networkMatch(options.proxyFrom ?? []),
  };
}

export function createSmtpServer(options: SmtpServerOptions, deps: SmtpServerDeps) {
  const { clock } = deps;
  const { host, name, tls = null, tlsPort = null, startTls = 'auto' } = options;
  const context = contextOf(options, deps);
  const { open } = context;
  const stopping = new AbortController();
  const offersTls = startTls === 'self-signed' || (startTls === 'auto' && tls !== null);
  const plain = new Listener(context, { implicitTls: false, startTls: offersTls });
  const encrypted = tlsPort === null ? null : new Listener(context, { implicitTls: true, startTls: false });
  const listeners = encrypted ? [plain, encrypted] : [plain];

  /** Uses a certificate for new connections. @throws Error when it cannot be used; the old one is kept */
  const useCertificate = (pair: KeyPair): CertificateSummary => {
    const summary = checkKeyPair(pair);
    for (const listener of listeners) listener.useCertificate(pair);
    return summary;
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
    visits: context.visits,
    async start(): Promise<{ port: number; tlsPort: number | null }> {
      if (tls) useCertificate(tls);
      else if (encrypted) useCertificate(await selfSignedCertificate(name, clock.now()));
      try {
        const port = await plain.listen(host, options.port);
        const taken = encrypted && tlsPort !== null ? await encrypted.listen(host, tlsPort) : null;
        void repeat(clock, SECOND_MS, stopping.signal, async () => {
          for (const connection of open) connection.watch(clock.monotonic());
        });
        return { port, tlsPort: taken };
      } catch (error) {
        // Close the other listeners if one port is in use.
        for (const listener of listeners) void listener.close();
        throw error;
      }
    },
    useCertificate,
    /** Lets messages in transit finish until `deadlineMs`; other sessions get 421. Safe to call twice. */
    stop(deadlineMs: number): Promise<void> {
      stopped ??= stop(deadlineMs);
      return stopped;
    },
  };
}
