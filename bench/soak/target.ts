import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fill, MAY_MOUNT, mountSmallDisk, unmount } from '../../packages/server/test/support/small-disk.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { MAYFLY } from '../support/mayfly.ts';

const SHIFT_CLOCK = new URL('./shift-clock.js', import.meta.url).href;
const READY = /"http":\{"url":"([^"]+)"[^}]*\},"smtp":\{"host":"[^"]+","port":(\d+).*"Mayfly is ready"/;
const START_LIMIT_MS = 60_000;
const LOG_DISK_MIB = 2;
export const KEY = 'soak_key_0123456789abcdef';

/** The server under test. */
export interface Target {
  pid: number;
  url: string;
  smtpPort: number;
  /** Whether it has ended, which it must not do before `stop`. */
  hasEnded(): boolean;
  /** Sets how far its wall clock runs ahead of the real one, milliseconds. */
  shiftClock(ms: number): void;
  /** Takes all space of the disk of its log, or reports false where no small disk may be mounted. */
  fillLogDisk(): boolean;
  freeLogDisk(): void;
  /** Ends it by SIGTERM. @returns its exit code and how long that took, milliseconds */
  stop(): Promise<{ code: number | null; ms: number }>;
}

/** Starts `mayfly serve` with a clock that can be stepped and a log on a small disk. */
export async function startTarget(): Promise<Target> {
  const folder = makeFolder();
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  let isMounted = false;
  const removeDisk = (): void => {
    if (isMounted) unmount(logs);
    isMounted = false;
  };
  if (MAY_MOUNT) {
    mountSmallDisk(logs, LOG_DISK_MIB);
    isMounted = true;
  }
  const log = join(logs, 'mayfly.log');
  const clock = join(folder, 'clock');
  writeFileSync(clock, '0');
  const output = openSync(log, 'a');
  const child = spawn(fileURLToPath(MAYFLY), ['serve'], {
    env: {
      ...{
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        NODE_OPTIONS: `--import ${SHIFT_CLOCK}`,
        SOAK_CLOCK_FILE: clock,
      },
      ...{ MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0', MAYFLY_DATA_DIR: join(folder, 'data') },
      ...{ MAYFLY_API_KEY: KEY, MAYFLY_SIGNUP_PLAN: 'unlimited', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' },
      MAYFLY_LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', output, 'inherit'],
  });
  closeSync(output);
  // Also when the run is interrupted: neither the server nor its disk may stay.
  process.prependOnceListener('exit', () => {
    child.kill('SIGKILL');
    if (isMounted) spawnSync('umount', ['-l', logs]);
  });
  const exited = once(child, 'exit');
  const [, url = '', port = ''] = await untilReady(child, log);
  const ballast = join(logs, 'ballast');
  // Debug lines would fill the disk by themselves before and after the minute that is meant.
  const trim = setInterval(() => {
    if (!existsSync(ballast)) truncateSync(log);
  }, 500);
  return {
    pid: child.pid ?? 0,
    url,
    smtpPort: Number(port),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    shiftClock: (ms) => writeFileSync(clock, String(ms)),
    fillLogDisk() {
      if (MAY_MOUNT) fill(ballast);
      return MAY_MOUNT;
    },
    freeLogDisk() {
      if (existsSync(ballast)) rmSync(ballast);
    },
    async stop() {
      const begun = performance.now();
      child.kill('SIGTERM');
      const [code] = await exited;
      clearInterval(trim);
      removeDisk();
      removeFolder(folder);
      return { code, ms: performance.now() - begun };
    },
  };
}

async function untilReady(child: ChildProcess, log: string): Promise<RegExpExecArray> {
  const end = performance.now() + START_LIMIT_MS;
  while (performance.now() < end && child.exitCode === null) {
    const found = READY.exec(readFileSync(log, 'utf8'));
    if (found) return found;
    await pause(20);
  }
  child.kill('SIGKILL');
  throw new Error(`The server did not start: ${readFileSync(log, 'utf8')}`);
}
