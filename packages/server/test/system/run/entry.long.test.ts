import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../../..');

/** A project with the real entry and build script, and a program of the test. */
const project = useFolderOfTest();
const path = (name: string) => join(project(), name);
const entry = () => path('packages/server/bin/mayfly.js');
const writeSource = (name: string, text: string) => writeFileSync(path(`packages/server/src/${name}`), text);
beforeEach(() => {
  for (const name of ['bin', 'build.js'])
    cpSync(join(ROOT, 'packages/server', name), path(`packages/server/${name}`), { recursive: true });
  writeFileSync(path('packages/server/package.json'), '{ "type": "module" }');
  mkdirSync(path('packages/server/src/cli'), { recursive: true });
});

async function start(env: Record<string, string> = {}): Promise<string> {
  const options = { env: { PATH: process.env.PATH, ...env } };
  const { stdout, stderr } = await run(process.execPath, [entry()], options);
  expect(stderr).toBe('');
  return stdout.trim();
}

describe('the bundle of the sources', () => {
  beforeEach(() => {
    for (const other of ['start-mayfly', 'cli/sendmail'])
      writeSource(`${other}.ts`, 'export const other = 1;');
    writeProgram(1);
  });

  const useLibraries = () => symlinkSync(join(ROOT, 'node_modules'), path('node_modules'));
  const bundles = () => globSync('packages/server/dist/*/main.cjs', { cwd: project() });

  /** A program that prints a number, and with an argument also that of a module that it loads later. */
  function writeProgram(number: number): void {
    writeSource(
      'main.ts',
      `export async function main(): Promise<void> {
         const [, , file] = process.argv;
         console.log(${number}, import.meta.url.endsWith('.ts'));
         if (file) {
           await new Promise((resolve) => process.stdin.once('data', resolve).once('end', resolve));
           process.stdin.destroy();
           console.log((await import('./later.ts')).later);
         }
       }`,
    );
    writeSource('later.ts', `export const later: string = 'later ${number}';`);
  }

  it('is made by the first start, and again by the first one after a change', async () => {
    useLibraries();
    for (let starts = 0; starts < 2; starts++) {
      expect(await start()).toBe('1 false');
      expect(bundles()).toHaveLength(1);
    }
    writeProgram(2);
    expect(await start()).toBe('2 false');
  });

  it('is made once by many starts at the same time', async () => {
    useLibraries();
    expect(await Promise.all([start(), start(), start()])).toEqual(['1 false', '1 false', '1 false']);
    expect(bundles()).toHaveLength(1);
  });

  it('stays for a server that runs when the sources change', async () => {
    useLibraries();
    await start();
    const running = run(process.execPath, [entry(), 'later'], { env: { PATH: process.env.PATH } });
    await new Promise((resolve) => running.child.stdout?.once('data', resolve));
    writeProgram(2);
    await start();
    running.child.stdin?.end('go on');
    expect((await running).stdout).toBe('1 false\nlater 1\n');
  });

  it('is not used without development dependencies, which make it', async () => {
    expect(await start()).toBe('1 true');
  });
});

describe('the compile cache', () => {
  beforeEach(() => {
    mkdirSync(path('node_modules'));
    writeSource(
      'main.ts',
      `import { Worker } from 'node:worker_threads';
       export function main(): void {
         new Worker(new URL('./thread.ts', import.meta.url));
       }`,
    );
    writeSource(
      'thread.ts',
      `import { getCompileCacheDir } from 'node:module';
       const where: string = getCompileCacheDir() ?? 'nowhere';
       console.log(where);`,
    );
  });
  afterEach(() => {
    // A test makes the folder read-only.
    chmodSync(path('node_modules'), 0o755);
  });

  const ours = () => path('node_modules/.cache/mayfly');

  it('is in node_modules of the project, also for threads', async () => {
    for (let starts = 0; starts < 2; starts++) expect(await start()).toMatch(RegExp(`^${ours()}`));
    const kept = globSync('**/*', { cwd: ours(), withFileTypes: true }).filter((one) => one.isFile());
    expect(kept.length).toBeGreaterThan(1);
  });

  it('is not used where its folder cannot be created', async () => {
    // The file prevents the folder also for root, whom permissions do not stop.
    writeFileSync(path('node_modules/.cache'), '');
    chmodSync(path('node_modules'), 0o555);
    expect(await start()).toBe('nowhere');
  });

  it("follows Node's own settings, which move it or disable it", async () => {
    const elsewhere = path('elsewhere');
    expect(await start({ NODE_COMPILE_CACHE: elsewhere })).toMatch(RegExp(`^${elsewhere}`));
    expect(await start({ NODE_DISABLE_COMPILE_CACHE: '1' })).toBe('nowhere');
    expect(existsSync(ours())).toBe(false);
  });
});
