import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** System programs stand there too, and not always in a user's PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin'];

/** Where a program is, or undefined. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS];
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Runs a program to its end. @returns its output and how many seconds it took. @throws Error when it fails or is late */
export async function runProgram(
  path: string,
  args: string[],
  limitSeconds: number,
): Promise<{ output: string; seconds: number }> {
  const begun = performance.now();
  const { stdout, stderr } = await run(path, args, { timeout: limitSeconds * 1000, killSignal: 'SIGKILL' });
  return { output: stdout + stderr, seconds: (performance.now() - begun) / 1000 };
}
