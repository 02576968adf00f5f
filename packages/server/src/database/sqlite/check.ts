import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { messageOf } from '../../errors.ts';
import { isBusy } from './errors.ts';

/** Maximum number of listed problems. A completely damaged table has millions. */
const MAX_LISTED = 100;

function read<Row>(database: DatabaseSync, query: string, ...values: SQLInputValue[]) {
  const rows: Row[] = [];
  try {
    for (const row of database.prepare(query).iterate(...values)) rows.push(row as Row);
    return { rows, failure: null };
  } catch (error) {
    if (isBusy(error)) throw error;
    return { rows, failure: messageOf(error) };
  }
}

function problemsOf(database: DatabaseSync, of = ''): string[] {
  const pragma = `pragma integrity_check(${of === '' ? MAX_LISTED : `"${of}"`})`;
  const { rows, failure } = read<{ integrity_check: string }>(database, pragma);
  const lines = rows.flatMap((row) => row.integrity_check.split('\n'));
  return [...lines, ...(failure === null ? [] : [failure])]
    .filter((line) => line !== 'ok' && !line.startsWith('***'))
    .slice(0, MAX_LISTED);
}

function describeTables(database: DatabaseSync): { lines: string[]; losesRows: boolean } {
  const query = `select name, rootpage from sqlite_schema where type = 'table'`;
  const found = { lines: [] as string[], losesRows: false };
  for (const { name, rootpage } of read<{ name: string; rootpage: number }>(database, query).rows) {
    const problems = problemsOf(database, name);
    if (problems.length === 0) continue;
    // SQLite may read a row whose overflow pages are damaged, so problems of the table's own tree count too.
    const isInRows = problems.some((problem) => problem.startsWith(`Tree ${rootpage} `));
    const losesRows = isInRows || read(database, `select * from "${name}" not indexed`).failure !== null;
    const extent = losesRows ? 'rows are damaged.' : 'only indexes are damaged; no row is lost.';
    found.lines.push(`Table ${name}: ${extent}`, ...problems.map((problem) => `  ${problem}`));
    found.losesRows ||= losesRows;
  }
  return found;
}

function findUnreadable(database: DatabaseSync): string[] {
  const lines: string[] = [];
  const inboxes = read<{ seq: number; id: string; address: string }>(
    database,
    'select seq, id, address from inboxes not indexed',
  );
  const ofSource = ['sources where seq', 'source_pieces where source_seq', 'readings where source_seq'];
  for (const { seq, id, address } of inboxes.rows) {
    const inbox = `inbox ${id} (${address})`;
    const query = 'select id, source_seq from messages where inbox_seq = ?';
    const messages = read<{ id: string; source_seq: number }>(database, query, seq);
    if (messages.failure !== null) lines.push(`${inbox}: its list of messages`);
    for (const { id: message, source_seq } of messages.rows) {
      const isLost = ofSource.some(
        (rows) => read(database, `select * from ${rows} = ?`, source_seq).failure !== null,
      );
      if (isLost) lines.push(`${inbox}: message ${message}`);
      if (lines.length >= MAX_LISTED) return [...lines, 'and more'];
    }
  }
  return inboxes.failure === null ? lines : [...lines, 'other inboxes, whose rows cannot be read'];
}

/** Checks a database, even while a server uses it. @returns what is damaged, or null @throws Error for a missing file */
export function check(path: string): string | null {
  if (!existsSync(path)) {
    throw new Error(`There is no database ${path}. Set MAYFLY_DATA_DIR to the data folder of the server.`);
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
  try {
    const problems = problemsOf(database);
    if (problems.length === 0) return null;
    const { lines, losesRows } = describeTables(database);
    const unreadable = losesRows ? findUnreadable(database).map((line) => `  ${line}`) : [];
    const named = unreadable.length === 0 ? [] : ['Cannot be read:', ...unreadable];
    // If no table is damaged, the file itself is, for example its header or its list of free pages.
    return [...(lines.length === 0 ? problems : lines), ...named].join('\n');
  } finally {
    database.close();
  }
}
