import { lookup, Resolver } from 'node:dns/promises';
import { codeOf } from '../../errors.ts';

/** Resolves a host name to one or more IPv4 and IPv6 addresses. @throws an error with a `code` of node:dns */
export type Resolve = (host: string) => Promise<string[]>;

/** Limit of addresses to try one after the other. Trying more would exceed the time limit of an attempt. */
const MAX_ADDRESSES = 16;

export interface ResolveSettings {
  /** Name servers, as `address` or `address:port`; default: those of the operating system. */
  servers?: readonly string[];
  /** Resolves names that DNS does not know; default: none. */
  fallback?: Resolve;
  timeoutMs?: number;
}

/** Uses no thread of Node's pool, which slow name servers would block. `localhost` is loopback (RFC 6761). */
export function createResolve({ servers, fallback, timeoutMs = 1_000 }: ResolveSettings = {}): Resolve {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
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

/** The operating system's resolver (hosts file, search domains). Each call blocks a thread of Node's pool. */
export const systemResolve: Resolve = async (host) => {
  const entries = await lookup(host, { all: true });
  return entries.map((entry) => entry.address);
};

const isAbsent = (reason: unknown): boolean => ['ENOTFOUND', 'ENODATA'].includes(codeOf(reason));
