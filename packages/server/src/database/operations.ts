import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError, codeOf } from '../errors.ts';
import type { Engine, Sql } from './sql.ts';

export interface Db {
  readonly engine: Engine;
  /** @param Row the columns as the query names them */
  all<Row extends object>(query: Sql): Promise<Row[]>;
  first<Row extends object>(query: Sql): Promise<Row | undefined>;
}

export interface Tx extends Db {
  /** Returns the number of changed rows. */
  run(query: Sql): Promise<number>;
}

/** SQLSTATE of statements that follow a failed one in its transaction. */
const TRANSACTION_FAILED = '25P02';

/** Waits for pipelined statements. @throws the error of the one that failed, not of those that fail because of it */
export async function together<T extends readonly unknown[]>(
  statements: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  const results = await Promise.allSettled(statements);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (reasons.length > 0) throw reasons.find((reason) => codeOf(reason) !== TRANSACTION_FAILED) ?? reasons[0];
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

/**
 * Runs `work` in a transaction, more than once after a deadlock or a full disk. `step` marks a part of a long
 * operation: on SQLite, the calls that wait are run before it. For `relaxed` see {@link Traits}.
 */
export type Transaction = <T>(work: (tx: Tx) => Promise<T>, of?: 'step' | 'relaxed') => Promise<T>;

/** `written`: the last statements, whose results are not needed. COMMIT is sent without waiting for them. */
export interface Flight<T> {
  result: T;
  written: Promise<unknown>;
}

/** As {@link Transaction}, in fewer round trips: BEGIN is sent with the first statements, COMMIT with the last. */
export type Flights = <T>(work: (tx: Tx) => Promise<Flight<T>>) => Promise<T>;

export interface Kit {
  db: Db;
  transaction: Transaction;
  flight: Flights;
  /** True if one part of the transaction may be the cause, such as a message larger than the free space. */
  mayDependOnContent(error: unknown): boolean;
  close(): Promise<void>;
}

/**
 * `read` (short) runs on the main thread, `search` (long) on the search thread. On SQLite the others run on the writer
 * thread: `write` and `flight` in one transaction, shared by the calls that wait, `steps` in several short ones.
 */
type Kind = 'read' | 'search' | 'write' | 'flight' | 'steps';

export const isReading = (kind: Kind): boolean => kind === 'read' || kind === 'search';

export interface Traits {
  /** Frees space, overwrites existing rows or is needed to delete. */
  mayUseReserve?: true;
  /** Changes no inbox, address or owner except by adding messages. */
  keepsInboxes?: true;
  /** Only tries whether a write is possible. */
  changesNothing?: true;
  /** Its commit may be lost in a crash of the machine, because what it writes can be made again. */
  relaxed?: true;
  /** What it adds is indexed later, in as many bytes at most. */
  isIndexed?: true;
}

/**
 * Returned instead of a result if the operation met mails without a reading: once `sources` are read, it is called
 * again with `again`, the same arguments with an upper bound, so that mails which arrive meanwhile do not delay it.
 */
export interface Unread {
  readonly unread: readonly number[];
  readonly again: readonly unknown[];
}

/**
 * @param rows of one page; without a size where the reading is missing
 * @param again the arguments of the next call, given the place after the last of these rows
 */
export function unreadOf<Row extends { source: number; size: number | null }>(
  rows: readonly Row[],
  placeOf: (row: Row) => number,
  again: (before: number) => readonly unknown[],
): Unread | undefined {
  const unread = rows.filter(({ size }) => size === null).map(({ source }) => source);
  if (unread.length === 0) return undefined;
  return { unread, again: again(Math.max(...rows.map(placeOf)) + 1) };
}

const isUnread = (result: unknown): result is Unread =>
  typeof result === 'object' && result !== null && 'unread' in result && 'again' in result;

/** Far more than happen: each time, messages were deleted and older ones took their places. */
const MAX_ROUNDS = 1_000;

/** The gate that every operation passes. @param read resolves when these sources have readings, or are gone */
export async function callRead(
  call: (args: readonly unknown[]) => Promise<unknown>,
  args: readonly unknown[],
  read: (sources: readonly number[]) => Promise<void>,
): Promise<unknown> {
  let result = await call(args);
  for (let round = 0; isUnread(result); round++) {
    if (round >= MAX_ROUNDS) throw new Error(`Sources ${result.unread.join(', ')} cannot be read.`);
    await read(result.unread);
    result = await call(result.again);
  }
  return result;
}

export interface Operation<Args extends readonly unknown[], Result> {
  readonly kind: Kind;
  readonly traits: Traits;
  /** @param on a {@link Db}, {@link Tx} or {@link Transaction}, depending on the kind */
  readonly run: (on: never, ...args: Args) => Promise<Result>;
}

type Run<On, Args extends readonly unknown[], Result> = (on: On, ...args: Args) => Promise<Result>;

const operation =
  <On>(kind: Kind) =>
  <Args extends readonly unknown[], Result>(run: Run<On, Args, Result>, traits: Traits = {}) =>
    ({ kind, traits, run }) as const satisfies Operation<Args, Result>;

export const read = operation<Db>('read');
export const search = operation<Db>('search');
export const write = operation<Tx>('write');
export const steps = operation<Transaction>('steps');
const flightOf = operation<Tx>('flight');

export const flight = <Args extends readonly unknown[], Result>(
  run: (tx: Tx, ...args: Args) => Promise<Flight<Result>>,
  traits: Traits = {},
) => flightOf(run as unknown as Run<Tx, Args, Result>, traits);

export type Operations = Readonly<Record<string, Readonly<Record<string, Operation<never, unknown>>>>>;

/** The operations without `on`. A homomorphic type, so that go-to-definition leads to the SQL. */
export type Calls<Table> = {
  [Noun in keyof Table]: {
    [Name in keyof Table[Noun]]: Table[Noun][Name] extends Operation<infer Args, infer Result>
      ? (...args: Args) => Promise<Exclude<Result, Unread>>
      : never;
  };
};

/** @param call gets the path of an operation in the table, such as `messages.addBatch` */
export function callsOf<Table extends Operations>(
  table: Table,
  call: (path: string, operation: Operation<never, unknown>, args: readonly unknown[]) => Promise<unknown>,
): Calls<Table> {
  const nouns = Object.entries(table).map(([noun, operations]) => {
    const named = Object.entries(operations).map(([name, operation]) => {
      const path = `${noun}.${name}`;
      return [name, (...args: readonly unknown[]) => call(path, operation, args)];
    });
    return [noun, Object.fromEntries(named)];
  });
  return Object.fromEntries(nouns) as Calls<Table>;
}

export function runOn(
  { kind, run, traits }: Operation<never, unknown>,
  args: readonly unknown[],
  { db, transaction, flight }: Kit,
): Promise<unknown> {
  // TypeScript has checked the arguments at the caller.
  const call = run as (on: unknown, ...args: readonly unknown[]) => Promise<unknown>;
  if (kind === 'write') {
    return transaction((tx) => call(tx, ...args), traits.relaxed ? 'relaxed' : undefined);
  }
  if (kind === 'flight') return flight((tx) => call(tx, ...args) as Promise<Flight<unknown>>);
  return call(kind === 'steps' ? transaction : db, ...args);
}

/** One or two milliseconds per transaction, during which other writes wait. */
const ROWS_PER_STEP = 100;

/** Deletes about `limit` rows and returns the count; fewer than `limit` means that nothing is left. */
export type FreeStep = (tx: Tx, limit: number) => Promise<number>;

/** Repeats a step until nothing is left. @param first `step` unless the first may share a transaction */
export async function freeInSteps(transaction: Transaction, step: FreeStep, first?: 'step'): Promise<void> {
  for (let of = first; ; of = 'step') {
    const freed = await transaction((tx) => step(tx, ROWS_PER_STEP), of);
    if (freed < ROWS_PER_STEP) return;
    await nextTurn();
  }
}

/** Frees the space of a committed deletion. If the storage is full, damaged or locked, the sweeper frees it later. */
export async function freeNowOrLater(free: () => Promise<void>): Promise<void> {
  try {
    await free();
  } catch (error) {
    if (!(error instanceof AppError && ['unavailable', 'storage_damaged'].includes(error.code))) throw error;
  }
}

export function inSequence(...steps: FreeStep[]): FreeStep {
  return async (tx, limit) => {
    let freed = 0;
    for (const step of steps) {
      if (freed >= limit) break;
      freed += await step(tx, limit - freed);
    }
    return freed;
  };
}
