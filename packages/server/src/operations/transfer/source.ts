import { existsSync } from 'node:fs';
import { migrate, VERSIONS_TABLE } from '../../database/migrate.ts';
import { SqliteDb } from '../../database/sqlite-db.ts';
import { giveUpUnfinished, openWriter } from '../../store/sqlite/connection.ts';
import { lockForServer } from '../../store/sqlite/open.ts';

/** How long the copy waits for a command of the operator that writes, milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

/** What both engines store in a column. */
export type Value = null | number | string | Uint8Array;

/** A table of the embedded database. */
export interface SourceTable {
  name: string;
  columns: string[];
}

/** An embedded database that nothing else can write to. */
export interface Source {
  /** All tables but those of SQLite and of the migrations, each after the tables that it refers to. */
  tables: SourceTable[];
  /** The rows of a table, read one at a time. */
  rows(table: SourceTable): Iterable<Value[]>;
  close(): void;
}

type Database = ReturnType<typeof openWriter>;

const names = (database: Database, text: string, ...values: string[]): string[] =>
  database
    .prepare(text)
    .all(...values)
    .map(({ name }) => String(name));

/** Orders tables so that each comes after those that its foreign keys name. */
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

/**
 * Opens an embedded database for a copy of it: checks it, brings its tables up to date, and keeps servers and
 * commands from writing to it until it is closed.
 * @throws Error if there is none, a server uses it, or it is damaged
 */
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
    // Commands of the operator may open the database beside a server; they wait now, and then fail.
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

/** Quotes the name of a table or column, for both engines. */
export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
