import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const run = promisify(execFile);
const ENTRY = join(import.meta.dirname, '../../../bin/mayfly.js');

/** A project with the real entry; its program prints the cache folder of a thread. */
const project = useFolderOfTest();
let entry: string;
beforeEach(() => {
  entry = join(project(), 'packages/server/bin/mayfly.js');
  mkdirSync(join(project(), 'node_modules'));
  mkdirSync(join(project(), 'packages/server/src'), { recursive: true });
  writeFileSync(join(project(), 'packages/server/package.json'), '{ "type": "module" }');
  cpSync(dirname(ENTRY), dirname(entry), { recursive: true });
  writeFileSync(
    source('main.ts'),
    `import { Worker } from 'node:worker_threads';
     export function main(): void {
       new Worker(new URL('./thread.ts', import.meta.url)).once('message', (where: string) => console.log(where));
     }`,
  );
  writeFileSync(
    source('thread.ts'),
    `import { getCompileCacheDir } from 'node:module';
     import { parentPort } from 'node:worker_threads';
     const where: string | undefined = getCompileCacheDir();
     parentPort?.postMessage(where ?? 'nowhere');`,
  );
});
afterEach(() => {
  // A test makes the folder read-only.
  chmodSync(join(project(), 'node_modules'), 0o755);
});

const source = (name: string) => join(project(), 'packages/server/src', name);
const ours = () => join(project(), 'node_modules/.cache/mayfly');
const kept = () => globSync('**/*', { cwd: ours(), withFileTypes: true }).filter((one) => one.isFile());

/** @returns the cache folder of a thread of the program */
async function start(env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run(process.execPath, [entry], { env: { PATH: process.env.PATH, ...env } });
  return stdout.trim();
}

describe('the compile cache', () => {
  it('is in node_modules of the project, also for threads', async () => {
    for (let starts = 0; starts < 2; starts++) expect(await start()).toMatch(RegExp(`^${ours()}`));
    expect(kept().length).toBeGreaterThan(1);
  });

  it('is not used where its folder cannot be created', async () => {
    // The file prevents the folder also for root, whom permissions do not stop.
    writeFileSync(join(project(), 'node_modules/.cache'), '');
    chmodSync(join(project(), 'node_modules'), 0o555);
    expect(await start()).toBe('nowhere');
  });

  it("follows Node's own settings, which move it or disable it", async () => {
    const elsewhere = join(project(), 'elsewhere');
    expect(await start({ NODE_COMPILE_CACHE: elsewhere })).toMatch(RegExp(`^${elsewhere}`));
    expect(await start({ NODE_DISABLE_COMPILE_CACHE: '1' })).toBe('nowhere');
    expect(existsSync(ours())).toBe(false);
  });
});
