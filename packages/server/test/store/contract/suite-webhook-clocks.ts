import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { ClaimedDelivery } from '../../../src/webhooks/sql/queue.ts';
import { mailTo, T } from '../builders.ts';
import type { Given } from './suite.ts';

const HOUR = 60 * 60_000;
const LEASE = 60_000;
const RETRY = 5_000;
const limits = { prompt: 100, other: 100, leaseMs: LEASE };

/** What webhooks promise on nodes with different clocks. */
export function describeWebhookClocks(given: Given): void {
  const start = async () => {
    const on = await given.fresh();
    const owner = await given.account(on);
    const inbox = await given.inbox(owner, { expiresAt: T + 30 * HOUR }, on);
    const { store } = on;
    const register = async () => {
      const id = newId('whk', T);
      const wish = { id, inboxId: null, url: 'http://127.0.0.1:9/', description: '', secret: 'whsec_a' };
      await store.webhooks.create(owner, { ...wish, createdAt: T }, 9);
      return id;
    };
    const webhook = await register();
    const result = (claimed: ClaimedDelivery, status: number, now: number) => ({
      ...{ webhookId: claimed.webhookId, deliveryId: claimed.id, leasedUntil: claimed.leasedUntil },
      attempt: {
        ...{ at: now, status, durationMs: 5, responseStart: '' },
        error: status === 200 ? null : { code: 'status', message: 'It failed.' },
      },
      next:
        status === 200
          ? ({ state: 'delivered', reason: null } as const)
          : ({ state: 'pending', at: now + RETRY } as const),
    });
    return {
      ...{ on, store, owner, inbox, webhook, register },
      mail: (now: number, by = store) => by.messages.addBatch([mailTo([inbox])], now),
      claim: (now: number, by = store) => by.deliveries.claim(limits, now),
      record: async (claimed: ClaimedDelivery[], status: number, now: number) => {
        for (const one of claimed) await store.deliveries.record(result(one, status, now), now);
      },
      log: async (now: number) =>
        (await store.deliveries.list(owner, webhook, { limit: 200, before: null }, now)).deliveries,
    };
  };

  describe('webhooks on nodes with different clocks', () => {
    it('attempt at once what a node an hour ahead, or behind, has received', async () => {
      const { on, mail, claim, record } = await start();
      const other = await on.openAnother();
      for (const skew of [HOUR, -HOUR]) {
        await mail(T + skew, other);
        const claimed = await claim(T);
        expect(claimed, `${skew / HOUR} h ahead`).toMatchObject([{ attemptNumber: 1 }]);
        await record(claimed, 200, T);
      }
    });

    it('lease by the time that is given for schedules, whatever their wall clocks say', async () => {
      const { on, store, mail, claim } = await start();
      const other = await on.openAnother();
      await mail(T);
      expect(await store.deliveries.claim(limits, T - HOUR, T)).toHaveLength(1);
      expect(await other.deliveries.claim(limits, T + HOUR, T + 10)).toEqual([]);
      expect(await claim(T + LEASE)).toHaveLength(1);
    });

    it('replay and test at once, whatever the clock of the node that was asked says', async () => {
      const { store, owner, webhook, claim, record } = await start();
      const ids = { deliveryId: newId('dlv', T), eventId: newId('evt', T) };
      await store.deliveries.addTest(owner, webhook, ids, T + HOUR);
      const claimed = await claim(T);
      expect(claimed).toMatchObject([{ id: ids.deliveryId }]);
      await record(claimed, 200, T);
      await store.deliveries.replay(owner, webhook, ids.deliveryId, T + HOUR);
      expect(await claim(T)).toMatchObject([{ id: ids.deliveryId }]);
    });

    it('do not take milliseconds between two readings of the shared clock for a step', async () => {
      const { mail, claim, record, log } = await start();
      await mail(T);
      await record(await claim(T), 500, T);
      for (let i = 0; i < 20; i++) await claim(T + (i % 2 === 0 ? 500 : 0));
      expect(await log(T)).toMatchObject([{ nextAttemptAt: T + RETRY }]);
    });
  });
}
