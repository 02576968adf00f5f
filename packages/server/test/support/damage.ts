import { closeSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const PAGE_BYTES = 4096;

/** Reads from a database file over a read-only connection. */
export function inDatabase<T>(path: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Overwrites the middle one of the leaf pages of a table or index. */
export function damagePage(path: string, table: string): void {
  const pages = inDatabase(path, (database) =>
    database.prepare(`select pageno from dbstat where name = ? and pagetype = 'leaf'`).all(table),
  );
  const page = Number(pages[Math.floor(pages.length / 2)]?.pageno);
  const descriptor = openSync(path, 'r+');
  writeSync(descriptor, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(descriptor);
}

/** @param query selects a row by its key @returns the keys of the rows that SQLite cannot read */
export function unreadable<K extends number | string>(path: string, query: string, keys: readonly K[]): K[] {
  return inDatabase(path, (database) => {
    const row = database.prepare(query);
    return keys.filter((key) => {
      try {
        row.get(key);
        return false;
      } catch {
        return true;
      }
    });
  });
}
