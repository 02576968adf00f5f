import { lookup, Resolver } from 'node:dns/promises';
import { codeOf } from '../../errors.ts';

/**
 * Resolves all IPv4 and IPv6 addresses of a host name, at least one.
 * @throws an error with a `code` of node:dns (ENOTFOUND, ETIMEOUT, …)
 */
export type Resolve = (host: string) => Promise<string[]>;

/** Timeout and tries of one query: together a small part of an attempt's time limit. */
const TIMEOUT_MS = 1000;
const TRIES = 2;
/** More addresses than any real receiver has, and few enough to be tried in turn. */
const MAX_ADDRESSES = 16;

export interface ResolveSettings {
  /** Name servers as `address` or `address:port`; the machine's own when not given. */
  servers?: readonly string[];
  /** Used for names that DNS does not know, such as {@link systemResolve}; default: none. */
  fallback?: Resolve;
}

/**
 * Resolves names by DNS on its own sockets, so that slow name servers of one receiver do not delay others.
 * `localhost` and names below it are loopback without a query (RFC 6761 section 6.3).
 */
export function createResolve({ servers, fallback }: ResolveSettings = {}): Resolve {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  return async (host) => {
    if (/^(.*\.)?localhost\.?$/i.test(host)) return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found.slice(0, MAX_ADDRESSES);
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    const failure = failures.find((reason) => !isAbsent(reason));
    if (failure) throw failure;
    if (!fallback) throw failures[0];
    return (await fallback(host)).slice(0, MAX_ADDRESSES);
  };
}

/**
 * The operating system's resolver, which knows the hosts file and search domains, so the names of a private
 * network. Used only where the operator allows such networks, since each call occupies a thread of the process
 * for as long as a name server takes.
 */
export const systemResolve: Resolve = async (host) => {
  const entries = await lookup(host, { all: true });
  return entries.map((entry) => entry.address);
};

/** True when the name, or that type of record, does not exist. */
const isAbsent = (reason: unknown): boolean => ['ENOTFOUND', 'ENODATA'].includes(codeOf(reason));
