import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { messageOf } from '../../errors.ts';
import { isBusy } from './errors.ts';

/** Problems listed; a completely damaged table has millions. */
const MAX_LISTED = 100;

interface DamagedTable {
  name: string;
  /** False if only indexes are damaged. */
  losesRows: boolean;
  problems: string[];
}

/** Reads rows up to the first unreadable one, and returns the reason. */
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

function isReadable(database: DatabaseSync, query: string, ...values: SQLInputValue[]): boolean {
  try {
    for (const _ of database.prepare(query).iterate(...values));
    return true;
  } catch {
    return false;
  }
}

/** @param of name of a table; '' for the whole file */
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
    // Rows with damaged overflow pages may be readable, so the reported problems count as well.
    const isInRows = problems.some((problem) => problem.startsWith(`Tree ${rootpage} `));
    return {
      name,
      losesRows: isInRows || !isReadable(database, `select * from "${name}" not indexed`),
      problems,
    };
  });
}

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
        isReadable(database, 'select bytes from source_pieces where source_seq = ?', message.source_seq) &&
        isReadable(database, 'select * from readings where source_seq = ?', message.source_seq);
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

/** Works while a server uses the database. Returns what is damaged, or null. @throws Error if there is no database */
export function check(path: string): string | null {
  if (!existsSync(path)) {
    throw new Error(`There is no database ${path}. Set MAYFLY_DATA_DIR to the data folder of the server.`);
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    const problems = problemsOf(database, '');
    if (problems.length === 0) return null;
    const tables = damagedTables(database);
    const unreadable = tables.some(({ losesRows }) => losesRows) ? findUnreadable(database) : [];
    const named =
      unreadable.length === 0 ? [] : ['Cannot be read:', ...unreadable.map((line) => `  ${line}`)];
    // Without a damaged table, the file itself is damaged, such as its header or its list of free pages.
    return [...(tables.length === 0 ? problems : tables.flatMap(describe)), ...named].join('\n');
  } finally {
    database.close();
  }
}
