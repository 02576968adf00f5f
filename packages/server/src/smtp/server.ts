import type { AddressInfo } from 'node:net';
import { createPlans } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';
import { ByteBudget } from '../inbound/in-flight/byte-budget.ts';
import type { Receiver } from '../inbound/receiver.ts';
import type { FindCaptureTarget } from '../inbound/smtp-credentials.ts';
import type { Logger } from '../log.ts';
import type { AuthMode } from './auth/authentication.ts';
import type { Connection, Doorkeeper } from './connection.ts';
import type { BareLineEndings } from './data/transfer.ts';
import { DEFAULT_SMTP_LIMITS, type SmtpLimits, WATCH_INTERVAL_MS } from './limits.ts';
import { Listener, type ListenerContext } from './listener.ts';
import { REPLIES, type Reply } from './replies.ts';
import type { SmtpMetrics } from './session.ts';
import {
  type CertificateSummary,
  checkKeyPair,
  type KeyPair,
  offersStartTls,
  type StartTlsMode,
  selfSignedCertificate,
} from './transport/certificate.ts';
import { isLoopback, networkMatch } from './transport/networks.ts';

export type { SmtpMetrics } from './session.ts';

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
  /** The size limit of all mails, which EHLO tells; an inbox may have a smaller one. Default: the largest built-in plan's. */
  maxMessageBytes?: number;
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
  maxConnections?: number;
  maxConnectionsPerAddress?: number;
  /** The limits that no operator needs to change, and tests do. */
  limits?: Partial<SmtpLimits>;
}

export interface SmtpServerDeps {
  receiver: Receiver;
  findCaptureTarget: FindCaptureTarget;
  clock: Clock;
  log: Logger;
  metrics: SmtpMetrics;
  /** What it shares with others that receive mail; by default one of its own, of `limits.inFlightBytes`. */
  budget?: ByteBudget;
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
  /**
   * Stops listening, says 421 to who is idle, lets mails that are coming in or being stored finish,
   * and cuts what is left after `deadlineMs`. Resolves when all connections are gone. Safe to call twice.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** The places of connections; tells when the last one is free again. */
class Connections implements Doorkeeper {
  readonly open = new Set<Connection>();
  readonly #limits: SmtpLimits;
  readonly #metrics: SmtpMetrics;
  readonly #byAddress = new Map<string, number>();

  constructor(limits: SmtpLimits, metrics: SmtpMetrics) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  enter(connection: Connection): Reply | undefined {
    const { remoteAddress } = connection;
    const fromThere = this.#byAddress.get(remoteAddress) ?? 0;
    if (this.open.size >= this.#limits.maxConnections) return REPLIES.tooManyConnections;
    if (fromThere >= this.#limits.maxConnectionsPerAddress && !isLoopback(remoteAddress)) {
      return REPLIES.tooManyFromYou;
    }
    this.open.add(connection);
    this.#byAddress.set(remoteAddress, fromThere + 1);
    this.#metrics.connection();
    return undefined;
  }

  leave(connection: Connection): void {
    if (!this.open.delete(connection)) return;
    const left = (this.#byAddress.get(connection.remoteAddress) ?? 1) - 1;
    if (left > 0) this.#byAddress.set(connection.remoteAddress, left);
    else this.#byAddress.delete(connection.remoteAddress);
    this.#metrics.disconnection();
  }
}

function listen(listener: Listener, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.server.once('error', reject);
    listener.listen(port, host, () => {
      listener.server.removeListener('error', reject);
      resolve((listener.server.address() as AddressInfo).port);
    });
  });
}

function limitsOf({ limits, maxConnections, maxConnectionsPerAddress }: SmtpServerOptions): SmtpLimits {
  const given = { ...DEFAULT_SMTP_LIMITS, ...limits };
  return {
    ...given,
    maxConnections: maxConnections ?? given.maxConnections,
    maxConnectionsPerAddress: maxConnectionsPerAddress ?? given.maxConnectionsPerAddress,
  };
}

/** The SMTP server: mail comes in here, and every rule about it is the receiver's. */
export function createSmtpServer(options: SmtpServerOptions, deps: SmtpServerDeps): SmtpServer {
  const limits = limitsOf(options);
  const { maxMessageBytes = createPlans().largestMessageBytes } = options;
  const door = new Connections(limits, deps.metrics);
  const context: ListenerContext = {
    ...deps,
    limits,
    door,
    budget: deps.budget ?? new ByteBudget(limits.inFlightBytes, maxMessageBytes),
    maxMessageBytes,
    bareLineEndings: options.bareLineEndings ?? 'refuse',
    postmasterDomains: new Set(options.postmaster === 'log' ? options.domains : []),
    auth: {
      mode: options.auth ?? 'off',
      plaintext: options.authPlaintext ?? false,
      find: deps.findCaptureTarget,
      maxFailures: limits.maxAuthFailures,
      log: deps.log,
      onResult: deps.metrics.authentication,
    },
    isTrustedProxy: networkMatch(options.proxyFrom ?? []),
    makeCertificate: () => selfSignedCertificate(options.name, deps.clock.now()),
  };
  const stopping = new AbortController();
  const listeners: Listener[] = [];

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await deps.clock.sleep(WATCH_INTERVAL_MS, stopping.signal);
      const now = deps.clock.now();
      for (const connection of door.open) connection.watch(now);
    }
  }

  async function open(listener: Listener, port: number): Promise<number> {
    listeners.push(listener);
    return listen(listener, options.host, port);
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping.abort();
    const stopped = Promise.all(listeners.map((listener) => listener.stopListening()));
    for (const connection of door.open) connection.leave();
    const allGone = new AbortController();
    const late = deps.clock.sleep(deadlineMs, allGone.signal).then(() => {
      for (const listener of listeners) listener.cutAll();
    });
    await stopped;
    allGone.abort();
    await late;
  }

  let stopped: Promise<void> | undefined;
  return {
    async start() {
      const { name, port, tlsPort = null, startTls: mode = 'auto' } = options;
      if (options.tls) checkKeyPair(options.tls);
      const startTls = offersStartTls(mode, Boolean(options.tls));
      const tls = options.tls ?? (tlsPort === null ? null : await context.makeCertificate());
      try {
        const taken = await open(new Listener({ name, secure: false, startTls, tls }, context), port);
        const tlsTaken =
          tlsPort === null
            ? null
            : await open(new Listener({ name, secure: true, startTls: false, tls }, context), tlsPort);
        void watch();
        return { port: taken, tlsPort: tlsTaken };
      } catch (error) {
        // One port taken, the other not: nothing may stay open.
        for (const listener of listeners) listener.server.close();
        throw error;
      }
    },
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
