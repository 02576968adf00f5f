import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeFolder, removeFolder } from './support/folder.ts';
import { MAYFLY } from './support/mayfly.ts';
import { compared, type Row } from './support/rows.ts';

const ROUNDS = 10;

/** Runs a program until it has printed `ready`, or else until it ends. @returns milliseconds */
async function time(command: string[], env: Record<string, string>, ready?: string): Promise<number> {
  const [program = '', ...args] = command;
  const begun = performance.now();
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let ms: number | undefined;
  let printed = '';
  child.stdout.on('data', (piece) => {
    printed += piece;
    if (ms !== undefined || ready === undefined || !printed.includes(ready)) return;
    ms = performance.now() - begun;
    child.kill();
  });
  await ended;
  if (ready !== undefined && ms === undefined) throw new Error(`the server ended: ${printed}`);
  return ms ?? performance.now() - begun;
}

const { bundleFolder } = createRequire(import.meta.url)('../packages/server/bin/bundle.js');

const IN_PROCESS = `const begun = performance.now();
const { startMayfly } = require(process.argv[1]);
startMayfly().then(async (first) => {
  const ready = performance.now();
  const next = await startMayfly();
  console.log(JSON.stringify([ready - begun, performance.now() - ready]));
  await Promise.all([first.stop(), next.stop()]);
});`;

/** Loads the package and starts a server in a new process, and then another one. @returns milliseconds of each */
async function timeInProcess(): Promise<number[]> {
  const file = join(bundleFolder(), 'start-mayfly.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', IN_PROCESS, file]);
  return JSON.parse(stdout);
}

/** Starts of the server as users start it, from nothing to ready, beside a bare Node.js in the same round. */
export async function start(): Promise<Row[]> {
  const first: { ours: number; baseline: number }[] = [];
  const second: typeof first = [];
  const inProcess: typeof first = [];
  const nextInProcess: typeof first = [];
  // Bundles the sources, if they have changed.
  await time([fileURLToPath(MAYFLY), '--version'], {});
  for (let round = 0; round < ROUNDS; round++) {
    const folder = makeFolder();
    const env = {
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_DATA_DIR: folder,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    };
    try {
      const serve = () => time([fileURLToPath(MAYFLY), 'serve'], env, '"Mayfly is ready"');
      const baseline = await time([process.execPath, '-e', '0'], {});
      first.push({ ours: await serve(), baseline });
      second.push({ ours: await serve(), baseline: await time([process.execPath, '-e', '0'], {}) });
      const [own = 0, next = 0] = await timeInProcess();
      inProcess.push({ ours: own, baseline });
      nextInProcess.push({ ours: next, baseline });
    } finally {
      removeFolder(folder);
    }
  }
  return [
    compared('first start until ready, nothing compiled, no database; baseline `node -e 0`', 'ms', first, {
      atMost: 20,
    }),
    compared('second start until ready; baseline `node -e 0`', 'ms', second, { atMost: 10 }),
    compared('`startMayfly()`, loaded and ready in a new process; baseline `node -e 0`', 'ms', inProcess, {
      atMost: 4,
    }),
    compared('another `startMayfly()` of that process; baseline `node -e 0`', 'ms', nextInProcess, {
      atMost: 4,
    }),
  ];
}
