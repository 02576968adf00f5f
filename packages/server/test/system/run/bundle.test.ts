import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../../..');

/** A project with the real entry and build script, and a program that prints a number. */
const project = useFolderOfTest();
beforeEach(() => {
  for (const path of ['bin', 'build.js'])
    cpSync(join(ROOT, 'packages/server', path), join(project(), 'packages/server', path), {
      recursive: true,
    });
  writeFileSync(join(project(), 'packages/server/package.json'), '{ "type": "module" }');
  mkdirSync(join(project(), 'packages/server/src/cli'), { recursive: true });
  for (const other of ['start-mayfly', 'cli/sendmail'])
    writeFileSync(join(project(), `packages/server/src/${other}.ts`), 'export const other = 1;');
  writeProgram(1);
});

const useLibraries = () => symlinkSync(join(ROOT, 'node_modules'), join(project(), 'node_modules'));
const bundles = () => globSync('packages/server/dist/*/main.cjs', { cwd: project() });

function writeProgram(number: number): void {
  writeFileSync(
    join(project(), 'packages/server/src/main.ts'),
    `import { setTimeout as sleep } from 'node:timers/promises';
     export async function main(): Promise<void> {
       const [, , file] = process.argv;
       console.log(${number}, import.meta.url.endsWith('.ts'));
       if (file) {
         await new Promise((resolve) => process.stdin.once('data', resolve).once('end', resolve));
         process.stdin.destroy();
         const { later } = await import('./later.ts');
         await sleep(0);
         console.log(later);
       }
     }`,
  );
  writeFileSync(
    join(project(), 'packages/server/src/later.ts'),
    `const names: string[] = ['later ${number}'];\nexport const later = names.join();`,
  );
}

async function start(): Promise<string> {
  const entry = join(project(), 'packages/server/bin/mayfly.js');
  const { stdout, stderr } = await run(process.execPath, [entry], { env: { PATH: process.env.PATH } });
  expect(stderr).toBe('');
  return stdout.trim();
}

describe('the bundle of the sources', () => {
  it('is made by the first start, and again by the first one after a change', async () => {
    useLibraries();
    expect(await start()).toBe('1 false');
    expect(bundles()).toHaveLength(1);
    expect(await start()).toBe('1 false');
    expect(bundles()).toHaveLength(1);
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
    const entry = join(project(), 'packages/server/bin/mayfly.js');
    const running = run(process.execPath, [entry, 'later'], { env: { PATH: process.env.PATH } });
    await expect.poll(() => running.child.stdout?.readableFlowing).toBe(true);
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
