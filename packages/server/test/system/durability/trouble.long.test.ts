import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { MailQueue } from '../nodes/mail-queue.ts';
import { useSite } from '../nodes/nodes.ts';
import { assertTruth } from '../nodes/truth.ts';

const MAILS = 20;

const site = useSite(1, { engine: 'SQLite' });

test('replies 451 and 503 while another process locks the database, and then every mail arrives once', async () => {
  const server = site().node(0);
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
  const other = new DatabaseSync(join(site().dataDir(), 'mayfly.db'));
  other.exec('begin exclusive');
  const queue = send(2 * MAILS);
  await expect.poll(() => queue.replies.get('451')).toBeGreaterThanOrEqual(MAILS);
  const answer = await server.api('POST', '/v1/inboxes');
  expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([503, true]);
  expect(answer.body).toMatchObject({ code: 'unavailable' });
  expect((await server.api('GET', '/readyz')).status).toBe(503);
  // Reads still work.
  expect(await list()).toHaveLength(MAILS);
  expect(queue.acknowledged).toEqual(new Map());

  other.close();
  await queue.drained();
  expect([...queue.replies.keys()]).toEqual(['451']);
  expect((await server.api('POST', '/v1/inboxes')).status).toBe(201);
  const acknowledged = new Map([...before.acknowledged, ...queue.acknowledged]);
  const { stored } = await assertTruth(server, inboxes, { acknowledged, permanent: queue.permanent });
  expect([acknowledged.size, stored]).toEqual([2 * MAILS, 2 * MAILS]);
});
