import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const PROBE = new URL('./probe.js', import.meta.url).href;
/** A server that says nothing for so long will not say it any more, milliseconds. */
const START_LIMIT_MS = 30_000;
/** The server promises to end within 10 s of SIGTERM. */
const STOP_LIMIT_MS = 15_000;
/** `/proc/PID/stat` counts in ticks of 10 ms (USER_HZ). */
const TICKS_PER_SECOND = 100;
const KIB_PER_MIB = 1024;

/** How late the event loop of a main thread was, milliseconds. */
export interface DelayReport {
  p50: number;
  p99: number;
  max: number;
}

type ProbeRequest = 'pid' | 'reset' | 'report' | 'watch' | 'longest';
type ProbeAnswer =
  | { pid: number }
  | { reset: true }
  | { report: DelayReport }
  | { watch: true }
  | { longest: Record<string, number> };

/** A measured process. */
export interface Child {
  /** Of the Node process, also when it runs under another program. */
  pid: number;
  /** What the groups of `ready` caught. */
  ready: string[];
  /** Forgets the delays seen so far. */
  resetDelay(): Promise<void>;
  /** How late its main thread was since the last reset. */
  delay(): Promise<DelayReport>;
  /** Begins to watch for the longest time in which each thread computes without a pause. */
  watchBlocks(): Promise<void>;
  /** The longest since then by the thread's name, milliseconds of CPU time; that of the main thread is `main`. */
  longestBlocks(): Promise<Record<string, number>>;
  /** That of the main thread. */
  longestBlock(): Promise<number>;
  /** CPU time of all its threads so far, seconds. */
  cpuSeconds(): number;
  /** CPU time of its main thread so far, seconds. */
  mainCpuSeconds(): number;
  /** Resident memory now and at its highest, MiB. */
  memory(): { now: number; peak: number };
  /** Ends it, by force when it does not end itself. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** A Node program. */
  file: URL;
  /** Its first line says how it is started, as for whoever calls it by its name. */
  executable?: boolean;
  args?: string[];
  env?: Record<string, string>;
  /** A program that starts it, with its arguments; such as a tracer. */
  under?: string[];
  /** Found in its standard output when it is ready. */
  ready: RegExp;
}

/** Starts a Node program with the probe in it; resolves when it is ready. Its log lines go to standard error. */
export async function startChild({
  file,
  executable = false,
  args = [],
  env = {},
  under = [],
  ready,
}: ChildOptions): Promise<Child> {
  const command = [...under, ...(executable ? [] : [process.execPath]), file.pathname, ...args];
  const { PATH = '', NODE_OPTIONS = '' } = process.env;
  const child = spawn(command[0] ?? process.execPath, command.slice(1), {
    env: {
      PATH: `${dirname(process.execPath)}:${PATH}`,
      NODE_OPTIONS: `${NODE_OPTIONS} --import ${PROBE}`,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  try {
    const caught = await untilReady(child, ready);
    const answer = await ask(child, 'pid');
    return controls(child, exited, 'pid' in answer ? answer.pid : 0, caught);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function untilReady(child: ChildProcess, ready: RegExp): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${child.spawnargs.join(' ')}: ${why}`));
    const timer = setTimeout(() => fail('not ready in time'), START_LIMIT_MS);
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`ended with ${code} before it was ready`));
    if (!child.stdout) return fail('no standard output');
    let seen = '';
    createInterface(child.stdout).on('line', (line) => {
      if (line.startsWith('{')) process.stderr.write(`${line}\n`);
      seen += `${line}\n`;
      const found = ready.exec(seen);
      if (!found) return;
      clearTimeout(timer);
      seen = '';
      resolve(found.slice(1));
    });
  });
}

async function ask(child: ChildProcess, request: ProbeRequest): Promise<ProbeAnswer> {
  const answered = once(child, 'message');
  child.send(request);
  const [answer] = await answered;
  return answer;
}

function cpuSecondsOf(path: string): number {
  // After the command's name, which may hold anything: state is field 3, utime and stime 14 and 15.
  const fields = readFileSync(path, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function controls(child: ChildProcess, exited: Promise<unknown>, pid: number, ready: string[]): Child {
  const longestBlocks = async (): Promise<Record<string, number>> => {
    const answer = await ask(child, 'longest');
    if (!('longest' in answer)) throw new Error('the probe answered something else');
    return answer.longest;
  };
  return {
    pid,
    ready,
    async resetDelay() {
      await ask(child, 'reset');
    },
    async delay() {
      const answer = await ask(child, 'report');
      if (!('report' in answer)) throw new Error('the probe answered something else');
      return answer.report;
    },
    async watchBlocks() {
      await ask(child, 'watch');
    },
    longestBlocks,
    longestBlock: async () => (await longestBlocks()).main ?? Number.NaN,
    cpuSeconds: () => cpuSecondsOf(`/proc/${pid}/stat`),
    mainCpuSeconds: () => cpuSecondsOf(`/proc/${pid}/task/${pid}/stat`),
    memory() {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const mib = (name: string) =>
        Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / KIB_PER_MIB;
      return { now: mib('VmRSS'), peak: mib('VmHWM') };
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      process.kill(pid, 'SIGTERM');
      const force = setTimeout(() => process.kill(pid, 'SIGKILL'), STOP_LIMIT_MS);
      await exited;
      clearTimeout(force);
    },
  };
}

/** Resolves when the server has used no CPU time for 200 ms. It parses the mails of a burst after the burst. */
export async function untilIdle(server: Child): Promise<void> {
  for (let last = -1; last !== server.cpuSeconds(); ) {
    last = server.cpuSeconds();
    await sleep(200);
  }
}
