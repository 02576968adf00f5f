import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';
import { spawnServer, startServer } from '../../support/server-process.ts';
import { fill, MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';

/** More lines than a pipe and the queue of the server can hold. */
const REQUESTS = 4_000;
const AT_ONCE = 50;

describe('a log whose output takes nothing more', () => {
  const folder = useFolderOfTest();
  let child: ChildProcess;
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> => {
    if (child.kill(signal)) await once(child, 'exit');
    return child.exitCode;
  };
  afterEach(() => end('SIGKILL'));

  const env = { MAYFLY_METRICS: 'on', MAYFLY_LOG_LEVEL: 'info' };
  const options = () => ({ dataDir: join(folder(), 'data'), env });
  const urlIn = (text: string): string | undefined => /"url":"(http:[^"]+)"/.exec(text)?.[1];
  const requestMany = async (url: string): Promise<void> => {
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      // Without a credential, because successful probes are not logged.
      const responses = Array.from({ length: AT_ONCE }, () => fetch(`${url}/v1/inboxes`));
      for (const response of await Promise.all(responses)) {
        expect(response.status).toBe(401);
        await response.arrayBuffer();
      }
    }
  };
  const droppedLines = async (url: string): Promise<number> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(/^mayfly_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
  };

  it('as a pipe that nobody reads, stops neither requests nor SIGTERM; lines are dropped and counted', async () => {
    const { process, url } = await startServer(options());
    child = process;
    child.stdout?.pause();
    await requestMany(url);
    await expect.poll(() => droppedLines(url)).toBeGreaterThan(0);
    expect(await end('SIGTERM')).toBe(0);
  });

  it.skipIf(!MAY_MOUNT)('as a full disk, does neither; afterwards a line says what is missing', async () => {
    const mounted = mkdtempSync(join(folder(), 'log-'));
    mountSmallDisk(mounted, 1);
    try {
      const file = join(mounted, 'mayfly.log');
      const descriptor = openSync(file, 'a');
      child = spawnServer({ ...options(), stdout: descriptor });
      closeSync(descriptor);
      await expect.poll(() => urlIn(readFileSync(file, 'utf8'))).toBeDefined();
      const url = urlIn(readFileSync(file, 'utf8')) ?? '';
      fill(join(mounted, 'filler'));
      await requestMany(url);
      await expect.poll(() => droppedLines(url)).toBeGreaterThan(0);
      rmSync(join(mounted, 'filler'));
      await (await fetch(`${url}/v1/inboxes`)).text();
      const warning = /^\{"level":"warn".*"dropped":\d+,"msg":"Log lines were dropped/m;
      await expect.poll(() => readFileSync(file, 'utf8')).toMatch(warning);
      fill(join(mounted, 'filler'));
      expect(await end('SIGTERM')).toBe(0);
    } finally {
      await end('SIGKILL');
      unmount(mounted);
    }
  });
});
