import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Suffixes of the files that belong to a database. */
const COMPANIONS = ['', '-wal', '-shm', '.lock'];
const WAY_OUT =
  'Give the user that runs Mayfly permission to write there, or set MAYFLY_DATA_DIR to another folder.';

/** The code of a system call's error. */
const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Level by level: Node's own recursion never ends where a parent exists and accepts no folders (/proc). */
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
 * Creates the folder of a database if it is missing. Only its owner can read it, because mail may contain
 * secrets.
 * @throws Error, with what to do, when it cannot be created or written to
 */
export function prepareFolder(path: string): void {
  const folder = dirname(path);
  try {
    makeWithParents(folder);
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
  } catch (error) {
    throw new Error(`The data folder ${folder} cannot be written to (${messageOf(error)}). ${WAY_OUT}`, {
      cause: error,
    });
  }
}
