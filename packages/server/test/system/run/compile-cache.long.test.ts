import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const run = promisify(execFile);
const ENTRY = join(import.meta.dirname, '../../../bin/mayfly.js');

/** A project around the real entry: its program prints a number of its own and where a thread of it looks. */
const project = useFolderOfTest();
let entry: string;
beforeEach(() => {
  entry = join(project(), 'packages/server/bin/mayfly.js');
  mkdirSync(join(project(), 'node_modules'));
  mkdirSync(join(project(), 'packages/server/src'), { recursive: true });
  writeFileSync(join(project(), 'packages/server/package.json'), '{ "type": "module" }');
  cpSync(dirname(ENTRY), dirname(entry), { recursive: true });
  writeProgram(1);
  writeFileSync(
    source('thread.ts'),
    `import { getCompileCacheDir } from 'node:module';
     import { parentPort } from 'node:worker_threads';
     const where: string | undefined = getCompileCacheDir();
     parentPort?.postMessage(where ?? 'nowhere');`,
  );
});
afterEach(() => {
  // A test takes the right to write away.
  chmodSync(join(project(), 'node_modules'), 0o755);
});

const source = (name: string) => join(project(), 'packages/server/src', name);
const ours = () => join(project(), 'node_modules/.cache/mayfly');
const kept = () => globSync('**/*', { cwd: ours(), withFileTypes: true }).filter((one) => one.isFile());

function writeProgram(number: number): void {
  const program = `import { Worker } from 'node:worker_threads';
    const number: number = ${number};
    export function main(): void {
      const thread = new Worker(new URL('./thread.ts', import.meta.url));
      thread.once('message', (where: string) => console.log(number, where));
    }`;
  writeFileSync(source('main.ts'), program);
  // Neither its size nor its time tells that it is another one.
  utimesSync(source('main.ts'), 1, 1);
}

/** What the program printed. @param env added to the environment */
async function start(env: Record<string, string> = {}): Promise<{ number: string; where: string }> {
  const { stdout } = await run(process.execPath, [entry], { env: { PATH: process.env.PATH, ...env } });
  const [number = '', where = ''] = stdout.trim().split(' ');
  return { number, where };
}

describe('the compile cache', () => {
  it('is in node_modules of the project, also for threads', async () => {
    const { number, where } = await start();
    expect(number).toBe('1');
    expect(where.startsWith(ours())).toBe(true);
    expect(kept().length).toBeGreaterThan(1);
    expect((await start()).number).toBe('1');
  });

  it('is not used for a source that has changed', async () => {
    await start();
    await start();
    const before = statSync(source('main.ts'));
    writeProgram(2);
    expect(statSync(source('main.ts'))).toMatchObject({ size: before.size, mtimeMs: before.mtimeMs });
    expect((await start()).number).toBe('2');
    expect((await start()).number).toBe('2');
  });

  it('may be damaged without effect', async () => {
    await start();
    for (const file of kept()) truncateSync(join(file.parentPath, file.name), 40);
    expect((await start()).number).toBe('1');
    for (const file of kept()) writeFileSync(join(file.parentPath, file.name), 'x'.repeat(5000));
    expect((await start()).number).toBe('1');
  });

  it('can be written and read by many processes at once', async () => {
    for (let round = 0; round < 2; round++) {
      const all = await Promise.all(Array.from({ length: 4 }, () => start()));
      expect(all.map(({ number }) => number)).toEqual(['1', '1', '1', '1']);
    }
  });

  it('is not used where its folder cannot be created', async () => {
    // A file in the way stops root too, whom no permission stops.
    writeFileSync(join(project(), 'node_modules/.cache'), '');
    chmodSync(join(project(), 'node_modules'), 0o555);
    expect(await start()).toEqual({ number: '1', where: 'nowhere' });
  });

  it("follows Node's own settings, which move it or disable it", async () => {
    const elsewhere = join(project(), 'elsewhere');
    expect((await start({ NODE_COMPILE_CACHE: elsewhere })).where.startsWith(elsewhere)).toBe(true);
    expect((await start({ NODE_DISABLE_COMPILE_CACHE: '1' })).where).toBe('nowhere');
    expect(existsSync(ours())).toBe(false);
  });
});
