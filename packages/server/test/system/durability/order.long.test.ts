import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MailQueue } from '../nodes/mail-queue.ts';
import { useSiteOfTest } from '../nodes/nodes.ts';
import { checkOrder, parseSyscalls } from './syscalls.ts';

const MAILS = 60;
const CONNECTIONS = 4;

/** Longer than a page of the write-ahead log, so that written data contains the id of the mail. */
const STRING_LIMIT = 5000;
const STRACE = ['strace', '-D', '-f', '-yy', '--seccomp-bpf', '-s', String(STRING_LIMIT)].concat([
  ...['-e', 'trace=pwrite64,pwritev,fsync,fdatasync,write,writev,sendto,sendmsg'],
]);
const stracing = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

describe.skipIf(!stracing)(
  'the order of sync and reply, traced by strace (skipped where it cannot run)',
  () => {
    const site = useSiteOfTest(0, { engine: 'SQLite' });

    /** Runs a server under strace while it receives mails. */
    async function trace(nodeArgs: string[]): Promise<ReturnType<typeof checkOrder>> {
      const log = `${site().dataDir()}.log`;
      const server = await site().startNode({ under: [...STRACE, '-o', log], nodeArgs });
      const to = [(await server.createInbox()).address];
      let made = 0;
      const next = () => (made < MAILS ? { id: `mail-${++made}-of-${MAILS}`, to } : undefined);
      const queue = new MailQueue(site(), next, CONNECTIONS);
      await queue.untilAcknowledged(MAILS);
      await queue.drained();
      await server.end('SIGTERM');
      return checkOrder(parseSyscalls(readFileSync(log, 'latin1')), queue.connections);
    }

    test('the 250 after DATA is written only after the log that contains the mail was synced', async () => {
      expect(await trace([])).toEqual({ replies: MAILS, early: [] });
    });

    test('the test detects a server that does not wait for the sync', async () => {
      const relaxed = ['--import', join(import.meta.dirname, 'relaxed-sync.ts')];
      const { replies, early } = await trace(relaxed);
      expect(replies).toBe(MAILS);
      expect(early).toHaveLength(MAILS);
      expect(early[0]?.why).toMatch(/no sync/);
    });
  },
);

describe('the analysis of a trace', () => {
  const dialogues = [{ port: 5000, mails: ['mail-1', 'mail-2'] }];
  const write = (mail: string) =>
    `9 pwrite64(29</data/mayfly.db-wal>, "\\0${mail} text"..., 4096, 32) = 4096`;
  const sync = '9 fdatasync(29</data/mayfly.db-wal>) = 0';
  const reply = '8 write(41<TCP:[127.0.0.1:25->127.0.0.1:5000]>, "250 2.0.0 Message stored\\r\\n", 26) = 26';
  const begunSync = '9 fsync(29</data/mayfly.db-wal> <unfinished ...>';
  const endedSync = '9 <... fsync resumed>) = 0';
  const check = (...lines: string[]) => checkOrder(parseSyscalls(lines.join('\n')), dialogues);

  test('accepts the right order', () => {
    expect(check(write('mail-1'), sync, reply)).toEqual({ replies: 1, early: [] });
    expect(check(write('mail-1'), begunSync, endedSync, reply)).toEqual({ replies: 1, early: [] });
    expect(check(write('mail-1'), write('mail-2'), sync, reply, reply)).toEqual({ replies: 2, early: [] });
  });

  test.each([
    ['no sync at all', [write('mail-1'), reply]],
    ['the sync after the reply', [write('mail-1'), reply, sync]],
    ['the sync before the write', [sync, write('mail-1'), reply]],
    ['the sync not yet ended', [write('mail-1'), begunSync, reply, endedSync]],
    ['the sync begun before the write', [begunSync, write('mail-1'), endedSync, reply]],
    ['the sync failed', [write('mail-1'), sync.replace('= 0', '= -1 EIO (Input/output error)'), reply]],
    ['the sync of another file', [write('mail-1'), sync.replace('-wal', ''), reply]],
    ['the rows of another mail', [write('mail-7'), sync, reply]],
    ['the write failed', [write('mail-1').replace(/= \d+$/, '= -1 ENOSPC (No space)'), sync, reply]],
    ['the second mail of two not synced', [write('mail-1'), sync, reply, write('mail-2'), reply]],
  ])('finds out %s', (_name, lines) => {
    expect(check(...lines).early).toHaveLength(1);
  });
});
