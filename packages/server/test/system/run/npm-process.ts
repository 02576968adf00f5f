import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../support/ports.ts';

const PROJECT = join(import.meta.dirname, '../../../../..');
/** Written to standard output when the server is ready, by `dev` and by `serve`. */
const READY = /Mayfly .*is ready/;

/** The PATH of a user's shell: without what npm adds for the scripts that it runs, as these tests. */
const PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');
/** Tests of npm can run where there is one, and where `/proc` tells which processes live. */
export const HAS_NPM =
  process.platform === 'linux' && PATH.split(':').some((folder) => existsSync(join(folder, 'npm')));

/** A server that the real npm started, in a process group of its own, as a terminal starts a command. */
export interface NpmServer {
  /** The process that was spawned. */
  child: ChildProcess;
  /** Its group, for signals to all of it. */
  group: number;
  httpPort: number;
  smtpPort: number;
  /** Both outputs so far. */
  output(): string;
  /** Resolves with the exit code of the spawned process, or the signal that ended it. */
  ended: Promise<number | string>;
  /** Commands of the living processes of the group, by process id. */
  processes(): Map<number, string>;
  /** True when every process of the group is stopped, as by Ctrl+Z. */
  isStopped(): boolean;
  /** Ends what is left of it. */
  kill(): void;
}

/** @param command as a user types it, such as `['npm', 'start']` */
export async function startByNpm(command: string[], env: Record<string, string>): Promise<NpmServer> {
  const [httpPort, smtpPort] = [await freePort(), await freePort()];
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: PROJECT,
    env: {
      PATH,
      HOME: process.env.HOME ?? '',
      MAYFLY_HTTP_PORT: String(httpPort),
      MAYFLY_SMTP_PORT: String(smtpPort),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (piece) => {
        output += piece;
        if (READY.test(output)) resolve();
      });
    }
  });
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const group = child.pid ?? 0;
  await Promise.race([
    ready,
    ended.then((how) => {
      throw new Error(`${command.join(' ')} ended with ${how}: ${output}`);
    }),
  ]);
  return {
    child,
    group,
    httpPort,
    smtpPort,
    output: () => output,
    ended,
    processes: () => new Map([...processesOf(group)].map(([pid, { command }]) => [pid, command])),
    isStopped: () => [...processesOf(group).values()].every(({ state }) => state === 'T'),
    kill() {
      for (const pid of processesOf(group).keys()) process.kill(pid, 'SIGKILL');
    },
  };
}

/** The processes of a group that have not ended (proc(5): field 3 of `stat` is the state, 5 the group). */
function processesOf(group: number): Map<number, { state: string; command: string }> {
  const found = new Map<number, { state: string; command: string }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [state, , pgrp] = readFileSync(`/proc/${name}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (Number(pgrp) !== group || state === undefined || state === 'Z') continue;
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      found.set(Number(name), { state, command });
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

/** True when nothing listens there. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });
