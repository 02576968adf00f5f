import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startServer } from '../../support/server-process.ts';
import { Ledger, Sender } from './ledger.ts';
import { checkOrder, type Dialogue, parseSyscalls, type Syscall } from './syscalls.ts';

const MAILS = 60;
const CONNECTIONS = 4;

/** Longer than a page of the log, so that a mail's id shows in what is written. */
const STRING_LIMIT = 5000;
const STRACE = ['strace', '-D', '-f', '-yy', '--seccomp-bpf', '-s', String(STRING_LIMIT)].concat([
  ...['-e', 'trace=pwrite64,pwritev,fsync,fdatasync,write,writev,sendto,sendmsg'],
]);
const stracing = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** Has a server take mails in under strace. */
async function trace(nodeArgs: string[]): Promise<{ calls: Syscall[]; dialogues: Dialogue[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-trace-'));
  const log = join(folder, 'strace.log');
  try {
    const server = await startServer({
      dataDir: join(folder, 'data'),
      under: [...STRACE, '-o', log],
      nodeArgs,
    });
    try {
      const { address } = await server.createInbox();
      const ledger = new Ledger();
      let last = 0;
      const next = () => (last < MAILS ? { id: `mail-${++last}-of-${MAILS}`, to: [address] } : undefined);
      const senders = Array.from({ length: CONNECTIONS }, () => new Sender(server.smtpPort, ledger, next));
      await Promise.all(senders.map(({ ended }) => ended));
      expect(ledger.acknowledged.size).toBe(MAILS);
      await server.end('SIGTERM');
      const dialogues = senders.map(({ localPort, sent }) => ({ port: localPort, mails: sent }));
      return { calls: parseSyscalls(readFileSync(log, 'latin1')), dialogues };
    } finally {
      await server.end('SIGKILL');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// The title is the clear line where strace is absent or not permitted.
describe.skipIf(!stracing)(
  'the order of sync and reply, traced by strace (skipped where it cannot run)',
  () => {
    test('the 250 after DATA is written only after the log that contains the mail was synced', async () => {
      const { calls, dialogues } = await trace([]);
      expect(checkOrder(calls, dialogues)).toEqual({ replies: MAILS, early: [] });
    });

    test('the test detects a server that does not wait for the sync', async () => {
      const { calls, dialogues } = await trace(['--import', join(import.meta.dirname, 'relaxed-sync.ts')]);
      const { replies, early } = checkOrder(calls, dialogues);
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
