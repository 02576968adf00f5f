import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { messageOf } from '../../errors.ts';
import { isBusy } from './errors.ts';

/** How long a check waits for another process's lock on the database, milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;
/** Problems of a table, and inboxes and messages, that are named: a whole damaged table has millions. */
const MAX_LISTED = 100;

/** A table with damaged pages. */
interface DamagedTable {
  name: string;
  /** False where only its indexes are damaged. */
  losesRows: boolean;
  /** In the words of SQLite. */
  problems: string[];
}

/** The rows of a query up to the first that cannot be read, and why that cannot. */
function read<Row>(
  database: DatabaseSync,
  query: string,
  ...values: SQLInputValue[]
): { rows: Row[]; failure: string | null } {
  const rows: Row[] = [];
  try {
    for (const row of database.prepare(query).iterate(...values)) rows.push(row as Row);
    return { rows, failure: null };
  } catch (error) {
    if (isBusy(error)) throw error;
    return { rows, failure: messageOf(error) };
  }
}

/** Whether all rows of a query can be read, of which none is kept. */
function isReadable(database: DatabaseSync, query: string, ...values: SQLInputValue[]): boolean {
  try {
    for (const _ of database.prepare(query).iterate(...values));
    return true;
  } catch {
    return false;
  }
}

/** @param of a table, for the file as a whole the empty string */
function problemsOf(database: DatabaseSync, of: string): string[] {
  const pragma = `pragma integrity_check(${of === '' ? MAX_LISTED : `"${of}"`})`;
  const { rows, failure } = read<{ integrity_check: string }>(database, pragma);
  const lines = rows.flatMap((row) => row.integrity_check.split('\n'));
  return [...lines, ...(failure === null ? [] : [failure])].filter(
    (line) => line !== 'ok' && !line.startsWith('***'),
  );
}

function damagedTables(database: DatabaseSync): DamagedTable[] {
  const tables = read<{ name: string; rootpage: number }>(
    database,
    `select name, rootpage from sqlite_schema where type = 'table'`,
  );
  return tables.rows.flatMap(({ name, rootpage }) => {
    const problems = problemsOf(database, name).slice(0, MAX_LISTED);
    if (problems.length === 0) return [];
    // Where only the bytes of a long value are damaged, its row can be read all the same.
    const isInRows = problems.some((problem) => problem.startsWith(`Tree ${rootpage} `));
    return {
      name,
      losesRows: isInRows || !isReadable(database, `select * from "${name}" not indexed`),
      problems,
    };
  });
}

/** Reads every message of every inbox. */
function findUnreadable(database: DatabaseSync): string[] {
  const lines: string[] = [];
  const inboxes = read<{ seq: number; id: string; address: string }>(
    database,
    'select seq, id, address from inboxes not indexed',
  );
  for (const { seq, id, address } of inboxes.rows) {
    const inbox = `inbox ${id} (${address})`;
    const messages = read<{ id: string; source_seq: number }>(
      database,
      'select id, source_seq from messages where inbox_seq = ?',
      seq,
    );
    if (messages.failure !== null) lines.push(`${inbox}: its list of messages`);
    for (const message of messages.rows) {
      const isWhole =
        isReadable(database, 'select * from sources where seq = ?', message.source_seq) &&
        isReadable(database, 'select bytes from source_pieces where source_seq = ?', message.source_seq);
      if (!isWhole) lines.push(`${inbox}: message ${message.id}`);
      if (lines.length >= MAX_LISTED) return [...lines, 'and more'];
    }
  }
  return inboxes.failure === null ? lines : [...lines, 'other inboxes, whose rows cannot be read'];
}

function describe({ name, losesRows, problems }: DamagedTable): string[] {
  const extent = losesRows ? 'rows are damaged.' : 'only indexes are damaged; no row is lost.';
  return [`Table ${name}: ${extent}`, ...problems.map((problem) => `  ${problem}`)];
}

/**
 * Checks a database, also while a server uses it. A sound one is read once, a damaged one three times.
 * @returns what is damaged, for the operator; null for a sound database
 * @throws Error if there is none
 */
export function check(path: string): string | null {
  if (!existsSync(path)) {
    throw new Error(`There is no database ${path}. Set MAYFLY_DATA_DIR to the data folder of the server.`);
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const problems = problemsOf(database, '');
    if (problems.length === 0) return null;
    const tables = damagedTables(database);
    const unreadable = tables.some(({ losesRows }) => losesRows) ? findUnreadable(database) : [];
    const named =
      unreadable.length === 0 ? [] : ['Cannot be read:', ...unreadable.map((line) => `  ${line}`)];
    // Problems of no table are those of the file, such as its header or its list of free pages.
    return [...(tables.length === 0 ? problems : tables.flatMap(describe)), ...named].join('\n');
  } finally {
    database.close();
  }
}
