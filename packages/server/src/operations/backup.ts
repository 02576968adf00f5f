import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PRIVATE_FILE, PRIVATE_FOLDER, syncToDisk } from '../database/sqlite/connection.ts';
import { lockForServer, openSqlite } from '../database/sqlite/open.ts';
import { codeOf, messageOf } from '../errors.ts';

export type OnStep = (text: string) => void;

const BUSY_TIMEOUT_MS = 10_000;
const COMPANIONS = ['-wal', '-shm'];

const MADE_BY_BACKUP = 'Give a file made by "mayfly backup".';

/** @param advice the end of the error message @throws Error if the file is damaged, or not a database of Mayfly */
export function requireSound(path: string, advice: string): void {
  let problem: unknown;
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      problem = database.prepare('pragma integrity_check(1)').get()?.integrity_check;
      database.prepare('select count(*) from inboxes').get();
    } finally {
      database.close();
    }
  } catch (cause) {
    throw new Error(`${path} is not a database of Mayfly (${messageOf(cause)}). ${advice}`, { cause });
  }
  if (problem !== 'ok') throw new Error(`${path} is damaged (${problem}). ${advice}`);
}

const mebibytes = (path: string): string => `${(statSync(path).size / (1024 * 1024)).toFixed(1)} MiB`;

/** Copies a database, even during writes. `target` appears only when it is complete and durable. @returns its size */
export function backUp(path: string, target: string, onStep: OnStep = () => undefined): string {
  if (!existsSync(path))
    throw new Error(`There is no database ${path}. Set MAYFLY_DATA_DIR to the data folder of the server.`);
  if (existsSync(target)) throw new Error(`${target} exists already. Give the name of a new file.`);
  const partial = `${target}.partial`;
  onStep(`Copying the database, ${mebibytes(path)}, to ${partial}`);
  writeFileSync(partial, '', { mode: PRIVATE_FILE });
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      // Not SQLite's backup API: it restarts at every write of another process, so it may never end.
      database.prepare('vacuum into ?').run(partial);
    } finally {
      database.close();
    }
    onStep('Checking the copy');
    requireSound(partial, MADE_BY_BACKUP);
    syncToDisk(partial);
    renameSync(partial, target);
    syncToDisk(dirname(target));
    return mebibytes(target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Checks and migrates a copy of a backup, and then puts the copy in place of the database. The old database
 * is kept as `path + suffix`.
 * @returns the new path of the old database; null if there was none
 */
export async function restore(
  path: string,
  backup: string,
  suffix: string,
  onStep: OnStep = () => undefined,
): Promise<string | null> {
  if (!existsSync(backup)) throw new Error(`${backup} does not exist. ${MADE_BY_BACKUP}`);
  onStep('Checking the backup');
  requireSound(backup, MADE_BY_BACKUP);
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER });
  const lock = lockForServer(path);
  const copy = `${path}.restoring`;
  try {
    for (const end of ['', ...COMPANIONS, '.lock']) rmSync(copy + end, { force: true });
    onStep(`Copying the backup, ${mebibytes(backup)}`);
    copyFileSync(backup, copy, constants.COPYFILE_FICLONE);
    chmodSync(copy, PRIVATE_FILE);
    giveToOwner(dirname(path), [copy, `${path}.lock`]);
    onStep('Preparing the database');
    await (await openSqlite({ path: copy })).close();
    syncToDisk(copy);
    const replaced = existsSync(path) ? keepAs(path, path + suffix) : null;
    renameSync(copy, path);
    syncToDisk(dirname(path));
    return replaced;
  } finally {
    for (const end of ['', ...COMPANIONS, '.lock', '.lock-journal']) rmSync(copy + end, { force: true });
    lock.close();
  }
}

/** The owner of the folder must own the new files, even if root restores the backup. Only root can change owners. */
function giveToOwner(folder: string, files: readonly string[]): void {
  const { uid, gid } = statSync(folder);
  for (const file of files) {
    if (statSync(file).uid === uid) continue;
    try {
      chownSync(file, uid, gid);
    } catch (error) {
      if (codeOf(error) !== 'EPERM') throw error;
    }
  }
}

/** Keeps the database and its log as `name`. SQLite would apply a log of the old name to the new file. */
function keepAs(path: string, name: string): string {
  try {
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
  } catch {
    // A damaged database cannot be checkpointed, so its log is kept.
  }
  linkSync(path, name);
  for (const end of COMPANIONS) if (existsSync(path + end)) renameSync(path + end, name + end);
  return name;
}
