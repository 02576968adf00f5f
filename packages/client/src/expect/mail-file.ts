import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Message } from '@mayfly/client';
import { compareSnapshot, writeSnapshot } from './snapshot.ts';

/** The result of a matcher. */
export interface Result {
  pass: boolean;
  message: () => string;
}

export interface MatchMailOptions {
  /** Values that differ between runs, by name: `{ first: 'Ada' }`. */
  mask?: Record<string, string>;
}

/** Update mode of snapshots: write missing ones, write all, or write none. */
export type UpdateMode = 'new' | 'all' | 'none';

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** File name of a snapshot. @throws Error for a name that cannot be a file name */
export function fileNameOf(name: unknown): string {
  if (typeof name === 'string' && /^[\w-][\w .-]*$/.test(name)) return `${name}.mail.txt`;
  throw new Error(
    `${JSON.stringify(name)} is not a name for a snapshot. Use letters, digits, spaces, ".", "-" and "_".`,
  );
}

/** Compares a mail with the snapshot in a file, or writes the file. */
export async function matchMailFile(
  mail: Message,
  file: string,
  mode: UpdateMode,
  { mask = {}, ...unknown }: MatchMailOptions = {},
): Promise<Result & { isNew?: boolean }> {
  const [option] = Object.keys(unknown);
  if (option !== undefined) throw new Error(`"${option}" is not an option of toMatchMail. There is: mask.`);
  // A message from a list has no bodies.
  const full = 'links' in mail ? mail : await (mail as Message).read();
  const input = { mail: full, findings: await full.lint(), names: mask };
  const known = readOrNull(file);
  const found = known === null ? undefined : compareSnapshot(known, input);
  if (known !== null && found === undefined)
    return { pass: true, message: () => `The mail is like ${file}, and another one was expected.` };
  if (mode === 'none' && known === null)
    return { pass: false, message: () => `There is no snapshot ${file}, and this run writes none.` };
  if (mode === 'all' || known === null) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, writeSnapshot(input));
    return { pass: true, isNew: known === null, message: () => `The snapshot ${file} was written.` };
  }
  return { pass: false, message: () => `The mail differs from ${file}:\n\n${found}` };
}
