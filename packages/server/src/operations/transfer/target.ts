import { VERSIONS_TABLE } from '../../database/migrate.ts';
import { connectAlone, requireDurable } from '../../database/postgres/connection.ts';
import { upgradeTables } from '../../database/postgres/upgrade.ts';
import { messageOf } from '../../errors.ts';
import { quote, type SourceTable, type Value } from './source.ts';

/** How long the copy waits for locks on the tables, milliseconds. */
const LOCK_TIMEOUT_MS = 10_000;
/** For tables with bytes, whose rows have up to a few MB each; bounds the memory of the verification. */
const FETCHED_ROWS_OF_BYTES = 8;
const FETCHED_ROWS = 1_000;

/** The empty PostgreSQL database, filled in one transaction. */
export interface Target {
  /** @throws Error if the tables or columns are not those of the source */
  requireSameTables(tables: readonly SourceTable[]): void;
  insert(table: SourceTable, rows: readonly Value[][]): Promise<void>;
  /** Rows written by this transaction, in no particular order. */
  rows(table: SourceTable): AsyncIterable<Value[]>;
  /** Sets identity sequences, analyzes the tables, and commits. */
  commit(): Promise<void>;
  /** Without `commit`, rolls back. */
  close(): Promise<void>;
}

type Client = Parameters<typeof requireDurable>[0];

/** Columns of each table of the schema, by name. */
async function readColumns(client: Client): Promise<Map<string, string[]>> {
  const { rows } = await client.query(
    `select table_name::text as name, array_agg(column_name::text order by column_name::text collate "C") as columns
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> $1
     group by table_name`,
    [VERSIONS_TABLE],
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Locks the tables exclusively; a server that starts meanwhile waits. @throws Error if a table has rows */
async function lockEmpty(client: Client, tables: readonly string[]): Promise<void> {
  await client.query(`lock table ${tables.map(quote).join(', ')} in access exclusive mode`);
  for (const table of tables) {
    const { rows } = await client.query(`select exists (select 1 from ${quote(table)}) as filled`);
    if (!rows[0].filled) continue;
    throw new Error(
      `The PostgreSQL database is not empty: its table "${table}" has rows. Give the URL of an empty database, on which no server has been started.`,
    );
  }
}

function compare(tables: readonly SourceTable[], columns: ReadonlyMap<string, string[]>): void {
  const listed = (all: Iterable<[string, readonly string[]]>) =>
    JSON.stringify([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
  if (listed(tables.map((table) => [table.name, table.columns])) === listed(columns)) return;
  throw new Error(
    'The tables of the two databases differ, so they cannot be copied. Use a schema of PostgreSQL that has only the tables of Mayfly.',
  );
}

/** Sets each identity sequence to follow the largest copied number. */
async function continueRowNumbers(client: Client): Promise<void> {
  const { rows } = await client.query(
    `select table_name::text as name, column_name::text as column from information_schema.columns
     where table_schema = current_schema() and is_identity = 'YES'`,
  );
  for (const { name, column } of rows) {
    const largest = `(select max(${quote(column)}) from ${quote(name)})`;
    await client.query(
      `select setval(pg_get_serial_sequence($1, $2), coalesce(${largest}, 1), ${largest} is not null)`,
      [quote(name), column],
    );
  }
}

/** Reads the rows of a query in parts, with a cursor. */
async function* fetchRows(client: Client, table: SourceTable): AsyncGenerator<Value[]> {
  const columns = table.columns.map(quote).join(', ');
  await client.query(`declare copied no scroll cursor for select ${columns} from ${quote(table.name)}`);
  for (let count = 1; ; ) {
    const { rows, fields } = await client.query({ text: `fetch ${count} from copied`, rowMode: 'array' });
    yield* rows as Value[][];
    if (rows.length < count) break;
    count = fields.some(({ dataTypeID }) => dataTypeID === BYTEA) ? FETCHED_ROWS_OF_BYTES : FETCHED_ROWS;
  }
  await client.query('close copied');
}

/** The type's OID. */
const BYTEA = 17;

/** Migrates the database and begins the transaction. @throws Error with advice if it cannot be used or is not empty */
export async function openTarget(url: string): Promise<Target> {
  // The failing query throws the connection's error.
  const connected = await connectAlone(url, () => undefined).catch(nothingCopied);
  const close = () => connected.end();
  try {
    await requireDurable(connected);
    await upgradeTables(connected);
    await connected.query('begin');
    await connected.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    // Reading the source may take long.
    await connected.query('set local idle_in_transaction_session_timeout = 0');
    const columns = await readColumns(connected);
    await lockEmpty(connected, [...columns.keys()]);
    return {
      requireSameTables: (tables) => compare(tables, columns),
      async insert({ name, columns: into }, rows) {
        let last = 0;
        const values = rows.map((row) => `(${row.map(() => `$${++last}`).join(', ')})`).join(', ');
        const text = `insert into ${quote(name)} (${into.map(quote).join(', ')}) values ${values}`;
        await connected.query(text, rows.flat());
      },
      rows: (table) => fetchRows(connected, table),
      async commit() {
        await continueRowNumbers(connected);
        await connected.query(`analyze ${[...columns.keys()].map(quote).join(', ')}`);
        const { command } = await connected.query('commit');
        if (command !== 'COMMIT') throw new Error(`PostgreSQL did not commit the copy (${command}).`);
      },
      close,
    };
  } catch (error) {
    await close();
    return nothingCopied(error);
  }
}

function nothingCopied(error: unknown): never {
  const reason = messageOf(error);
  throw new Error(`Nothing was copied. ${reason}`, { cause: error });
}
