import type { Engine, Sql } from './sql.ts';

/** A connection, for reads. */
export interface Db {
  /** For what the engines do in different ways. */
  readonly engine: Engine;
  /** The rows that a query returns. @param Row the columns, as the query names them */
  all<Row extends object>(query: Sql): Promise<Row[]>;
  /** The first row, if there is one. */
  first<Row extends object>(query: Sql): Promise<Row | undefined>;
}

/** An open transaction. */
export interface Tx extends Db {
  /** @returns the number of rows that the statement changed */
  run(query: Sql): Promise<number>;
}

/**
 * Runs `work` in a transaction of its own; an engine may run it again after a deadlock or a full disk.
 * @param of `step` for a part of something long, so that calls of one transaction do not wait for two of its parts
 */
export type Transaction = <T>(work: (tx: Tx) => Promise<T>, of?: 'step') => Promise<T>;

/** What a transaction returns, and its last statements, whose results it does not need; the COMMIT follows them. */
export interface Flight<T> {
  result: T;
  written: Promise<unknown>;
}

/**
 * As {@link Transaction}, for a hot write on a distant database: BEGIN and COMMIT are sent together with its first and
 * its last statements.
 */
export type Flights = <T>(work: (tx: Tx) => Promise<Flight<T>>) => Promise<T>;

/** A connection with its transactions. */
export interface Kit {
  db: Db;
  transaction: Transaction;
  flight: Flights;
}

/**
 * Where an operation runs on SQLite; on PostgreSQL all run on the pool.
 * - `read`: short, on the main thread
 * - `search`: long, on the search thread
 * - `write`: one transaction on the writer thread, shared with others that wait
 * - `flight`: the same, with the statements of PostgreSQL sent without waiting; see {@link Flights}
 * - `steps`: several short transactions on the writer thread, between which others commit
 */
type Kind = 'read' | 'search' | 'write' | 'flight' | 'steps';

/** What is special about a write. */
export interface Traits {
  /** It frees space, overwrites existing rows or is needed to delete: it may use the disk's reserve. */
  mayUseReserve?: true;
  /** It changes no inbox, address or owner except by adding messages. */
  keepsInboxes?: true;
}

/** An operation of the store: an entry in the table of its noun. */
export interface Operation<Args extends readonly unknown[], Result> {
  readonly kind: Kind;
  readonly traits: Traits;
  /** @param on a connection, a transaction, or what runs transactions, by the kind */
  readonly run: (on: never, ...args: Args) => Promise<Result>;
}

type Run<On, Args extends readonly unknown[], Result> = (on: On, ...args: Args) => Promise<Result>;

export const read = <Args extends readonly unknown[], Result>(run: Run<Db, Args, Result>) =>
  ({ kind: 'read', traits: {}, run }) as const satisfies Operation<Args, Result>;

export const search = <Args extends readonly unknown[], Result>(run: Run<Db, Args, Result>) =>
  ({ kind: 'search', traits: {}, run }) as const satisfies Operation<Args, Result>;

export const write = <Args extends readonly unknown[], Result>(
  run: Run<Tx, Args, Result>,
  traits: Traits = {},
) => ({ kind: 'write', traits, run }) as const satisfies Operation<Args, Result>;

export const flight = <Args extends readonly unknown[], Result>(
  run: (tx: Tx, ...args: Args) => Promise<Flight<Result>>,
  traits: Traits = {},
) =>
  ({ kind: 'flight', traits, run: run as unknown as Run<Tx, Args, Result> }) as const satisfies Operation<
    Args,
    Result
  >;

export const steps = <Args extends readonly unknown[], Result>(
  run: Run<Transaction, Args, Result>,
  traits: Traits = {},
) => ({ kind: 'steps', traits, run }) as const satisfies Operation<Args, Result>;

/** A table of operations by noun. */
export type Operations = Readonly<Record<string, Readonly<Record<string, Operation<never, unknown>>>>>;

/**
 * The operations of a table as callers have them: without the connection. Homomorphic, so that the definition
 * of a call is the entry of the table, with its SQL.
 */
export type Calls<Table> = {
  [Noun in keyof Table]: {
    [Name in keyof Table[Noun]]: Table[Noun][Name] extends Operation<infer Args, infer Result>
      ? (...args: Args) => Promise<Result>
      : never;
  };
};

/** Calls every operation by its path, such as `inboxes.create`. */
function callsOf<Table extends Operations>(
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

/** The operations of a table on one connection. */
export function callsOn<Table extends Operations>(table: Table, kit: Kit): Calls<Table> {
  return callsOf(table, (_path, operation, args) => runOn(operation, args, kit));
}

/** Runs an operation by its kind. */
function runOn(
  { kind, run }: Operation<never, unknown>,
  args: readonly unknown[],
  { db, transaction, flight }: Kit,
): Promise<unknown> {
  // The table has checked the arguments where the operation was called.
  const call = run as (on: unknown, ...args: readonly unknown[]) => Promise<unknown>;
  if (kind === 'write') return transaction((tx) => call(tx, ...args));
  if (kind === 'flight') return flight((tx) => call(tx, ...args) as Promise<Flight<unknown>>);
  return call(kind === 'steps' ? transaction : db, ...args);
}
