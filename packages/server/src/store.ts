import { accounts, domains, keys } from './accounts/sql.ts';
import { CACHE_TTL_MS, type Clock } from './clock.ts';
import { sessions } from './console/sql.ts';
import { mayDependOnItem } from './database/failures.ts';
import { type Calls, callRead, type Operation } from './database/sql.ts';
import { AppError } from './errors.ts';
import { faults } from './faults/sql.ts';
import { addresses } from './inboxes/sql/addresses.ts';
import { changing } from './inboxes/sql/changing.ts';
import { finding } from './inboxes/sql/finding.ts';
import { batched, createMailBatcher } from './messages/batcher.ts';
import { addBatch } from './messages/sql/adding.ts';
import { ending } from './messages/sql/ending.ts';
import { imports } from './messages/sql/imports.ts';
import { one } from './messages/sql/one.ts';
import { pages } from './messages/sql/pages.ts';
import { searching } from './messages/sql/search.ts';
import { outgoing } from './outgoing/sql.ts';
import { providerItems } from './providers/sql.ts';
import { readings } from './reading/sql.ts';
import { refusals } from './refusals/sql.ts';
import { reports } from './reports/sql.ts';
import { deleteAccount, inboxDeletion } from './retention/deletion.ts';
import { upkeep } from './retention/sweep.ts';
import { nodes, usage } from './usage/sql.ts';
import { waits } from './waits/sql.ts';
import { log } from './webhooks/sql/log.ts';
import { queue } from './webhooks/sql/queue.ts';
import { record } from './webhooks/sql/record.ts';
import { webhooks } from './webhooks/sql/webhooks.ts';

const operations = {
  accounts: { ...accounts, delete: deleteAccount },
  keys,
  domains,
  sessions,
  usage,
  nodes,
  addresses,
  inboxes: { ...finding, ...changing, ...inboxDeletion },
  messages: { addBatch, ...pages, ...searching, ...one, ...ending, ...imports },
  readings,
  faults,
  outgoing,
  providerItems,
  refusals,
  upkeep,
  webhooks,
  deliveries: { ...queue, record, ...log },
  waits,
  reports,
};

/**
 * Times are epoch milliseconds. Every read checks the expiry of the inbox, because expired inboxes may be deleted
 * late. With an `accountId`, a read returns no rows of other accounts. Arguments and results may be sent
 * to another thread. If the storage fails, a call throws one of these AppErrors (HTTP 503, SMTP 451):
 * - `unavailable`: nothing was changed, or a deletion in steps is incomplete; the call may be repeated
 * - `outcome_unknown`: the whole write may have taken effect
 * - `storage_damaged`: only the operator can repair it; a write may have taken effect
 */
export interface Store extends Calls<typeof operations> {
  /** Number of writes so far; with `inboxes`, only of those that may change inboxes. Null with PostgreSQL. */
  generation(of?: 'inboxes'): number | null;
  /** Writes of this process that the embedded database has not completed; 0 with PostgreSQL. */
  pendingWrites(): number;
  /** @throws AppError `unavailable` if the storage is not writable, `storage_damaged` if damage was found before */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export const OPERATIONS: ReadonlyMap<string, Operation<never, unknown>> = new Map(
  Object.entries(operations).flatMap(([noun, table]) =>
    Object.entries(table).map(([name, operation]) => [`${noun}.${name}`, operation] as const),
  ),
);

export function operationAt(path: string): Operation<never, unknown> {
  const operation = OPERATIONS.get(path);
  if (!operation) throw new TypeError(`The store has no operation ${path}.`);
  return operation;
}

/** Parses the mails with these ids. Resolves when their content is stored, or they are deleted. */
export type ReadSources = (sources: readonly number[]) => Promise<void>;

/** @param read parses mails that an operation needs @param onDamage called once for each kind of damage */
export function storeOf(
  invoke: (path: string, operation: Operation<never, unknown>, args: readonly unknown[]) => Promise<unknown>,
  own: Pick<Store, 'close' | 'generation' | 'pendingWrites'>,
  read: ReadSources = () => Promise.reject(new Error('This process reads no mail.')),
  onDamage: (error: AppError) => void = () => undefined,
): Store {
  const damages = new Map<string, AppError>();
  const failed = (error: unknown): never => {
    if (error instanceof AppError && error.code === 'storage_damaged' && !damages.has(error.message)) {
      damages.set(error.message, error);
      onDamage(error);
    }
    throw error;
  };
  const nouns: Record<string, Record<string, unknown>> = {};
  for (const [path, operation] of OPERATIONS) {
    const [noun = '', name = ''] = path.split('.');
    const call = (...args: readonly unknown[]) =>
      callRead((next) => invoke(path, operation, next), args, read).catch(failed);
    nouns[noun] = { ...nouns[noun], [name]: call };
  }
  const calls = nouns as Calls<typeof operations>;
  const mails = createMailBatcher(calls.messages.addBatch, mayDependOnItem);
  const { keep, keepChecked } = calls.readings;
  let pinging: Promise<void> | undefined;
  return {
    ...calls,
    ...own,
    messages: {
      ...calls.messages,
      addBatch: (all, now) => mails.add(all, now),
    },
    readings: { ...calls.readings, keep: batched(keep), keepChecked: batched(keepChecked) },
    async ping() {
      for (const damage of damages.values()) throw damage;
      pinging ??= calls.upkeep.ping().finally(() => {
        pinging = undefined;
      });
      return pinging;
    },
    async close() {
      await mails.flushed();
      await own.close();
    },
  };
}

/** Runs one read per key at a time. Calls during a read share the next read, so they see all earlier writes. */
function createQueue() {
  const running = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<unknown>>();
  return function run<T>(key: string, read: () => Promise<T>): Promise<T> {
    const current = running.get(key);
    if (!current) {
      const result = read().finally(() => running.delete(key));
      running.set(key, result);
      return result;
    }
    const begin = () => {
      next.delete(key);
      return run(key, read);
    };
    const queued = next.get(key) ?? current.then(begin, begin);
    next.set(key, queued);
    return queued as Promise<T>;
  };
}

/** Caches reads until a write, up to {@link CACHE_TTL_MS}. On PostgreSQL, only shares concurrent reads. */
export function createSharing(
  store: Pick<Store, 'generation'>,
  clock: Pick<Clock, 'monotonic'>,
  maxResults: number,
) {
  const results = new Map<string, Promise<unknown>>();
  const queued = createQueue();
  let generation: number | null = null;
  let until = 0;
  return <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const [current, now] = [store.generation(), clock.monotonic()];
    if (current === null) return queued(key, read);
    if (current !== generation || now >= until || results.size >= maxResults) {
      results.clear();
      generation = current;
      until = now + CACHE_TTL_MS;
    }
    const known = results.get(key);
    if (known) return known as Promise<T>;
    const result = read();
    results.set(key, result);
    result.catch(() => results.delete(key));
    return result;
  };
}
