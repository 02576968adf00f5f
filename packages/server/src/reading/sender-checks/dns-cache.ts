import { Resolver } from 'node:dns/promises';
import { LRUCache } from 'lru-cache';
import { codeOf } from '../../errors.ts';

/** Records of one kind: texts are lists of pieces, addresses and names are strings. */
export type Records = string[] | string[][];
/**
 * Asks name servers for the records of a name.
 * @throws an error with a `code` of node:dns (ENOTFOUND, ENODATA, ETIMEOUT, …)
 */
export type Ask = (name: string, type: string) => Promise<Records>;

/** One question may take so long and is asked so often: together less than the time of one mail. */
const TIMEOUT_MS = 600;
const TRIES = 2;
/** How long found and missing records are cached. Node.js does not return the TTL; a minute is seldom more than it. */
const KNOWN_MS = 60_000;
/** How long a failure is cached: a silent name server must not delay every message of its domain. */
const FAILURE_KNOWN_MS = 5_000;
/** Size of the cache in characters: many thousand domains, a few megabytes. */
const CACHE_LETTERS = 4 * 1024 * 1024;
/** Cost of a cache entry beside its name and records. */
const ENTRY_LETTERS = 100;
/** The largest companies' texts have a few thousand characters in all. */
const MAX_ANSWER_LETTERS = 16 * 1024;
/** A strict SPF policy with its mail exchangers, three signatures and a deep From domain need half of it. */
const MAX_QUESTIONS = 60;

/** Says that there is no such name or record, for as long as the zone stays as it is. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

type Outcome = { records: Records; letters: number } | { failure: string };

export interface DnsSettings {
  /** As in `CheckerData`. */
  servers: readonly string[] | null;
  /** Milliseconds that only grow; the age of what is known. */
  now?: () => number;
}

/** Questions by DNS with a cache; the same question at the same time is asked once. */
export function createDns({ servers, now }: DnsSettings): Ask {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const known = new LRUCache<string, Outcome>({
    maxSize: CACHE_LETTERS,
    sizeCalculation: (outcome, key) =>
      ENTRY_LETTERS + key.length + ('records' in outcome ? outcome.letters : 0),
    ...(now && { perf: { now }, ttlResolution: 0 }),
  });
  const asked = new Map<string, Promise<Outcome>>();

  const query = async (key: string, name: string, type: string): Promise<Outcome> => {
    const outcome = await answerOf(resolver, name, type);
    const stays = 'records' in outcome || ABSENT.has(outcome.failure);
    known.set(key, outcome, { ttl: stays ? KNOWN_MS : FAILURE_KNOWN_MS });
    asked.delete(key);
    return outcome;
  };

  return async (name, type) => {
    const key = `${type} ${name.toLowerCase()}`;
    let outcome = known.get(key);
    if (!outcome) {
      const asking = asked.get(key) ?? query(key, name, type);
      asked.set(key, asking);
      outcome = await asking;
    }
    if ('failure' in outcome) throw dnsError(outcome.failure);
    return outcome.records;
  };
}

/**
 * The questions of one mail: so many at most, and none that lasts longer than the mail's time.
 * @param over aborted when that time is over; what was not answered fails then as a timeout does
 */
export function askForOneMail(ask: Ask, over: AbortSignal): Ask {
  let left = MAX_QUESTIONS;
  const end = new Promise<never>((_, reject) => {
    over.addEventListener('abort', () => reject(dnsError('ETIMEOUT')), { once: true });
  });
  // It may be rejected when no query is running.
  end.catch(() => undefined);
  return async (name, type) => {
    if (over.aborted) throw dnsError('ETIMEOUT');
    if (left-- <= 0) throw dnsError('ECANCELLED');
    return Promise.race([ask(name, type), end]);
  };
}

async function answerOf(resolver: Resolver, name: string, type: string): Promise<Outcome> {
  try {
    // Texts, names and addresses; the records of mail exchangers are objects that go through as they are.
    const records = (await resolver.resolve(name, type)) as Records;
    const letters = JSON.stringify(records).length;
    return letters > MAX_ANSWER_LETTERS ? { failure: 'EMSGSIZE' } : { records, letters };
  } catch (error) {
    return { failure: codeOf(error) || 'EFORMERR' };
  }
}

function dnsError(code: string): Error {
  return Object.assign(new Error(`DNS: ${code}`), { code });
}
