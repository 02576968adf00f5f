import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MailQueue } from '../nodes/mail-queue.ts';
import { useSiteOfTest } from '../nodes/nodes.ts';

const MAILS = 60;
const CONNECTIONS = 4;

/** Longer than a page of the write-ahead log, so that written data contains the id of the mail. */
const STRING_LIMIT = 5000;
const TRACED = 'trace=pwrite64,pwritev,fsync,fdatasync,write,writev,sendto,sendmsg';
const STRACE = ['strace', '-D', '-f', '-yy', '--seccomp-bpf', '-s', String(STRING_LIMIT), '-e', TRACED];
const stracing = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** A system call in the output of `strace -f -yy`. */
interface Syscall {
  name: string;
  /** The file of the first argument: a path, or `TCP:[local->remote]`. */
  target: string;
  /** The rest of the line, with data as escaped by strace. */
  rest: string;
  /** Line numbers of its begin and of its result. */
  begin: number;
  end: number;
  /** NaN if the result is not in the output. */
  result: number;
}

const BEGIN = /^(\d+) +(\w+)\(\d+<(TCP[^\]]*\]|[^>]*)>(.*)$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/;
const RESULT = /= (-?\d+)(?: E.*)?$/;

function parseSyscalls(log: string): Syscall[] {
  const calls: Syscall[] = [];
  const unfinished = new Map<string, Syscall>();
  for (const [line, text] of log.split('\n').entries()) {
    const [, resumedBy = '', , tail = ''] = RESUMED.exec(text) ?? [];
    const call = unfinished.get(resumedBy);
    const [, thread = '', name = '', target = '', rest = ''] = BEGIN.exec(text) ?? [];
    const ends = { end: line, result: Number(RESULT.exec(call ? tail : rest)?.[1]) };
    if (call) {
      unfinished.delete(resumedBy);
      Object.assign(call, ends);
    } else if (name !== '') {
      const begun = { name, target, rest, begin: line, end: Number.POSITIVE_INFINITY, result: Number.NaN };
      calls.push(begun);
      if (rest.includes('<unfinished ...>')) unfinished.set(thread, begun);
      else Object.assign(begun, ends);
    }
  }
  return calls;
}

/** The reply to the end of DATA, which no other reply equals. */
const STORED = /250 2\.0\.0 Message stored/g;

/**
 * Checks for each 250 after DATA that the rows of the mail were written to the write-ahead log, and then the log was
 * synced successfully, before the reply was written.
 * @param calls with enough data to contain the ids of mails
 * @returns the number of replies, and those that were written too early
 */
function checkOrder(calls: Syscall[], connections: MailQueue['connections']) {
  const log = calls.filter(({ target }) => target.endsWith('.db-wal'));
  const writes = log.filter(({ name }) => name.startsWith('pwrite'));
  const syncs = log.filter(({ name, result }) => /^f(?:data)?sync$/.test(name) && result === 0);
  const early: { mail: string; why: string }[] = [];
  let replies = 0;
  for (const [port, mails] of connections) {
    const toClient = new RegExp(`->.*:${port}]$`);
    const sends = calls.filter(({ name, target }) => /^(?:write|send)/.test(name) && toClient.test(target));
    const stored = sends.flatMap((send) => [...send.rest.matchAll(STORED)].map(() => send));
    for (const [index, reply] of stored.entries()) {
      const mail = mails[index] ?? `the unknown mail ${index} of port ${port}`;
      replies += 1;
      const written = writes.find(({ rest, result }) => result > 0 && rest.includes(mail));
      if (!written || written.end > reply.begin)
        early.push({ mail, why: 'its rows were not written before' });
      else if (!syncs.some((sync) => sync.begin > written.end && sync.end < reply.begin))
        early.push({ mail, why: 'no sync of the log ended between the write of its rows and the reply' });
    }
  }
  return { replies, early };
}

describe.skipIf(!stracing)('the order of sync and reply (skipped where strace cannot run)', () => {
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
});
