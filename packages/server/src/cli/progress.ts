import { statSync, writeSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { systemClock } from '../clock.ts';
import type { OnStep } from '../operations/backup.ts';

/** Milliseconds between two updates. The first appears after this time, so that short work shows nothing. */
const UPDATE_MS = 250;
const STDERR = 2;
const MIB = 1024 * 1024;
/** Marks the thread, because the commands import this file too. */
const SHOWS_STEPS = 'shows steps';

type Step = { text: string; growing?: Parameters<OnStep>[1] };

/** Replaces the shown line. The cursor stays at its start, so that later output overwrites it. */
function show(line: string): void {
  try {
    writeSync(STDERR, `\x1b[2K${line}\r`);
  } catch {
    // A closed terminal must not end the work.
  }
}

/** Removes the line before other output. */
export const clearLine = (): void => show('');

/**
 * Shows the steps of long work in one line on standard error. A thread writes it, because SQLite statements
 * block the main thread for minutes.
 */
export async function withProgress<T>(
  isTerminal: boolean,
  work: (onStep: OnStep) => T | Promise<T>,
): Promise<T> {
  if (!isTerminal) return work(() => undefined);
  const thread = new Worker(new URL('./progress.ts', import.meta.url), { workerData: SHOWS_STEPS });
  try {
    return await work((text, growing) => thread.postMessage({ text, growing } satisfies Step));
  } finally {
    await thread.terminate();
    clearLine();
  }
}

function lineOf({ text, growing }: Step, seconds: number): string {
  if (!growing) return `${text}, ${seconds} s`;
  const size = statSync(growing.file, { throwIfNoEntry: false })?.size ?? 0;
  const [done, all] = [size, growing.bytes].map((bytes) => Math.round(bytes / MIB));
  return `${text}: ${done} of ${all} MiB, ${seconds} s`;
}

async function showSteps(): Promise<void> {
  const began = systemClock.monotonic();
  let step: Step | undefined;
  parentPort?.on('message', (next: Step) => {
    step = next;
  });
  for (;;) {
    await systemClock.sleep(UPDATE_MS);
    if (step) show(lineOf(step, Math.floor((systemClock.monotonic() - began) / 1_000)));
  }
}

if (workerData === SHOWS_STEPS) void showSteps();
