import type { Expression, Kysely, SelectQueryBuilder, SqlBool, Transaction } from 'kysely';
import type { Kit } from '../../database/operations.ts';
import type { AppError } from '../../errors.ts';
import type { DeliveryStore } from '../contract/index.ts';
import type { Tables } from './tables/index.ts';

/** The database for reads outside a transaction, or a transaction. */
export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

/**
 * The calls that decide how much a server can do. Each engine implements them in its own best way; all
 * other methods of the store are written once, on Kysely.
 */
export interface HotCalls {
  claim: DeliveryStore['claim'];
  record: DeliveryStore['record'];
}

/** What the queries need of an engine. */
export interface Engine {
  /** For reads. Writes outside a {@link transaction} are defects. */
  db: Db;
  dialect: Dialect;
  /** Connection and transactions for operations that are written as SQL. */
  kit: Kit;
  /**
   * Runs `work` in a transaction and resolves with its result once the transaction is on stable storage. An
   * engine may run `work` more than once, so it must change nothing but the database.
   * @param of `step` for a part of something long, which calls of one transaction do not wait for twice
   * @throws what `work` throws, after everything it changed was rolled back; AppError `unavailable` or
   *   `outcome_unknown` if the storage failed
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, of?: 'step'): Promise<T>;
}

/** What `withoutInvisible` of mail/mime/clean.ts removes, as a set of both engines' patterns. */
export const INVISIBLE_SET =
  '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]';

/** The differences between the engines' SQL, each with its reason. */
export interface Dialect {
  /**
   * Locks the rows that a query reads until the transaction ends. SQLite has one writer at a time, and `for
   * update` is an error there. On PostgreSQL it is `for no key update`, which does not hold up transactions
   * that insert rows with a foreign key to these.
   */
  lockRows<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /** Keeps the rows that a query reads from being removed until the transaction ends, so that rows can refer to them. */
  keepRows<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /** As {@link lockRows}, but leaves out rows that another transaction has locked instead of waiting. */
  lockFreeRows<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /**
   * As {@link lockRows}, but also waits for transactions that insert rows with a foreign key to these, and holds
   * up later ones: nothing refers to the rows any more when they are deleted.
   */
  lockToRemove<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /** As {@link lockToRemove}, but leaves out rows for which it would have to wait. */
  lockFreeToRemove<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /** Stored UTF-8 as text. SQLite casts; PostgreSQL would cast to hex and needs `convert_from`. */
  asText(bytes: Expression<Uint8Array>): Expression<string>;
  /** `LIKE` that ignores at least the case of ASCII letters: SQLite's own does, PostgreSQL needs `ILIKE`. */
  isLike(text: Expression<string>, pattern: string): Expression<SqlBool>;
  /**
   * Whether a stored UTF-8 text contains a character of {@link INVISIBLE_SET}, in one pass: SQLite has sets in `GLOB`,
   * PostgreSQL in regular expressions. Texts of ASCII alone are told by their length.
   */
  hasInvisible(bytes: Expression<Uint8Array>): Expression<SqlBool>;
  /**
   * The time by which nodes agree, epoch milliseconds: that of the database, which several machines with
   * clocks of their own may use; SQLite has none, and it is `now`.
   */
  time<Now extends number | null>(now: Now): Expression<number | Now>;
  /**
   * Translates an engine's error: `unavailable` if the storage is down, full, busy or broken, undefined if
   * the error is not about the storage (a defect).
   */
  toUnavailable(error: unknown): AppError | undefined;
  /**
   * True if a failed transaction may succeed without a part of it, such as one message that is too large for
   * the free space; false if the storage would fail for each part as well.
   */
  mayDependOnContent(error: unknown): boolean;
}
