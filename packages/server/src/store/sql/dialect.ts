import type {
  ColumnDefinitionBuilder,
  CreateTableBuilder,
  Expression,
  Kysely,
  SelectQueryBuilder,
  SqlBool,
  Transaction,
} from 'kysely';
import type { AppError } from '../../errors.ts';
import type { Tables } from './tables.ts';

/** The database, or a transaction in it: what a query runs on. */
export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

type ColumnType = 'text' | 'integer' | 'bigint' | 'blob' | 'bytea' | Expression<unknown>;

/**
 * The seam between the one set of queries and the engines: all that must differ, each with its
 * reason. Connections, pragmas and threads are the engine's own business and not here.
 */
export interface Dialect {
  /** Differs by necessity because SQLite says `blob` and PostgreSQL says `bytea`. */
  blob: ColumnType;
  /**
   * Text compared byte by byte. Differs by necessity because PostgreSQL orders text by the
   * database's locale unless the column says otherwise, and ids must sort by time.
   */
  id: ColumnType;
  /** 64 bits. Differs by necessity because PostgreSQL's `integer` has 32 and a millisecond needs 41. */
  integer: ColumnType;
  /**
   * Makes a column the number that the engine gives to each new row. Differs by necessity because it
   * is SQLite's `integer primary key` (the rowid itself) and PostgreSQL's identity.
   */
  rowNumber(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
  /**
   * Says that a table of small rows is kept in the order of its primary key. Differs by necessity
   * because SQLite would keep such a table twice, as rows and as an index (`without rowid` is its way
   * out), and PostgreSQL knows nothing of the kind.
   */
  keyed<Name extends string, Columns extends string>(
    table: CreateTableBuilder<Name, Columns>,
  ): CreateTableBuilder<Name, Columns>;
  /**
   * Locks the rows that a query reads until the transaction ends. Differs by necessity because on
   * SQLite the only writer is alone anyway and `for update` is an error.
   */
  lockRows<TB extends keyof Tables, Row>(
    query: SelectQueryBuilder<Tables, TB, Row>,
  ): SelectQueryBuilder<Tables, TB, Row>;
  /**
   * Stored UTF-8 as text. Differs by necessity because SQLite takes bytes for text by a cast, which
   * PostgreSQL would write in hex; its way is `convert_from`.
   */
  asText(bytes: Expression<Uint8Array>): Expression<string>;
  /**
   * `LIKE` that ignores the case of ASCII letters at least. Differs by necessity because SQLite's own does
   * and PostgreSQL's does not; its way is `ILIKE`.
   */
  isLike(text: Expression<string>, pattern: string): Expression<SqlBool>;
  /** Differs by necessity because each engine numbers its errors in its own way. */
  isUniqueViolation(error: unknown): boolean;
  /**
   * True if the storage is full or locked: the transaction was rolled back, and the connection is usable. Differs by necessity because each engine numbers its errors in its own way.
   */
  isTransient(error: unknown): boolean;
  /**
   * Translates an engine's error: `unavailable` if the storage is down, full, busy or broken, undefined if
   * the error is not about the storage (a defect). Differs by
   * necessity because each engine numbers its errors in its own way.
   */
  toUnavailable(error: unknown): AppError | undefined;
}
