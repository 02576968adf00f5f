import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord, Store } from '../../../src/store/contract/index.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { inboxAt, mailTo, T } from '../builders.ts';
import { createDatabase } from './open-postgres.ts';

describe.skipIf(!(await hasPostgres()))('a webhook that one node deletes while another stores mail', () => {
  const owner = newId('acc', T);
  let cluster: PostgresCluster;
  let intake: Store;
  let deleting: Store;
  let admin: Client;
  let inbox: InboxRecord;
  beforeAll(async () => {
    cluster = await startPostgres();
  });
  afterAll(() => cluster.remove());
  beforeEach(async () => {
    const url = await createDatabase(cluster);
    intake = await openPostgres({ url });
    deleting = await openPostgres({ url });
    admin = new Client(url);
    await admin.connect();
    await intake.accounts.create({ id: owner, name: 'Test', plan: 'unlimited', createdAt: T }, null);
    inbox = (await intake.inboxes.create(owner, inboxAt(), 10, null)).inbox;
  });
  afterEach(async () => {
    await admin.end();
    await intake.close();
    await deleting.close();
  });

  /** How many statements wait for a lock. */
  async function waiting(): Promise<number> {
    // Not `pg_stat_activity`, which shows one state for the whole of a transaction.
    const { rows } = await admin.query('select count(*)::int as n from pg_locks where not granted');
    return rows[0].n;
  }

  it.each(['an inbox', 'the account'])('loses none of it: a webhook of %s', async (of) => {
    const id = newId('whk', T);
    const inboxId = of === 'an inbox' ? inbox.id : null;
    const webhook = { id, inboxId, url: 'http://127.0.0.1:9/', description: '', secret: 'whsec_a' };
    await intake.webhooks.create(owner, { ...webhook, createdAt: T }, 9);

    // The intake has found the webhook and stops where it writes the messages.
    await admin.query('begin; lock table messages in share mode');
    const adding = intake.messages.addBatch([mailTo([inbox])], T);
    while ((await waiting()) < 1) await pause(1);
    let isOver = false;
    const deletion = deleting.webhooks.delete(owner, id, T).finally(() => {
      isOver = true;
    });
    // The row of the webhook is removed now, or when the intake has ended.
    while (!isOver && (await waiting()) < 2) await pause(1);
    await admin.query('commit');

    expect(await deletion).toBe(true);
    expect((await adding).flat()).toMatchObject([{ messageId: expect.any(String) }]);
    const { rows } = await admin.query(
      'select (select count(*) from webhooks)::int as webhooks, (select count(*) from deliveries)::int as deliveries',
    );
    expect(rows).toEqual([{ webhooks: 0, deliveries: 0 }]);
  });
});
