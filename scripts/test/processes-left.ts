import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';

/** How long processes that were told to end may take on a busy machine. */
const ENDING_MS = 20_000;
/** Processes of the run itself. */
const WORKER = /vitest\/dist\/workers/;

/** Linux's file system in memory. */
const MEMORY = '/dev/shm';
/** Several times what the tests hold at once. Containers often have 64 MB there. */
const ENOUGH_BYTES = 4 * 1024 ** 3;

/**
 * Where temporary files are: for `npm test` in memory, because its tests wait for thousands of syncs, half of the time
 * on a usual disk; for `npm run test:all` on the disk, and where TMPDIR says so.
 */
function parentFolder(mode: string): string {
  if (mode === 'all' || process.env.TMPDIR !== undefined) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ENOUGH_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * Gives the tests a folder of their own for temporary files, which is how each process that they start is
 * known: its arguments or its environment name that folder.
 * @returns what to do after the last test: fails the run when one of those processes still lives
 */
export default function setup({ config }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(parentFolder(config.mode), 'mayfly-tests-'));
  process.env.TMPDIR = folder;
  return async () => {
    const end = performance.now() + ENDING_MS;
    let left = processesOf(folder);
    while (left.length > 0 && performance.now() < end) {
      await pause(100);
      left = processesOf(folder);
    }
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    if (left.length > 0) {
      const list = left.map(({ pid, command }) => `  ${pid} ${command}`).join('\n');
      throw new Error(`Tests have left processes behind, which were ended now:\n${list}`);
    }
  };
}

/** Living processes that were started with that folder; none where there is no `/proc`. */
function processesOf(folder: string): { pid: number; command: string }[] {
  const found: { pid: number; command: string }[] = [];
  const pids = process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  for (const pid of pids.map(Number)) {
    if (pid === process.pid) continue;
    try {
      const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'latin1');
      const command = read('cmdline').replaceAll('\0', ' ').trim();
      if (command === '' || WORKER.test(command)) continue;
      if (command.includes(folder) || read('environ').includes(folder)) found.push({ pid, command });
    } catch {
      // It has ended, or it belongs to another user.
    }
  }
  return found;
}
