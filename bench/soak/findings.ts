import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { percentile, short } from '../support/stats.ts';

/** More wrong answers than these are only counted. */
const MAX_SHOWN = 40;
const KIB_PER_MIB = 1024;

/** What a soak run has found: wrong answers, counts and times. */
export class Findings {
  readonly wrong: string[] = [];
  wrongCount = 0;
  readonly counts = new Map<string, number>();
  readonly #times = new Map<string, number[]>();
  readonly #begun = performance.now();

  /** An answer that breaks a promise. */
  fail(text: string): void {
    this.wrongCount++;
    if (this.wrong.length >= MAX_SHOWN) return;
    const seconds = Math.round((performance.now() - this.#begun) / 1000);
    this.wrong.push(`${seconds} s: ${text}`);
    console.error(`wrong answer after ${seconds} s: ${text}`);
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  /** Notes a duration in milliseconds. */
  time(what: string, ms: number): void {
    const times = this.#times.get(what) ?? [];
    times.push(ms);
    this.#times.set(what, times);
  }

  p99(what: string): number {
    return percentile(this.#times.get(what) ?? [], 0.99);
  }

  /** The largest value of a figure that is looked at again and again. */
  most(what: string, value: number): void {
    this.counts.set(what, Math.max(this.counts.get(what) ?? 0, value));
  }

  /** One line for each kind of duration. */
  timeLines(): string[] {
    return [...this.#times].map(([what, times]) => {
      const [p50, p99, most] = [0.5, 0.99, 1].map((p) => short(percentile(times, p)));
      return `${what}: p50 ${p50} ms, p99 ${p99} ms, max ${most} ms (${times.length})`;
    });
  }
}

/** Clock ticks of the whole machine, and those in which a processor worked (`/proc/stat`). */
function ticks(): { all: number; busy: number } {
  const line = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0] ?? '';
  // user, nice, system, idle, iowait, irq, softirq, steal
  const fields = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const all = fields.reduce((sum, field) => sum + field, 0);
  return { all, busy: all - (fields[3] ?? 0) - (fields[4] ?? 0) };
}

function ticksOf(pid: number): number {
  // A process that has ended is a wrong answer by itself.
  if (!existsSync(`/proc/${pid}`)) return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/**
 * Begins to measure how much of the machine others use: durations say little about the server when other
 * programs take the processors from it.
 * @param pids of the processes that belong to the run and live until its end
 * @returns a function that returns the share of the processors' time, from 0 to 1, that went to other programs
 */
export function measureOtherWork(pids: readonly number[]): () => number {
  const own = () => pids.reduce((sum, pid) => sum + ticksOf(pid), 0);
  const [before, ownBefore] = [ticks(), own()];
  return () => {
    const after = ticks();
    return (after.busy - before.busy - (own() - ownBefore)) / (after.all - before.all);
  };
}

/** Resources of a process, from `/proc`. */
export interface Usage {
  memoryMib: number;
  handles: number;
  threads: number;
}

export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  return {
    memoryMib: Math.round(field('VmRSS') / KIB_PER_MIB),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: field('Threads'),
  };
}
