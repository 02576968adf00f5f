import { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import { codeOf } from '../../errors.ts';

/** For TXT, each record is a list of strings. For other types, it is one string. */
export type Records = string[] | string[][];
/** Queries DNS records. @throws an error with a `code` of node:dns (ENOTFOUND, ENODATA, ETIMEOUT, …) */
export type Ask = (name: string, type: string) => Promise<Records>;

/** Timeout of one try, milliseconds. All tries together take less than the time limit of a mail. */
const TIMEOUT_MS = 600;
/** Cache time of records. Node.js does not return the TTL, which is rarely shorter than a minute. */
const KNOWN_MS = 60_000;
/** Cache time of failures, so that an unresponsive name server does not delay every message of a domain. */
const FAILURE_KNOWN_MS = 5_000;
const CACHE_LETTERS = 4 * 1024 * 1024;
const ENTRY_LETTERS = 100;
/** Limit of one record set in characters. The record sets of the largest companies have a few thousand. */
const MAX_ANSWER_LETTERS = 16 * 1024;
/** Limit of queries per mail: twice what a long SPF policy, three signatures and a long From domain need. */
const MAX_QUESTIONS = 60;

/** Failure codes that are cached as long as records; '' means success. */
const DURABLE: ReadonlySet<string> = new Set(['', 'ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** `failure` is '' if the query succeeded. `letters` is the size of the records in characters. */
type Outcome = { records: Records; failure: string; letters: number };

export function createDns(servers: readonly string[] | null, now?: () => number): Ask {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 });
  if (servers) resolver.setServers(servers);
  const known = new LRUCache<string, Outcome>({
    maxSize: CACHE_LETTERS,
    sizeCalculation: ({ letters }, key) => ENTRY_LETTERS + key.length + letters,
    // Concurrent queries for the same records share one call, which cannot be cancelled.
    async fetchMethod(key, _, { options }) {
      const [, type = '', name = ''] = /^(\S+) (.*)$/s.exec(key) ?? [];
      const outcome = await answerOf(resolver, name, type);
      options.ttl = DURABLE.has(outcome.failure) ? KNOWN_MS : FAILURE_KNOWN_MS;
      return outcome;
    },
    ignoreFetchAbort: true,
    ...(now && { perf: { now }, ttlResolution: 0 }),
  });

  return async (name, type) => {
    const { records, failure } = await known.forceFetch(`${type} ${name.toLowerCase()}`);
    if (failure !== '') throw dnsError(failure);
    return records;
  };
}

/** @param over aborted at the time limit of the mail; pending queries then fail with ETIMEOUT */
export function askForOneMail(ask: Ask, over: AbortSignal): Ask {
  let left = MAX_QUESTIONS;
  const end = new Promise<never>((_, reject) => {
    over.addEventListener('abort', () => reject(dnsError('ETIMEOUT')), { once: true });
  });
  // Prevents an unhandled rejection when no query is running.
  end.catch(() => undefined);
  return async (name, type) => {
    if (over.aborted) throw dnsError('ETIMEOUT');
    if (left-- <= 0) throw dnsError('ECANCELLED');
    return Promise.race([ask(name, type), end]);
  };
}

async function answerOf(resolver: Resolver, name: string, type: string): Promise<Outcome> {
  try {
    // The type is inexact: MX records are objects. They are returned unchanged.
    const records = (await resolver.resolve(name, type)) as Records;
    const letters = JSON.stringify(records).length;
    if (letters <= MAX_ANSWER_LETTERS) return { records, failure: '', letters };
    return { records: [], failure: 'EMSGSIZE', letters: 0 };
  } catch (error) {
    return { records: [], failure: codeOf(error) || 'EFORMERR', letters: 0 };
  }
}

const dnsError = (code: string): Error => Object.assign(new Error(`DNS: ${code}`), { code });
