import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { AddressRefusedError, type GuardSettings, guardedLookup, isAllowedAddress } from './address-guard.ts';

export { request } from 'undici';

export interface DispatcherSettings extends GuardSettings {
  /** Open connections to one origin at once; more requests wait for one of them. */
  connectionsPerOrigin: number;
  /** How long one connection may take until it stands, TLS included. */
  connectTimeoutMs: number;
}

/**
 * An idle connection is kept so long for the next delivery, also when the receiver offers longer:
 * below the five seconds after which common servers close theirs without having said so.
 */
const KEEP_ALIVE_MS = 4000;
/** Then the next request opens a new connection, and with it asks the guard again. */
const REQUESTS_PER_CONNECTION = 100;

/**
 * undici's Agent with the guard inside. A literal address is judged before the socket is made (the
 * lookup of a socket is never called for one); a name is looked up once, inside the socket's own
 * lookup, and the socket dials what was judged and nothing else. The name stays for the Host header,
 * SNI and the certificate. Proxies of the environment are not used: they would do the connecting.
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
        const refusal = new AddressRefusedError(`The address ${options.hostname} is not a public one.`);
        // Not in this turn: undici takes an answer only once it has left the connector.
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
    // The sender has one limit for the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
