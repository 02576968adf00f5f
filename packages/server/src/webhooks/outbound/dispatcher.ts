import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { AddressRefusedError, type GuardSettings, guardedLookup, isAllowedAddress } from './address-guard.ts';

export { request } from 'undici';

export interface DispatcherSettings extends GuardSettings {
  /** Concurrent connections to one origin; further requests wait. */
  connectionsPerOrigin: number;
  /** Time limit for establishing a connection, TLS included. */
  connectTimeoutMs: number;
}

/**
 * How long an idle connection is kept, also when the receiver offers longer: below the five seconds after which
 * common servers close theirs without notice.
 */
const KEEP_ALIVE_MS = 4000;
/** After these, the next request opens a new connection, which is checked again. */
const REQUESTS_PER_CONNECTION = 100;

/**
 * undici's Agent with the address guard. A literal address is checked before the socket is created (a socket's
 * lookup is never called for one). A name is resolved once, in the socket's own lookup, and the socket connects to
 * a checked address only. The name is still used for the Host header, SNI and the certificate. Proxies of the
 * environment are not used: the check would not apply to the connections they make.
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
