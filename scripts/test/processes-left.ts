import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** How long processes that were told to end may take on a busy machine. */
const ENDING_MS = 20_000;
/** Processes of the run itself. */
const WORKER = /vitest\/dist\/workers/;

/**
 * Gives the tests a folder of their own for temporary files, which is how each process that they start is
 * known: its arguments or its environment name that folder.
 * @returns what to do after the last test: fails the run when one of those processes still lives
 */
export default function setup(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-tests-'));
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
