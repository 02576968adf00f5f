import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Debian keeps smtp-source and nginx in the last two, which are not in every user's PATH. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** @returns the full path of a program, or undefined where it is not installed */
export function findProgram(name: string): string | undefined {
  const paths = isAbsolute(name) ? [name] : FOLDERS.map((folder) => join(folder, name));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * @param names programs to try, best first
 * @param probe arguments with which a program exits with 0 when the library is installed for it
 * @returns the full path of the first program that has the library, or undefined
 */
export async function findProgramWith(names: string[], probe: string[]): Promise<string | undefined> {
  for (const name of names) {
    const program = findProgram(name);
    if (!program) continue;
    try {
      await run(program, probe);
      return program;
    } catch {
      // This one does not have the library; another may.
    }
  }
  return undefined;
}

/** Says on standard error what a test run leaves out, and the Debian packages that bring it. */
export function reportAbsent(what: string, debianPackages: string): void {
  process.stderr.write(`Skipped: ${what} is not installed (Debian: apt-get install ${debianPackages}).\n`);
}
