import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, messageOf } from '../../errors.ts';
import { damaged } from '../failures.ts';

const COMPANIONS = ['', '-wal', '-shm', '.lock'];
/** For the owner only: mail may contain secrets, and webhooks store signing secrets. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
/** Systems that cannot sync a folder, such as Windows, sync its entries by themselves. */
const CANNOT_SYNC = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'];
const WAY_OUT =
  'Give the user that runs Mayfly permission to write there, or set MAYFLY_DATA_DIR to another folder.';

export function syncToDisk(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(folder: string): void {
  try {
    syncToDisk(folder);
  } catch (error) {
    if (!CANNOT_SYNC.includes(codeOf(error))) throw error;
  }
}

/** Not `recursive`, which never ends if an existing parent accepts no folders (/proc). */
function makeWithParents(folder: string, sync: (folder: string) => void): void {
  const make = () => mkdirSync(folder, { mode: PRIVATE_FOLDER });
  try {
    make();
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeWithParents(dirname(folder), sync);
    make();
  }
  sync(dirname(folder));
}

/** Creates missing files, and removes the permissions of other users. SQLite gives its log those of the database. */
function makePrivate(path: string): void {
  for (const file of [path, `${path}.lock`]) closeSync(openSync(file, 'a', PRIVATE_FILE));
  for (const file of COMPANIONS.map((suffix) => path + suffix)) {
    if (existsSync(file) && (statSync(file).mode & OTHERS) !== 0) chmodSync(file, PRIVATE_FILE);
  }
}

/** True if a server has used the database before, but its file is empty or missing now. */
export function isEmptied(path: string): boolean {
  return existsSync(`${path}.lock`) && !statSync(path, { throwIfNoEntry: false })?.size;
}

/**
 * Returns a function that throws AppError `storage_damaged` unless the path still leads to the file that is open now.
 * SQLite would continue to write to a deleted file, and the commits would be lost.
 */
export function requireSameFile(path: string): () => void {
  const look = () => statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = look();
  return () => {
    let found: typeof opened;
    try {
      found = look();
    } catch {
      // EACCES of the folder says nothing about the file.
      return;
    }
    if (found && found.ino === opened?.ino && found.dev === opened.dev) return;
    throw damaged(
      'The database file was removed or replaced while the server was running, so nothing can be stored.',
    );
  };
}

/** Creates folder and file durably. @param sync syncs the entries of a folder. @throws Error that says what to do */
export function prepareFolder(path: string, sync = syncFolder): void {
  const folder = dirname(path);
  try {
    makeWithParents(folder, sync);
  } catch (error) {
    throw new Error(
      `The data folder ${folder} cannot be created (${messageOf(error)}). Set MAYFLY_DATA_DIR to another folder.`,
      { cause: error },
    );
  }
  const files = COMPANIONS.map((suffix) => path + suffix).filter((file) => existsSync(file));
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    for (const file of files) accessSync(file, constants.R_OK | constants.W_OK);
    makePrivate(path);
    sync(folder);
    // An earlier start may have created the folder and ended before the sync.
    sync(dirname(folder));
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to (${messageOf(error)}). ${WAY_OUT}`, {
      cause: error,
    });
  }
}
