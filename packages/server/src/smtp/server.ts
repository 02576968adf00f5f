import type { Clock } from '../clock.ts';
import { ConnectionLimiter } from '../connection-limiter.ts';
import type { ByteBudget } from '../inbound/in-flight/byte-budget.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { FindCaptureTarget } from '../inbound/smtp-credentials.ts';
import type { Logger } from '../log.ts';
import type { SmtpMetrics } from '../monitoring/metrics.ts';
import type { AuthMode } from './authentication.ts';
import {
  DEFAULT_SMTP_LIMITS,
  QUIET_WATCH_INTERVAL_MS,
  type SmtpLimits,
  WATCH_INTERVAL_MS,
} from './limits.ts';
import { Listener, type ListenerContext, type ListenerOptions } from './listener.ts';
import type { BareLineEndings } from './protocol/data-reader.ts';
import {
  type CertificateSummary,
  checkKeyPair,
  type KeyPair,
  offersStartTls,
  type StartTlsMode,
  selfSignedCertificate,
} from './transport/certificate.ts';
import { networkMatch } from './transport/networks.ts';
import { SmtpVisits } from './visits.ts';

export interface SmtpServerOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The port that speaks TLS from the first byte; null for none. */
  tlsPort?: number | null;
  /** Our name, in the greeting and in a self-signed certificate. */
  name: string;
  /** Served domains, lower case: those whose postmaster is meant by `postmaster`. */
  domains: readonly string[];
  /** The size limit of all messages, announced by EHLO; an inbox may have a smaller one. */
  maxMessageBytes: number;
  /** Mail to postmaster: `log` accepts it, logs that it came, and keeps nothing. Default `refuse`. */
  postmaster?: 'refuse' | 'log';
  /** Default `refuse`. */
  bareLineEndings?: BareLineEndings;
  /** The configured certificate; null for none. */
  tls?: KeyPair | null;
  /** Default `auto`. */
  startTls?: StartTlsMode;
  /** Default `off`. */
  auth?: AuthMode;
  /** Whether AUTH is offered without TLS to clients on other machines too. Default false. */
  authPlaintext?: boolean;
  /** Addresses and networks (CIDR) whose connections begin with a PROXY header, version 1 or 2. */
  proxyFrom?: readonly string[];
  /** Those that differ from the default. */
  limits?: Partial<SmtpLimits>;
}

export interface SmtpServerDeps {
  receiver: Receiver;
  findCaptureTarget: FindCaptureTarget;
  clock: Clock;
  log: Logger;
  metrics: SmtpMetrics;
  /** The memory of messages in flight, shared with all that receive mail. */
  budget: ByteBudget;
}

export interface SmtpServer {
  /** Listens. @returns the ports taken */
  start(): Promise<{ port: number; tlsPort: number | null }>;
  /**
   * Replaces the configured certificate for new connections.
   * @throws Error when it cannot be used; the old one stays in use
   */
  useCertificate(pair: KeyPair): CertificateSummary;
  /** Bytes of messages that are being received or stored. */
  readonly bytesInFlight: number;
  readonly visits: SmtpVisits;
  /**
   * Stops listening, sends 421 to idle clients, lets messages that are being received or stored finish, and
   * closes the remaining connections after `deadlineMs`. Resolves when all are closed. Safe to call twice.
   */
  stop(deadlineMs: number): Promise<void>;
}

function contextOf(options: SmtpServerOptions, deps: SmtpServerDeps): ListenerContext {
  const limits = { ...DEFAULT_SMTP_LIMITS, ...options.limits };
  return {
    ...deps,
    limits,
    limiter: new ConnectionLimiter(limits),
    open: new Set(),
    visits: new SmtpVisits(),
    maxMessageBytes: options.maxMessageBytes,
    bareLineEndings: options.bareLineEndings ?? 'refuse',
    postmasterDomains: new Set(options.postmaster === 'log' ? options.domains : []),
    auth: {
      mode: options.auth ?? 'off',
      plaintext: options.authPlaintext ?? false,
      find: deps.findCaptureTarget,
      log: deps.log,
      onResult: deps.metrics.authentication,
    },
    isTrustedProxy: networkMatch(options.proxyFrom ?? []),
    makeCertificate: () => selfSignedCertificate(options.name, deps.clock.now()),
  };
}

/** The SMTP server: mail comes in here, and every rule about it is the receiver's. */
export function createSmtpServer(options: SmtpServerOptions, deps: SmtpServerDeps): SmtpServer {
  const { clock } = deps;
  const context = contextOf(options, deps);
  const { open } = context;
  const stopping = new AbortController();
  const listeners: Listener[] = [];

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(open.size > 0 ? WATCH_INTERVAL_MS : QUIET_WATCH_INTERVAL_MS, stopping.signal);
      const now = clock.monotonic();
      for (const connection of open) connection.watch(now);
    }
  }

  function listen(port: number, differences: Omit<ListenerOptions, 'name'>): Promise<number> {
    const listener = new Listener({ name: options.name, ...differences }, context);
    listeners.push(listener);
    return listener.listen(options.host, port);
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    const stopped = Promise.all(listeners.map((listener) => listener.close()));
    for (const connection of open) connection.leave();
    const allGone = new AbortController();
    const late = clock.sleep(deadlineMs, allGone.signal).then(() => {
      for (const connection of open) connection.cut();
    });
    await stopped;
    allGone.abort();
    await late;
  }

  let stopped: Promise<void> | undefined;
  return {
    async start() {
      const { port, tlsPort = null, startTls: mode = 'auto' } = options;
      if (options.tls) checkKeyPair(options.tls);
      const startTls = offersStartTls(mode, Boolean(options.tls));
      const tls = options.tls ?? (tlsPort === null ? null : await context.makeCertificate());
      try {
        const taken = await listen(port, { implicitTls: false, startTls, tls });
        const tlsTaken =
          tlsPort === null ? null : await listen(tlsPort, { implicitTls: true, startTls: false, tls });
        void watch();
        return { port: taken, tlsPort: tlsTaken };
      } catch (error) {
        // One port taken, the other not: nothing may stay open.
        for (const listener of listeners) void listener.close();
        throw error;
      }
    },
    visits: context.visits,
    get bytesInFlight() {
      return context.budget.held;
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
