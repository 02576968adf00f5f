import { existsSync } from 'node:fs';
import { migrate, VERSIONS_TABLE } from '../../database/migrate.ts';
import { giveUpUnfinished, openWriter } from '../../database/sqlite/connection.ts';
import { lockForServer } from '../../database/sqlite/open.ts';
import { SqliteDb } from '../../database/sqlite/sqlite-db.ts';

/** How long the copy waits for an operator command that writes, milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

/** Values that both engines store. */
export type Value = null | number | string | Uint8Array;

export interface SourceTable {
  name: string;
  columns: string[];
}

/** An embedded database with a write lock. */
export interface Source {
  /** All tables but those of SQLite and of migrations, each after the tables that it references. */
  tables: SourceTable[];
  rows(table: SourceTable): Iterable<Value[]>;
  close(): void;
}

type Database = ReturnType<typeof openWriter>;

const names = (database: Database, text: string, ...values: string[]): string[] =>
  database
    .prepare(text)
    .all(...values)
    .map(({ name }) => String(name));

function inOrderOfReference(database: Database, tables: readonly string[]): string[] {
  const ordered: string[] = [];
  const add = (table: string): void => {
    if (ordered.includes(table)) return;
    const parents = names(database, 'select "table" as name from pragma_foreign_key_list(?)', table);
    for (const parent of parents) if (parent !== table) add(parent);
    ordered.push(table);
  };
  for (const table of tables) add(table);
  return ordered;
}

/** @throws Error if the database is damaged */
function requireSound(database: Database, path: string): void {
  const problem = database.prepare('pragma integrity_check(1)').get()?.integrity_check;
  if (problem === 'ok') return;
  throw new Error(`${path} is damaged (${problem}). Restore a backup of it with "mayfly restore" first.`);
}

function readTables(database: Database): SourceTable[] {
  const found = names(
    database,
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
  );
  const copied = found.filter((name) => name !== VERSIONS_TABLE);
  return inOrderOfReference(database, copied).map((name) => ({
    name,
    columns: names(database, 'select name from pragma_table_info(?) order by name', name),
  }));
}

/** Checks and migrates the database, and locks it for writing until `close`. @throws Error if it cannot be used */
export async function openSource(path: string): Promise<Source> {
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
    // Operator commands that write now wait, and then fail.
    opened.exec('begin immediate');
    requireSound(opened, path);
    return {
      tables: readTables(opened),
      rows({ name, columns }) {
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
export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
