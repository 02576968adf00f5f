import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { VERSIONS_TABLE } from '../database/migrate.ts';
import { connectAlone, requireDurable } from '../database/postgres/connection.ts';
import { upgradeTables } from '../database/postgres/open.ts';
import { lockForServer, openSqlite } from '../database/sqlite/open.ts';
import { messageOf } from '../errors.ts';
import { type OnStep, requireSound } from './backup.ts';

const LOCK_TIMEOUT_MS = 10_000;
/** Rows of one INSERT: PostgreSQL accepts 65,535 parameters, and every table has fewer than 60 columns. */
const BATCH_ROWS = 1_000;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Rows read back at a time from tables with bytea columns, where a row may have a few MB. */
const FETCHED_ROWS_OF_BYTES = 8;
const BYTEA_OID = 17;
const SHA256_VALUES = 1n << 256n;

type Value = null | number | string | Uint8Array;
type Row = readonly Value[];
type Client = Awaited<ReturnType<typeof connectAlone>>;

interface Table {
  name: string;
  columns: string[];
}

interface CopiedTable {
  name: string;
  rows: number;
  hash: string;
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const select = ({ name, columns }: Table): string =>
  `select ${columns.map(quote).join(', ')} from ${quote(name)}`;

/** All tables of Mayfly, each after the tables that it references. */
const tablesOf = (source: DatabaseSync): Table[] =>
  source
    .prepare(
      `select name, (select json_group_array(name order by name) from pragma_table_info(tables.name)) as columns
       from sqlite_schema as tables where type = 'table' and name not like 'sqlite_%' and name <> ? order by rowid`,
    )
    .all(VERSIONS_TABLE)
    .map(({ name, columns }) => ({ name: String(name), columns: JSON.parse(String(columns)) }));

function readRows(source: DatabaseSync, table: Table): Iterable<Row> {
  const statement = source.prepare(select(table));
  statement.setReturnArrays(true);
  return statement.iterate() as unknown as Iterable<Row>;
}

/** Locks the tables, so that a starting server waits. @throws Error if the tables differ or have rows */
async function lockEmpty(client: Client, tables: readonly Table[]): Promise<void> {
  const { rows } = await client.query(
    `select table_name::text as name, array_agg(column_name::text order by column_name::text collate "C") as columns
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> $1
     group by table_name`,
    [VERSIONS_TABLE],
  );
  const columnsOf = (all: readonly Table[]) => new Map(all.map(({ name, columns }) => [name, columns]));
  if (!isDeepStrictEqual(columnsOf(tables), columnsOf(rows)))
    throw new Error(
      'The tables of the two databases differ, so they cannot be copied. Use a schema of PostgreSQL that has only the tables of Mayfly.',
    );
  const names = tables.map(({ name }) => quote(name));
  await client.query(`lock table ${names.join(', ')} in access exclusive mode`);
  for (const name of names) {
    const { rowCount } = await client.query(`select from ${name} limit 1`);
    if (rowCount === 0) continue;
    throw new Error(
      `The PostgreSQL database is not empty: its table ${name} has rows. Give the URL of an empty database, on which no server has been started.`,
    );
  }
}

/** Begins the transaction of the copy. @throws Error if the target cannot be used or is not empty */
async function openTarget(url: string, tables: readonly Table[]): Promise<Client> {
  let client: Client | undefined;
  try {
    client = await connectAlone(url, () => undefined);
    await requireDurable(client);
    await upgradeTables(client);
    await client.query('begin');
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    // While the source is read, this transaction is idle, and the usual time limit would end it.
    await client.query('set local idle_in_transaction_session_timeout = 0');
    await lockEmpty(client, tables);
    return client;
  } catch (error) {
    await client?.end();
    throw new Error(`Nothing was copied. ${messageOf(error)}`, { cause: error });
  }
}

/** Encodes a value for hashing, so that different values never have the same encoding. */
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

  add(row: Row): void {
    const hash = createHash('sha256');
    for (const value of row) for (const piece of encode(value)) hash.update(piece);
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % SHA256_VALUES;
    this.rows += 1;
  }

  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}

const sizeOf = (value: Value): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;

async function insert(client: Client, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  let last = 0;
  const values = rows.map((row) => `(${row.map(() => `$${++last}`).join(', ')})`).join(', ');
  const into = columns.map(quote).join(', ');
  await client.query(`insert into ${quote(name)} (${into}) values ${values}`, rows.flat());
}

async function copyTable(source: DatabaseSync, client: Client, table: Table): Promise<TableDigest> {
  const digest = new TableDigest();
  let batch: Row[] = [];
  let bytes = 0;
  for (const row of readRows(source, table)) {
    digest.add(row);
    batch.push(row);
    for (const value of row) bytes += sizeOf(value);
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
    await insert(client, table, batch);
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) await insert(client, table, batch);
  return digest;
}

async function verifyTable(client: Client, table: Table, expected: TableDigest): Promise<void> {
  const found = new TableDigest();
  await client.query(`declare copied no scroll cursor for ${select(table)}`);
  for (let count = 1, isLast = false; !isLast; ) {
    const { rows, fields } = await client.query<Value[]>({
      text: `fetch ${count} from copied`,
      rowMode: 'array',
    });
    for (const row of rows) found.add(row);
    isLast = rows.length < count;
    count = fields.some(({ dataTypeID }) => dataTypeID === BYTEA_OID) ? FETCHED_ROWS_OF_BYTES : BATCH_ROWS;
  }
  await client.query('close copied');
  if (found.rows === expected.rows && found.hash === expected.hash) return;
  throw new Error(
    `The copy of the table "${table.name}" differs from the original (${found.rows} rows of ${expected.rows}, hash ${found.hash} instead of ${expected.hash}).`,
  );
}

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

/**
 * Copies an embedded database, on which no server may run, to an empty PostgreSQL database. Commits once, after all
 * tables were read back and compared, so a failed or interrupted copy leaves the database empty.
 */
export async function transfer(
  path: string,
  url: string,
  onTable: (table: CopiedTable) => void = () => undefined,
  onStep: OnStep = () => undefined,
): Promise<CopiedTable[]> {
  if (!existsSync(path))
    throw new Error(`There is no database ${path}. Give the data folder of the server with --from.`);
  onStep('Checking the database');
  // Opening the database migrates it, and cancels imports and replays that a stopped server did not finish.
  await (await openSqlite({ path })).close();
  const lock = lockForServer(path);
  const source = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS });
  let client: Client | undefined;
  try {
    // From here on, other commands that write wait for this lock, and fail after their timeout.
    source.exec('begin immediate');
    requireSound(path, 'Restore a backup of it with "mayfly restore" first.');
    const tables = tablesOf(source);
    client = await openTarget(url, tables);
    const copied: CopiedTable[] = [];
    for (const table of tables) {
      onStep(`Copying and comparing the table ${table.name}`);
      const digest = await copyTable(source, client, table);
      await verifyTable(client, table, digest);
      const one = { name: table.name, rows: digest.rows, hash: digest.hash };
      copied.push(one);
      onTable(one);
    }
    await continueRowNumbers(client);
    await client.query(`analyze ${tables.map(({ name }) => quote(name)).join(', ')}`);
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error(`PostgreSQL did not commit the copy (${command}).`);
    return copied;
  } finally {
    await client?.end();
    source.close();
    lock.close();
  }
}
