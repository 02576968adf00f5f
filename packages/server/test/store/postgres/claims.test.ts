import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool, postgresEngine } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { queue } from '../../../src/webhooks/sql/queue.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { withReadings } from '../../support/store-on.ts';
import { inboxAt, mailTo, T, webhookAt } from '../builders.ts';
import { createDatabase } from './open-postgres.ts';

const limits = { prompt: 100, other: 100, leaseMs: 1_000 };

describe.skipIf(!(await hasPostgres()))('a claim of webhook deliveries on PostgreSQL', () => {
  let store: Store;
  let other: Store;
  let pool: Pool;
  const owner = newId('acc', T);
  let inbox: InboxRecord;
  const webhooks = [1, 2, 3].map((n) => newId('whk', T + n));

  beforeAll(async () => {
    const url = await createDatabase(await sharedPostgres());
    store = withReadings(await openPostgres({ url }));
    other = withReadings(await openPostgres({ url }));
    pool = createPool(url, () => undefined);
    await store.accounts.create({ id: owner, name: 'Test', plan: 'unlimited', createdAt: T }, null);
    inbox = (await store.inboxes.create(owner, inboxAt(), 10, null)).inbox;
    for (const id of webhooks) await store.webhooks.create(owner, webhookAt({ id }), 9);
  });
  afterAll(async () => {
    await pool.end();
    await other.close();
    await store.close();
  });

  /** A claim of one delivery whose transaction stays open, with its locks, until `release` is called. */
  function openClaim() {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const claimed = postgresEngine(pool).transaction(async (tx) => {
      const result = await queue.claim.run(tx, { ...limits, other: 1 }, T);
      reached.resolve();
      await gate.promise;
      return result;
    });
    return { claimed, reached: reached.promise, release: gate.resolve };
  }

  it('that stays open delays no message, and no claim of other webhooks', async () => {
    await store.messages.addBatch([mailTo([inbox])], T);
    // Takes the wakes of all three, and nothing else.
    await store.deliveries.claim({ ...limits, prompt: 0, other: 0 }, T);
    const open = openClaim();
    await open.reached;
    // These wait for the lock for ever if the intake writes to rows of webhooks.
    const [[placed] = []] = await store.messages.addBatch([mailTo([inbox])], T);
    expect(placed).toMatchObject({ deliveries: 3 });
    const mine = await other.deliveries.claim(limits, T);
    expect(mine).toHaveLength(2);
    open.release();
    const theirs = await open.claimed;
    expect(new Set([...theirs, ...mine].map(({ webhookId }) => webhookId)).size).toBe(3);
    // The wake of the locked webhook was left, and the message is not forgotten.
    await other.deliveries.claim(limits, T);
    const page = { limit: 9, before: null };
    for (const id of webhooks) {
      expect((await store.deliveries.list(owner, id, page, T)).deliveries).toHaveLength(2);
    }
    expect((await other.deliveries.claim(limits, T + 2_000)).length).toBe(3);
  });
});
