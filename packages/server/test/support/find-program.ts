import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Includes the folders of smtp-source and nginx on Debian, which are not in the PATH of every user. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** @returns the path of a program, or undefined if it is not installed */
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
 * @param names programs in order of preference
 * @param probe arguments with which a program exits with 0 if it has the required library
 * @returns the path of the first program that has the library, or undefined
 */
export async function findProgramWith(names: string[], probe: string[]): Promise<string | undefined> {
  for (const name of names) {
    const program = findProgram(name);
    if (!program) continue;
    try {
      await run(program, probe);
      return program;
    } catch {
      // This program does not have the library; the next one may.
    }
  }
  return undefined;
}

/** Prints what is not installed, and the Debian packages that contain it. */
export function reportAbsent(what: string, debianPackages: string): void {
  process.stderr.write(`Skipped: ${what} is not installed (Debian: apt-get install ${debianPackages}).\n`);
}
