import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { AddressRefusedError, type GuardSettings, guardedLookup, isAllowedAddress } from './address-guard.ts';

export { request } from 'undici';

export interface DispatcherSettings extends GuardSettings {
  /** Concurrent connections to one origin; further requests wait for one of them. */
  connectionsPerOrigin: number;
  /** Time limit of a connect, with the TLS handshake. */
  connectTimeoutMs: number;
}

/** Maximum idle time, even if the receiver offers more, because common servers close after five seconds without notice. */
const KEEP_ALIVE_MS = 4000;
/** After this many requests, the next one opens a new connection, whose address is checked again. */
const REQUESTS_PER_CONNECTION = 100;

/**
 * undici's Agent with the address guard. IP addresses in a URL are checked here, because a socket does not look them
 * up. Host names are checked in the socket's lookup. Ignores proxy settings of the environment, because a proxy would
 * bypass the check.
 */
export function createGuardedDispatcher(settings: DispatcherSettings): Dispatcher {
  const connect = buildConnector({
    lookup: guardedLookup(settings),
    autoSelectFamily: true,
    allowH2: false,
    timeout: settings.connectTimeoutMs,
  });
  return new Agent({
    connect(options, callback) {
      if (isIP(options.hostname) !== 0 && !isAllowedAddress(options.hostname, settings.allow)) {
        const refusal = new AddressRefusedError(`The address ${options.hostname} is not public.`);
        // undici accepts the result only after the connector has returned.
        queueMicrotask(() => callback(refusal, null));
        return;
      }
      connect(options, callback);
    },
    connections: settings.connectionsPerOrigin,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxRequestsPerClient: REQUESTS_PER_CONNECTION,
    // The sender has one time limit for the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
