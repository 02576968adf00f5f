import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { fill, MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { Ledger, type LedgerMail, Sender } from './ledger.ts';
import { assertNothingLost } from './readback.ts';

const CONNECTIONS = 20;

const folder = useFolderOfTest();
let dataDir: string;
let server: ServerProcess;
let inbox: Inbox;
let lastMail: number;

async function begin(): Promise<void> {
  server = await startServer({ dataDir });
  inbox = await server.createInbox();
  lastMail = 0;
}

beforeEach(() => {
  dataDir = join(folder(), 'data');
});
afterEach(() => server.end('SIGKILL'));

const newMails = (count: number): LedgerMail[] =>
  Array.from({ length: count }, () => ({ id: `mail-${++lastMail}`, to: [inbox.address] }));

/** Sends each mail once, over several connections at a time. */
async function send(ledger: Ledger, mails: LedgerMail[]): Promise<void> {
  const queue = [...mails];
  const count = Math.min(CONNECTIONS, mails.length);
  const senders = Array.from(
    { length: count },
    () => new Sender(server.smtpPort, ledger, () => queue.shift()),
  );
  for (const { ended } of senders) expect(await ended).toMatch(/^221 /);
}

/** Sends mails while the store fails: each gets 451 before its sender's timeout. */
async function sendInVain(mails: LedgerMail[]): Promise<void> {
  const ledger = new Ledger();
  await send(ledger, mails);
  expect([...ledger.acknowledged.keys()]).toEqual([]);
  for (const { id } of mails) expect(ledger.refused.get(id)).toMatch(/^451 4\.3\.0 /);
}

/** What the API says while nothing can be written. */
async function expectWritesUnavailable(): Promise<void> {
  const answer = await server.request('POST', '/v1/inboxes');
  expect(answer.status).toBe(503);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await answer.json()).toMatchObject({ status: 503, code: 'unavailable' });
}

interface Trouble {
  begin(): void;
  end(): void;
  /** Then the senders try twice in vain; a lock makes each try wait for some seconds. */
  failsAtOnce: boolean;
}

/** The story of every trouble: mails before it, in it and, by their senders' retries, after it. */
async function through(trouble: Trouble): Promise<void> {
  const ledger = new Ledger();
  await send(ledger, newMails(10));
  expect(ledger.refused).toEqual(new Map());
  const mails = newMails(CONNECTIONS);
  // What a mail says must be stored once; one of the last moment is answered with 503 until the trouble has ended.
  await server.getJson(`/v1/inboxes/${inbox.id}/messages`);
  trouble.begin();
  try {
    await Promise.all([sendInVain(mails), expectWritesUnavailable()]);
    expect((await server.request('GET', '/readyz')).status).toBe(503);
    // What is stored can be read meanwhile.
    const list = await server.getJson<{ messages: unknown[] }>(`/v1/inboxes/${inbox.id}/messages`);
    expect(list.messages).toHaveLength(10);
    if (trouble.failsAtOnce) await sendInVain(mails);
  } finally {
    trouble.end();
  }
  await send(ledger, mails);
  expect(ledger.refused).toEqual(new Map());
  expect((await server.request('POST', '/v1/inboxes')).status).toBe(201);
  expect(server.process.exitCode).toBeNull();
  expect(await assertNothingLost(server, [inbox], ledger)).toEqual({
    acknowledged: 10 + CONNECTIONS,
    extra: 0,
  });
}

test('replies 451 and 503 while another process locks the database, and then every mail arrives once', async () => {
  await begin();
  const other = new DatabaseSync(join(dataDir, 'mayfly.db'));
  try {
    await through({
      begin: () => other.exec('begin exclusive'),
      end: () => other.exec('rollback'),
      failsAtOnce: false,
    });
  } finally {
    other.close();
  }
});

/** Room for the start of a database and its log. */
const DISK_MIB = 24;

describe.skipIf(!MAY_MOUNT)('on a small disk (skipped where none may be mounted)', () => {
  beforeEach(() => {
    mkdirSync(dataDir);
    mountSmallDisk(dataDir, DISK_MIB);
  });
  afterEach(async () => {
    await server.end('SIGKILL');
    unmount(dataDir);
  });

  test('replies 451 and 503 while the disk is full, and then every mail arrives once', async () => {
    await begin();
    const filler = join(dataDir, 'filler');
    await through({ begin: () => fill(filler), end: () => rmSync(filler), failsAtOnce: true });
  });
});
