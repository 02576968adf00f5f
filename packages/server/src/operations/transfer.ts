import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { migrate, VERSIONS_TABLE } from '../database/migrate.ts';
import { connectAlone, requireDurable } from '../database/postgres/connection.ts';
import { upgradeTables } from '../database/postgres/open.ts';
import { giveUpUnfinished, openWriter, SqliteDb } from '../database/sqlite/connection.ts';
import { lockForServer } from '../database/sqlite/open.ts';
import { messageOf } from '../errors.ts';
import type { OnStep } from './backup.ts';

/** How long the copy waits for an operator command that writes, milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

/** Values that both engines store. */
export type Value = null | number | string | Uint8Array;

interface Table {
  name: string;
  columns: string[];
}

type Database = ReturnType<typeof openWriter>;

const names = (database: Database, text: string, ...values: string[]): string[] =>
  database
    .prepare(text)
    .all(...values)
    .map(({ name }) => String(name));

/** @throws Error if the database is damaged */
function requireSound(database: Database, path: string): void {
  const problem = database.prepare('pragma integrity_check(1)').get()?.integrity_check;
  if (problem === 'ok') return;
  throw new Error(`${path} is damaged (${problem}). Restore a backup of it with "mayfly restore" first.`);
}

/** All tables but those of SQLite and of migrations, as they were created: each after the tables that it references. */
const tablesOf = (database: Database): Table[] =>
  names(
    database,
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> ? order by rowid",
    VERSIONS_TABLE,
  ).map((name) => ({
    name,
    columns: names(database, 'select name from pragma_table_info(?) order by name', name),
  }));

/** Checks and migrates the database, and locks it for writing until `close`. @throws Error if it cannot be used */
async function openSource(path: string) {
  if (!existsSync(path)) {
    throw new Error(`There is no database ${path}. Give the data folder of the server with --from.`);
  }
  const lock = lockForServer(path);
  let database: Database | undefined;
  const close = (): void => {
    if (database?.isOpen) database.close();
    lock.close();
  };
  try {
    const opened = openWriter({ path, busyTimeoutMs: BUSY_TIMEOUT_MS });
    database = opened;
    opened.exec('begin immediate');
    await migrate(new SqliteDb(opened), 'sqlite');
    opened.exec('commit');
    giveUpUnfinished(opened);
    // From here on, operator commands that write wait for the lock, and then fail.
    opened.exec('begin immediate');
    requireSound(opened, path);
    return {
      tables: tablesOf(opened),
      count: ({ name }: Table) =>
        Number(opened.prepare(`select count(*) as count from ${quote(name)}`).get()?.count),
      rows({ name, columns }: Table): Iterable<Value[]> {
        const statement = opened.prepare(`select ${columns.map(quote).join(', ')} from ${quote(name)}`);
        statement.setReturnArrays(true);
        return statement.iterate() as unknown as Iterable<Value[]>;
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Quotes an identifier for both engines. */
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** How long the copy waits for locks on the tables, milliseconds. */
const LOCK_TIMEOUT_MS = 10_000;
/** Rows fetched at a time from tables with bytes, whose rows have up to a few MB each; bounds the memory of the verification. */
const FETCHED_ROWS_OF_BYTES = 8;

type Source = Awaited<ReturnType<typeof openSource>>;
type Target = Awaited<ReturnType<typeof openTarget>>;
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

function compare(tables: readonly Table[], columns: ReadonlyMap<string, string[]>): void {
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
async function* fetchRows(client: Client, table: Table): AsyncGenerator<Value[]> {
  const columns = table.columns.map(quote).join(', ');
  await client.query(`declare copied no scroll cursor for select ${columns} from ${quote(table.name)}`);
  for (let count = 1; ; ) {
    const { rows, fields } = await client.query({ text: `fetch ${count} from copied`, rowMode: 'array' });
    yield* rows as Value[][];
    if (rows.length < count) break;
    count = fields.some(({ dataTypeID }) => dataTypeID === BYTEA) ? FETCHED_ROWS_OF_BYTES : 1_000;
  }
  await client.query('close copied');
}

/** The OID of the type bytea. */
const BYTEA = 17;

/** Migrates the database and begins the transaction. @throws Error with advice if it cannot be used or is not empty */
async function openTarget(url: string) {
  // Connection errors need no handler here, because the query that fails throws them.
  const connected = await connectAlone(url, () => undefined).catch(nothingCopied);
  const close = () => connected.end();
  try {
    await requireDurable(connected);
    await upgradeTables(connected);
    await connected.query('begin');
    await connected.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    // Reading the source may take long, so the transaction may be idle.
    await connected.query('set local idle_in_transaction_session_timeout = 0');
    const columns = await readColumns(connected);
    await lockEmpty(connected, [...columns.keys()]);
    return {
      requireSameTables: (tables: readonly Table[]) => compare(tables, columns),
      async insert({ name, columns: into }: Table, rows: readonly Value[][]): Promise<void> {
        let last = 0;
        const values = rows.map((row) => `(${row.map(() => `$${++last}`).join(', ')})`).join(', ');
        const text = `insert into ${quote(name)} (${into.map(quote).join(', ')}) values ${values}`;
        await connected.query(text, rows.flat());
      },
      /** Rows written by this transaction, in no particular order. */
      rows: (table: Table) => fetchRows(connected, table),
      /** Sets identity sequences, analyzes the tables, and commits. */
      async commit(): Promise<void> {
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

/** The size of a SHA-256 hash. */
const MODULUS = 1n << 256n;

/** Encodes a value for hashing, unambiguously: type, length, content. */
function encode(value: Value): (string | Uint8Array)[] {
  if (value === null) return ['n'];
  if (typeof value === 'number') return [`i${value};`];
  if (typeof value === 'string') return [`t${Buffer.byteLength(value)};`, value];
  return [`b${value.byteLength};`, value];
}

/** Row count, and the sum of the rows' SHA-256 hashes, which does not depend on their order. */
class TableDigest {
  rows = 0;
  #sum = 0n;
  readonly #onRows: (rows: number) => void;

  /** @param onRows called before the first row, and before each hundredth */
  constructor(onRows: (rows: number) => void) {
    this.#onRows = onRows;
  }

  /** @param row the values of a row, in an order of columns that source and copy share */
  add(row: readonly Value[]): void {
    if (this.rows % 100 === 0) this.#onRows(this.rows);
    const hash = createHash('sha256');
    for (const value of row) for (const piece of encode(value)) hash.update(piece);
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % MODULUS;
    this.rows += 1;
  }

  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

/** Rows of one INSERT: PostgreSQL takes 65,535 parameters, and no table has 60 columns. */
const BATCH_ROWS = 1_000;
/** Bytes of one INSERT; bounds the memory. */
const BATCH_BYTES = 4 * 1024 * 1024;

interface CopiedTable {
  name: string;
  rows: number;
  hash: string;
}

const sizeOf = (value: Value): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;

/** @param digest receives each row that is read */
async function copyTable(source: Source, target: Target, table: Table, digest: TableDigest): Promise<void> {
  let batch: Value[][] = [];
  let bytes = 0;
  for (const row of source.rows(table)) {
    digest.add(row);
    batch.push(row);
    for (const value of row) bytes += sizeOf(value);
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    await target.insert(table, batch);
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) await target.insert(table, batch);
}

/** Reads a copied table back. @throws Error if it differs from the source */
async function verifyTable(
  target: Target,
  table: Table,
  expected: TableDigest,
  found: TableDigest,
): Promise<void> {
  for await (const row of target.rows(table)) found.add(row);
  if (found.rows === expected.rows && found.hash === expected.hash) return;
  throw new Error(
    `The copy of the table "${table.name}" differs from the original (${found.rows} rows of ${expected.rows}, hash ${found.hash} instead of ${expected.hash}).`,
  );
}

async function copyAll(
  source: Source,
  target: Target,
  onStep: OnStep,
  onTable: (table: CopiedTable) => void,
): Promise<CopiedTable[]> {
  target.requireSameTables(source.tables);
  const copied: CopiedTable[] = [];
  for (const table of source.tables) {
    const total = source.count(table);
    const digestOf = (what: string) =>
      new TableDigest((rows) => onStep(`${what} the table ${table.name}: ${rows} of ${total} rows`));
    const digest = digestOf('Copying');
    await copyTable(source, target, table, digest);
    await verifyTable(target, table, digest, digestOf('Comparing'));
    const one = { name: table.name, rows: digest.rows, hash: digest.hash };
    copied.push(one);
    onTable(one);
  }
  await target.commit();
  return copied;
}

/**
 * Copies an embedded database, on which no server may run, to an empty PostgreSQL database. Commits once, after all
 * tables were read back and compared, so a copy that fails or is interrupted leaves the database empty.
 * @param path the database file
 * @throws Error with advice
 */
export async function transfer(
  path: string,
  url: string,
  onTable: (table: CopiedTable) => void = () => undefined,
  onStep: OnStep = () => undefined,
): Promise<CopiedTable[]> {
  onStep('Checking the database');
  const source = await openSource(path);
  try {
    const target = await openTarget(url);
    try {
      return await copyAll(source, target, onStep, onTable);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}
