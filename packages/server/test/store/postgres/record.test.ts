import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { AttemptResult } from '../../../src/webhooks/sql/record.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { inboxAt, mailTo, T } from '../builders.ts';
import type { Opened } from '../contract/suite.ts';
import { openStores } from './open-postgres.ts';

const IS_THERE = await hasPostgres();
const WEBHOOKS = 10;

describe.skipIf(!IS_THERE)('recording attempts on PostgreSQL', () => {
  const owner = newId('acc', T);
  let stores: Awaited<ReturnType<typeof openStores>>;
  let on: Opened;
  beforeAll(async () => {
    stores = await openStores();
  });
  beforeEach(async () => {
    on = await stores.open();
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: T }, null);
    const { inbox } = await on.store.inboxes.create(owner, inboxAt(), 10, null);
    for (let n = 0; n < WEBHOOKS; n++) {
      const about = { inboxId: null, url: 'https://hooks.example/', description: '', secret: 's' };
      await on.store.webhooks.create(owner, { id: newId('whk', T), ...about, createdAt: T }, WEBHOOKS);
    }
    await on.store.messages.addBatch([mailTo([inbox]), mailTo([inbox])], T);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await on.close();
  });

  const attempt = { at: T, status: 500, durationMs: 1, error: null, responseStart: '' };

  async function claimed(): Promise<AttemptResult[]> {
    const all = await on.store.deliveries.claim({ prompt: 100, other: 100, leaseMs: 1_000 }, T);
    return all.map(({ webhookId, id, leasedUntil }) => ({
      ...{ webhookId, deliveryId: id, leasedUntil, attempt },
      next: { state: 'delivered', reason: null },
    }));
  }

  it('takes as many statements for many attempts as for one', async () => {
    const [one, ...others] = await claimed();
    if (!one) throw new Error('Nothing was claimed.');
    expect(others.length).toBeGreaterThan(WEBHOOKS / 2);
    const query = vi.spyOn(Client.prototype, 'query');
    await on.store.deliveries.record([one], T);
    const ofOne = query.mock.calls.length;
    await on.store.deliveries.record(others, T);
    expect(ofOne).toBeGreaterThan(0);
    expect(query.mock.calls.length).toBe(2 * ofOne);
  });

  it('leaves out results of webhooks that do not exist any more', async () => {
    const all = await claimed();
    const [first] = all;
    if (!first) throw new Error('Nothing was claimed.');
    await on.store.webhooks.delete(owner, first.webhookId, T);
    const streaks = await on.store.deliveries.record(all, T);
    const isGone = all.map(({ webhookId }) => webhookId === first.webhookId);
    expect(streaks.map((streak) => streak === undefined)).toEqual(isGone);
  });
});
