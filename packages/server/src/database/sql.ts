import { codeOf } from '../errors.ts';

export type Engine = 'sqlite' | 'postgres';

export type Value = string | number | bigint | null | Uint8Array;

/** SQL text and its values. Only this module creates them, so that values never become SQL text. */
export class Sql {
  readonly strings: readonly string[];
  readonly pieces: readonly Piece[];

  constructor(strings: readonly string[], pieces: readonly Piece[]) {
    this.strings = strings;
    this.pieces = pieces;
  }
}

class PerEngine {
  readonly texts: Readonly<Record<Engine, Sql>>;

  constructor(texts: Readonly<Record<Engine, Sql>>) {
    this.texts = texts;
  }
}

/** A list as one parameter, so that the SQL text does not depend on its length. */
class AnyOf {
  readonly values: readonly (string | number)[];

  constructor(values: readonly (string | number)[]) {
    this.values = values;
  }
}

export type Piece = Value | Sql | PerEngine | AnyOf;

export function sql(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Sql {
  return new Sql(strings, pieces);
}

export const EMPTY = sql``;

/** @param separator SQL text, never derived from input */
export function join(pieces: readonly Sql[], separator: string): Sql {
  if (pieces.length === 0) return EMPTY;
  return new Sql(['', ...pieces.slice(1).map(() => separator), ''], pieces);
}

export const perEngine = (texts: Readonly<Record<Engine, string | Sql>>): PerEngine => {
  const toSql = (text: string | Sql): Sql => (typeof text === 'string' ? new Sql([text], []) : text);
  return new PerEngine({ sqlite: toSql(texts.sqlite), postgres: toSql(texts.postgres) });
};

/** The time of the database (epoch ms), because clocks of nodes differ. SQLite has only one node, so it uses `now`. */
export const databaseTime = (now: number | null): PerEngine =>
  perEngine({
    sqlite: sql`${now}`,
    postgres: '(extract(epoch from statement_timestamp()) * 1000)::bigint',
  });

/** SQL for `from ${eachOf(rows)} as r`. Fields are `r.value ->> 'name'`, which PostgreSQL returns as text. */
export const eachOf = (rows: readonly object[]): Sql =>
  sql`${perEngine({ sqlite: 'json_each', postgres: 'json_array_elements' })}(${JSON.stringify(rows)})`;

/** Case-insensitive at least for ASCII letters. */
export const LIKE = perEngine({ sqlite: 'like', postgres: 'ilike' });

/** Locks rows until the transaction ends. Not `for update`, which blocks inserts that reference the rows. */
export const FOR_UPDATE = perEngine({ sqlite: '', postgres: 'for no key update' });
export const FOR_UPDATE_SKIP_LOCKED = perEngine({ sqlite: '', postgres: 'for no key update skip locked' });

/** Prevents the deletion of the rows until the transaction ends. */
export const KEEP = perEngine({ sqlite: '', postgres: 'for key share' });

const inserts = new Map<string, readonly string[]>();

export function inserted(into: string, rows: readonly (readonly Value[])[], returning: string): Sql {
  const columns = rows[0]?.length ?? 0;
  const key = `${into} ${rows.length} ${returning}`;
  const strings = inserts.get(key) ?? [
    `insert into ${into} values (`,
    ...Array.from({ length: rows.length * columns - 1 }, (_, n) => ((n + 1) % columns === 0 ? '), (' : ', ')),
    `) ${returning}`,
  ];
  inserts.set(key, strings);
  return new Sql(strings, rows.flat());
}

/** A condition for `where id ${anyOf(ids)}`. An empty list matches nothing. */
export const anyOf = (values: readonly (string | number)[]): AnyOf => new AnyOf(values);

/** Constant SQL. @param text never derived from input */
export const constant = (text: string): Sql => new Sql([text], []);

export interface Compiled {
  text: string;
  values: (Value | readonly (string | number)[])[];
}

interface Known {
  text: string;
  constants: readonly Piece[];
}

/** Compiled queries. `single`: for SQLite, if each list has one value. Then `=` is twice as fast as `in`. */
const known: Readonly<Record<Engine | 'single', WeakMap<readonly string[], Known>>> = {
  sqlite: new WeakMap(),
  single: new WeakMap(),
  postgres: new WeakMap(),
};

const isSingle = (piece: Piece): boolean => !(piece instanceof AnyOf) || piece.values.length === 1;

const isParameter = (piece: Piece): piece is Value | AnyOf =>
  typeof piece !== 'object' || !(piece instanceof Sql || piece instanceof PerEngine);

function isConstant(piece: Piece, engine: Engine): boolean {
  if (isParameter(piece)) return false;
  const { pieces } = piece instanceof Sql ? piece : piece.texts[engine];
  return pieces.every((one) => isConstant(one, engine));
}

const toValue = (piece: Value | AnyOf, engine: Engine | 'single'): Compiled['values'][number] => {
  if (!(piece instanceof AnyOf)) return piece;
  if (engine === 'single') return piece.values[0] ?? null;
  return engine === 'postgres' ? piece.values : JSON.stringify(piece.values);
};

export function compile(query: Sql, engine: Engine): Compiled {
  const { strings, pieces } = query;
  const parameters: (Value | AnyOf)[] = [];
  const constants: Piece[] = [];
  let kind: Engine | 'single' = engine === 'sqlite' ? 'single' : engine;
  for (const piece of pieces) {
    if (!isParameter(piece)) constants.push(piece);
    else parameters.push(piece);
    if (kind === 'single' && !isSingle(piece)) kind = engine;
  }
  const before = known[kind].get(strings);
  if (
    before?.constants.length === constants.length &&
    constants.every((piece, index) => piece === before.constants[index])
  ) {
    const to = kind;
    return { text: before.text, values: parameters.map((piece) => toValue(piece, to)) };
  }
  const compiled: Compiled = { text: '', values: [] };
  append(compiled, query, engine);
  if (constants.every((piece) => isConstant(piece, engine)))
    known[kind].set(strings, { text: compiled.text, constants });
  return compiled;
}

function append(to: Compiled, { strings, pieces }: Sql, engine: Engine): void {
  const kind = engine === 'sqlite' && pieces.every(isSingle) ? 'single' : engine;
  to.text += strings[0];
  for (const [index, piece] of pieces.entries()) {
    if (piece instanceof Sql) append(to, piece, engine);
    else if (piece instanceof PerEngine) append(to, piece.texts[engine], engine);
    else if (!(piece instanceof AnyOf)) to.text += parameter(to, piece, kind);
    else if (kind === 'postgres') to.text += `= any(${parameter(to, piece, kind)})`;
    else if (kind === 'single') to.text += `= ${parameter(to, piece, kind)}`;
    else to.text += `in (select value from json_each(${parameter(to, piece, kind)}))`;
    to.text += strings[index + 1];
  }
}

function parameter(to: Compiled, piece: Value | AnyOf, kind: Engine | 'single'): string {
  to.values.push(toValue(piece, kind));
  if (kind === 'postgres') return `$${to.values.length}`;
  // Without `+ 0`, SQLite plans for the value of the limit, and so parses the query again at each call.
  return to.text.endsWith('limit ') ? '? + 0' : '?';
}

/** Returns `otherwise` for invalid JSON, so that one damaged row does not cause an error for a whole list. */
export function parseOr<T>(text: string, otherwise: T): T {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Tells other nodes about a change, for which their requests or workers may wait. */
export type Hint =
  | { kind: 'message'; accountId: string; inboxId: string }
  | { kind: 'inbox'; inboxId: string }
  | { kind: 'deliveries' }
  | { kind: 'all' };

export interface Db {
  readonly engine: Engine;
  all<Row extends object>(query: Sql): Promise<Row[]>;
  first<Row extends object>(query: Sql): Promise<Row | undefined>;
}

export interface Tx extends Db {
  run(query: Sql): Promise<number>;
  /** Declares the last statements of a transaction. On PostgreSQL, COMMIT is sent before their results arrive. */
  finish(statements: Promise<unknown>): Promise<unknown>;
  /** Notifies other nodes after the commit. Has no effect on SQLite, which has no other nodes. */
  hint(hint: Hint): void;
}

/** SQLSTATE of a statement that failed only because an earlier one of its transaction failed. */
const TRANSACTION_FAILED = '25P02';

/** Waits for all pipelined statements. @throws the error that made the others fail */
export async function together<T extends readonly unknown[]>(
  statements: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  const results = await Promise.allSettled(statements);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (reasons.length > 0) throw reasons.find((reason) => codeOf(reason) !== TRANSACTION_FAILED) ?? reasons[0];
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

/** Runs `work`, and may repeat it, for example after a deadlock. On SQLite, a `step` runs after all queued calls. */
export type Transaction = <T>(work: (tx: Tx) => Promise<T>, of?: 'step' | Traits['commit']) => Promise<T>;

export interface Kit {
  db: Db;
  transaction: Transaction;
  close(): Promise<void>;
}

/** `read` (short) runs on the main thread, `search` (long) on another. `steps` uses several transactions. */
type Kind = 'read' | 'search' | 'write' | 'steps';

export const isReading = (kind: Kind): boolean => kind === 'read' || kind === 'search';

export interface Traits {
  /** May use the reserved disk space: frees space, overwrites existing rows or is needed for deletions. */
  mayUseReserve?: true;
  /** Changes no address, domain owner or inbox (except its counters), so the cache of the mail receiver stays valid. */
  keepsInboxes?: true;
  /**
   * `relaxed`: the commit may be lost in a crash of the machine, because the data can be recreated.
   * `pipelined`: PostgreSQL gets BEGIN and the first statements together. They must be harmless if only BEGIN fails.
   */
  commit?: 'relaxed' | 'pipelined';
}

/** A range of `receivedAt` or `accountOrder`, without its ends. Both ends are finite: SQL has no Infinity. */
export interface Range {
  after: number;
  before: number;
  limit: number;
}

/** A page of a list, newest first: the items older than the item with the id `before`, or the newest ones. */
export interface Page {
  limit: number;
  before: string | null;
}

/** Result if mails are not parsed yet: `seq` of their sources, and the range end for the repeated call. */
export interface Unread {
  readonly unread: readonly number[];
  readonly before: number;
}

/** @param rows a page; `size` is null for unparsed mails @param placeOf position of a row in its range */
export function unreadOf<Row extends { source: number; size: number | null }>(
  rows: readonly Row[],
  placeOf: (row: Row) => number = () => 0,
): Unread | undefined {
  const unread = rows.filter(({ size }) => size === null).map(({ source }) => source);
  return unread.length === 0 ? undefined : { unread, before: Math.max(...rows.map(placeOf)) + 1 };
}

const isUnread = (result: unknown): result is Unread =>
  typeof result === 'object' && result !== null && 'unread' in result;

const isRange = (arg: unknown): boolean =>
  typeof arg === 'object' && arg !== null && 'after' in arg && 'limit' in arg;

/** Prevents an endless loop. Two calls are enough unless messages of the page are deleted meanwhile. */
const MAX_ROUNDS = 1_000;

/** Repeats an operation until its mails are parsed. @param read parses mails, and ignores deleted ones */
export async function callRead(
  call: (args: readonly unknown[]) => Promise<unknown>,
  args: readonly unknown[],
  read: (sources: readonly number[]) => Promise<void>,
): Promise<unknown> {
  let result = await call(args);
  for (let round = 0; isUnread(result); round++) {
    if (round >= MAX_ROUNDS) throw new Error(`Sources ${result.unread.join(', ')} cannot be read.`);
    const { unread, before } = result;
    await read(unread);
    result = await call(args.map((arg) => (isRange(arg) ? { ...(arg as Range), before } : arg)));
  }
  return result;
}

type Run<On, Args extends readonly unknown[], Result> = (on: On, ...args: Args) => Promise<Result>;

/** `On`: a {@link Db}, {@link Tx} or {@link Transaction}, depending on `kind`. */
export interface Operation<Args extends readonly unknown[], Result, On = never> {
  readonly kind: Kind;
  readonly traits: Traits;
  readonly run: Run<On, Args, Result>;
}

interface Declare<On> {
  <Args extends readonly unknown[], Result>(run: Run<On, Args, Result>): Operation<Args, Result, On>;
  <Args extends readonly unknown[], Result>(
    traits: Traits,
    run: Run<On, Args, Result>,
  ): Operation<Args, Result, On>;
}

const operation =
  <On>(kind: Kind): Declare<On> =>
  <Args extends readonly unknown[], Result>(
    ...given: [Run<On, Args, Result>] | [Traits, Run<On, Args, Result>]
  ) => {
    const [traits, run] = given.length === 1 ? [{}, given[0]] : given;
    return { kind, traits, run };
  };

export const read = operation<Db>('read');
export const search = operation<Db>('search');
export const write = operation<Tx>('write');
export const steps = operation<Transaction>('steps');

/** Operations without the parameter `on`. As a homomorphic mapped type, it supports go-to-definition. */
export type Calls<Table> = {
  [Noun in keyof Table]: {
    [Name in keyof Table[Noun]]: Table[Noun][Name] extends Operation<infer Args, infer Result>
      ? (...args: Args) => Promise<Exclude<Result, Unread>>
      : never;
  };
};

export function runOn(
  { kind, run, traits }: Operation<never, unknown>,
  args: readonly unknown[],
  { db, transaction }: Kit,
): Promise<unknown> {
  const call = run as (on: unknown, ...args: readonly unknown[]) => Promise<unknown>;
  if (kind === 'write') return transaction((tx) => call(tx, ...args), traits.commit);
  return call(kind === 'steps' ? transaction : db, ...args);
}
