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

/** Suffixes of the files that belong to a database. */
const COMPANIONS = ['', '-wal', '-shm', '.lock'];
/** Readable and writable by the owner only: mail may contain secrets, and webhooks have them. */
export const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
/** The permissions of all users but the owner. */
const OTHERS = 0o077;
/** Errors of systems that cannot sync a folder, such as Windows; they sync its entries by themselves. */
const CANNOT_SYNC = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP'];
const WAY_OUT =
  'Give the user that runs Mayfly permission to write there, or set MAYFLY_DATA_DIR to another folder.';

/** Waits until a file, or the entries of a folder, are on stable storage. */
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

/** Level by level: Node's own recursion never ends where a parent exists and accepts no folders (/proc). */
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

/**
 * Creates the database file if it is missing, and takes every permission on the files of a database from
 * all users but their owner. SQLite gives its log the permissions of the database.
 */
function makePrivate(path: string): void {
  for (const file of [path, `${path}.lock`]) closeSync(openSync(file, 'a', PRIVATE_FILE));
  for (const file of COMPANIONS.map((suffix) => path + suffix)) {
    if (existsSync(file) && (statSync(file).mode & OTHERS) !== 0) chmodSync(file, PRIVATE_FILE);
  }
}

/** True where a server has run on a database whose file is empty or missing now; SQLite makes a new one of it. */
export function isEmptied(path: string): boolean {
  return existsSync(`${path}.lock`) && !statSync(path, { throwIfNoEntry: false })?.size;
}

/**
 * SQLite goes on writing to a file that was deleted, and commits into it end with the process.
 * @param path of a file that is open
 * @returns a function that throws AppError `storage_damaged` unless the path still leads to that file
 */
export function requireSameFile(path: string): () => void {
  const look = () => statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = look();
  return () => {
    let found: typeof opened;
    try {
      found = look();
    } catch {
      // The folder cannot be read any more (EACCES), which says nothing about the file.
      return;
    }
    if (found && found.ino === opened?.ino && found.dev === opened.dev) return;
    throw damaged(
      'The database file was removed or replaced while the server was running, so nothing can be stored.',
    );
  };
}

/**
 * Creates the folder of a database and the database file if they are missing, on stable storage, so that a
 * power cut cannot take them away with acknowledged mail in them. Only their owner can read them.
 * @param sync waits until the entries of a folder are on stable storage; tests replace it
 * @throws Error, with what to do, when they cannot be created or written to
 */
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
    // The folder may have been created by a start that ended before it was synced.
    sync(dirname(folder));
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to (${messageOf(error)}). ${WAY_OUT}`, {
      cause: error,
    });
  }
}
