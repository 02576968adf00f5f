import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What stands beside a database file and is written with it. */
const COMPANIONS = ['', '-wal', '-shm', '.lock'];
const WAY_OUT =
  'give the user that runs Mayfly the right to write there, or set MAYFLY_DATA_DIR to another folder';

/** The code of a system call's error. */
const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Step by step, because Node's own recursion never ends where a parent is there and takes nothing (/proc). */
function makeWithParents(folder: string): void {
  const make = () => mkdirSync(folder, { mode: 0o700 });
  try {
    make();
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
    makeWithParents(dirname(folder));
    make();
  }
}

/**
 * Makes the folder of a database where there is none; nobody else on the machine may read it, since mail
 * may hold secrets.
 * @throws Error, with what to do about it, when it cannot be made, or not be written to
 */
export function prepareFolder(path: string): void {
  const folder = dirname(path);
  try {
    makeWithParents(folder);
  } catch (error) {
    throw new Error(
      `the data directory ${folder} cannot be made (${messageOf(error)}): set MAYFLY_DATA_DIR to another folder`,
      { cause: error },
    );
  }
  const files = COMPANIONS.map((suffix) => path + suffix).filter((file) => existsSync(file));
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    for (const file of files) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new Error(`the data directory ${folder} cannot be written to (${messageOf(error)}): ${WAY_OUT}`, {
      cause: error,
    });
  }
}
