import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, test } from 'vitest';
import { fill, MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { MailQueue } from '../nodes/mail-queue.ts';
import { useSiteOfTest } from '../nodes/nodes.ts';
import { assertTruth } from '../nodes/truth.ts';

const MAILS = 20;
/** Enough for a new database and its log. */
const DISK_MIB = 24;

const site = useSiteOfTest(0, { engine: 'SQLite' });
let isMounted = false;
afterEach(async () => {
  await site().node(0).end('SIGKILL');
  if (isMounted) unmount(site().dataDir());
  isMounted = false;
});

/** Makes the database unwritable. @returns a function that makes it writable again */
function lock(dataDir: string): () => void {
  const other = new DatabaseSync(join(dataDir, 'mayfly.db'));
  other.exec('begin exclusive');
  return () => other.close();
}
function fillDisk(dataDir: string): () => void {
  fill(join(dataDir, 'filler'));
  return () => rmSync(join(dataDir, 'filler'));
}

test.for([
  ['another process locks the database', lock, true],
  ['the disk is full (skipped where none may be mounted)', fillDisk, MAY_MOUNT],
] as const)(
  'replies 451 and 503 while %s, and then every mail arrives once',
  async ([_, breakDatabase, isPossible], { skip }) => {
    skip(!isPossible);
    const dataDir = site().dataDir();
    mkdirSync(dataDir);
    isMounted = breakDatabase === fillDisk;
    if (isMounted) mountSmallDisk(dataDir, DISK_MIB);
    const server = await site().startNode();
    const inboxes = await site().createInboxes(1);
    const to = inboxes.map(({ address }) => address);
    let made = 0;
    const send = (last: number) =>
      new MailQueue(site(), () => (made < last ? { id: `mail-${++made}`, to } : undefined), MAILS);
    const path = `/v1/inboxes/${inboxes[0]?.id}/messages`;
    const list = async () => (await server.api('GET', path)).body.messages;

    const before = send(MAILS);
    await before.drained();
    expect(before.replies).toEqual(new Map());
    // This list waits until the mails are parsed and the results stored.
    expect(await list()).toHaveLength(MAILS);
    const mend = breakDatabase(dataDir);
    const queue = send(2 * MAILS);
    await expect.poll(() => queue.replies.get('451')).toBeGreaterThanOrEqual(MAILS);
    const answer = await server.api('POST', '/v1/inboxes');
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect(answer.body).toMatchObject({ code: 'unavailable' });
    expect((await server.api('GET', '/readyz')).status).toBe(503);
    // Reads still work.
    expect(await list()).toHaveLength(MAILS);
    expect(queue.acknowledged).toEqual(new Map());

    mend();
    await queue.drained();
    expect([...queue.replies.keys()]).toEqual(['451']);
    expect((await server.api('POST', '/v1/inboxes')).status).toBe(201);
    const acknowledged = new Map([...before.acknowledged, ...queue.acknowledged]);
    const { stored } = await assertTruth(server, inboxes, { acknowledged, permanent: queue.permanent });
    expect([acknowledged.size, stored]).toEqual([2 * MAILS, 2 * MAILS]);
  },
);
