import { describe, expect, it } from 'vitest';
import { firstIdAt, newId } from '../../../src/ids.ts';
import type { AttemptRecord, DeliveryState } from '../../../src/webhooks/sql/log.ts';
import { type ClaimedDelivery, CONCURRENCY } from '../../../src/webhooks/sql/queue.ts';
import { type AttemptResult, PROMPT_MS } from '../../../src/webhooks/sql/record.ts';
import { DELIVERY_KEPT_MS, MAX_KEPT_DELIVERIES } from '../../../src/webhooks/sql/removal.ts';
import type { NewWebhook } from '../../../src/webhooks/sql/webhooks.ts';
import { mailTo, onlyPlaced, placedIn, sweepAll, T } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

const LEASE = 1000;
const limits = { prompt: 100, other: 100, leaseMs: LEASE };

const webhookAt = (changes: Partial<NewWebhook> = {}): NewWebhook => ({
  id: newId('whk', T),
  inboxId: null,
  url: 'http://127.0.0.1:9/',
  description: 'NUL \0, lone \ud800',
  secret: 'whsec_one',
  createdAt: T,
  ...changes,
});

const attempt = (changes: Partial<AttemptRecord> = {}): AttemptRecord => ({
  at: T,
  status: 200,
  durationMs: 5,
  error: null,
  responseStart: 'NUL \0, lone \udfff',
  ...changes,
});
const failed = (at: number) => attempt({ at, status: 500, error: { code: 'status', message: 'no' } });

const result = (claimed: ClaimedDelivery, changes: Partial<AttemptResult>): AttemptResult => ({
  webhookId: claimed.webhookId,
  deliveryId: claimed.id,
  leasedUntil: claimed.leasedUntil,
  attempt: attempt(),
  next: { state: 'delivered', reason: null },
  ...changes,
});

async function record(store: Opened['store'], results: readonly AttemptResult[], now: number) {
  const streaks = [];
  for (const one of results) streaks.push(await store.deliveries.record(one, now));
  return streaks;
}

/** The part of the contract in `webhook-contract.ts`. */
export function describeWebhooks(given: Given): void {
  /** A store with an account, an inbox and webhooks. */
  const start = async (count = 1) => {
    const on = await given.fresh();
    const owner = await given.account(on);
    const inbox = await given.inbox(owner, {}, on);
    const webhooks: string[] = [];
    for (let i = 0; i < count; i++) {
      webhooks.push((await on.store.webhooks.create(owner, webhookAt(), 1000)).id);
    }
    const [webhook = ''] = webhooks;
    const { store } = on;
    return {
      ...{ on, store, owner, inbox, webhooks, webhook },
      mail: (now = T) => onlyPlaced(store, mailTo([inbox]), now),
      log: async (id = webhook, now = T) =>
        (await store.deliveries.list(owner, id, { limit: 200, before: null }, now)).deliveries,
    };
  };
  const markPrompt = async ({ store }: Opened, owner: string, webhook: string, now: number) => {
    await store.deliveries.addTest(
      owner,
      webhook,
      { deliveryId: newId('dlv', now), eventId: newId('evt', now) },
      now,
    );
    const claimed = await store.deliveries.claim(limits, now);
    await record(
      store,
      claimed.map((one) => result(one, {})),
      now,
    );
  };

  describe('webhooks', () => {
    it('a webhook comes back as it was made, without its secret', async () => {
      const owner = await given.account();
      const wish = webhookAt();
      const { secret, ...rest } = wish;
      const record = {
        ...{ ...rest, accountId: owner, enabled: true },
        ...{ disabledReason: null, endsAt: null, failingSince: null },
      };
      expect(await given.store.webhooks.create(owner, wish, 1)).toEqual(record);
      expect(await given.store.webhooks.find(owner, wish.id, T)).toEqual(record);
      expect(JSON.stringify(record)).not.toContain(secret);
    });

    it('fifty registrations at once at a limit of ten make exactly ten', async () => {
      const owner = await given.account();
      const made = await Promise.allSettled(
        Array.from({ length: 50 }, () => given.store.webhooks.create(owner, webhookAt(), 10)),
      );
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    });

    it("of another account's inbox there is none, and nothing of another account's can be touched", async () => {
      const [owner, stranger] = [await given.account(), await given.account()];
      const { id: inboxId } = await given.inbox(owner);
      const { webhooks, deliveries } = given.store;
      await expect(webhooks.create(stranger, webhookAt({ inboxId }), 9)).rejects.toMatchObject({
        code: 'not_found',
      });
      const { id } = await webhooks.create(owner, webhookAt({ inboxId }), 9);
      const test = { deliveryId: newId('dlv', T), eventId: newId('evt', T) };
      expect(await webhooks.find(stranger, id, T)).toBeUndefined();
      expect(await webhooks.update(stranger, id, { enabled: false }, T)).toBeUndefined();
      expect(await webhooks.rotateSecret(stranger, id, 'x', T, T)).toBeUndefined();
      expect(await webhooks.delete(stranger, id, T)).toBe(false);
      expect(await deliveries.addTest(stranger, id, test, T)).toBeUndefined();
      await deliveries.addTest(owner, id, test, T);
      expect(await deliveries.replay(stranger, id, test.deliveryId, T)).toBeUndefined();
      const page = { limit: 9, before: null };
      expect((await deliveries.list(stranger, id, page, T)).deliveries).toEqual([]);
      expect((await webhooks.list(stranger, page, T)).webhooks).toEqual([]);
      // Nor through another webhook of one's own.
      const { id: other } = await webhooks.create(owner, webhookAt(), 9);
      expect((await deliveries.list(owner, other, page, T)).deliveries).toEqual([]);
    });

    it('are counted while their deliveries wait or are attempted, with the inboxes that live', async () => {
      const { store, inbox, mail } = await start();
      const none = { liveInboxes: 1, pendingDeliveries: 0, firstDueAt: null };
      expect(await store.upkeep.measure(T)).toEqual(none);
      await mail(T + 10);
      expect(await store.upkeep.measure(T + 20)).toMatchObject({ pendingDeliveries: 1, firstDueAt: T + 10 });
      const claimed = await store.deliveries.claim(limits, T + 20);
      expect(await store.upkeep.measure(T + 20)).toMatchObject({ pendingDeliveries: 1, firstDueAt: null });
      await record(
        store,
        claimed.map((one) => result(one, {})),
        T + 20,
      );
      expect(await store.upkeep.measure(T + 20)).toEqual(none);
      expect(await store.upkeep.measure(inbox.expiresAt)).toEqual({ ...none, liveInboxes: 0 });
    });

    it('after a rotation both secrets sign, the newest first, until the old one ends', async () => {
      const { store, owner, webhook, mail } = await start();
      await store.webhooks.rotateSecret(owner, webhook, 'whsec_two', T + 5000, T);
      for (const [now, secrets] of [
        [T, ['whsec_two', 'whsec_one']],
        [T + 4999, ['whsec_two', 'whsec_one']],
        [T + 5000, ['whsec_two']],
      ] as const) {
        await mail(now);
        const claimed = await store.deliveries.claim(limits, now);
        expect(claimed[0]?.secrets).toEqual(secrets);
        await record(
          store,
          claimed.map((one) => result(one, {})),
          now,
        );
      }
    });
  });

  describe('deliveries', () => {
    it('a message and its deliveries are one transaction, one event for all webhooks', async () => {
      const { mail, log, webhooks } = await start(3);
      const placed = await mail();
      expect(placed).toMatchObject({ deliveries: 3 });
      const logs = await Promise.all(webhooks.map((id) => log(id)));
      for (const deliveries of logs) {
        expect(deliveries).toMatchObject([
          { state: 'pending', messageId: placed.messageId, nextAttemptAt: T },
        ]);
      }
      expect(new Set(logs.flat().map(({ eventId }) => eventId)).size).toBe(1);
      expect(new Set(logs.flat().map(({ id }) => id)).size).toBe(3);
    });

    it('those of a mail that is not read are kept with it, and due once it is read', async () => {
      const { store, inbox, webhooks } = await start(2);
      const { reading, ...unread } = mailTo([inbox]);
      const [[placed] = []] = await store.messages.addBatch([unread], T);
      const { source } = placedIn(placed);
      expect(await store.deliveries.claim(limits, T)).toEqual([]);
      expect(await store.readings.keep([{ ...reading, source, size: unread.raw.length }])).toBe(2);
      const claimed = await store.deliveries.claim(limits, T);
      expect(claimed.map(({ webhookId }) => webhookId).sort()).toEqual(webhooks.toSorted());
    });

    it('a message without webhooks says nothing of deliveries', async () => {
      const { store, inbox } = await start(0);
      const [[placed] = []] = await store.messages.addBatch([mailTo([inbox])], T);
      expect(placed).not.toHaveProperty('deliveries');
      expect(await store.deliveries.nextAt(T)).toBeNull();
    });

    it('a claimed delivery is nobody else’s until its lease ends, and then due again with the same ids', async () => {
      const { store, mail } = await start();
      await mail();
      const claims = await Promise.all([1, 2, 3].map(() => store.deliveries.claim(limits, T)));
      expect(claims.flat()).toHaveLength(1);
      const [first] = claims.flat();
      expect(await store.deliveries.nextAt(T)).toBe(T + LEASE);
      expect(await store.deliveries.claim(limits, T + LEASE - 1)).toEqual([]);
      const [again] = await store.deliveries.claim(limits, T + LEASE);
      expect(again).toEqual({ ...first, leasedUntil: T + 2 * LEASE });
    });

    it('an attempt of a claim that ran out is logged, and does not move the delivery that another holds', async () => {
      const { store, mail, log } = await start();
      await mail();
      const [slow] = (await store.deliveries.claim(limits, T)) as [ClaimedDelivery];
      const [quick] = (await store.deliveries.claim(limits, T + LEASE)) as [ClaimedDelivery];
      await record(store, [result(slow, { attempt: failed(T), next: { state: 'pending', at: T + 9 } })], T);
      expect(await log()).toMatchObject([
        { state: 'pending', nextAttemptAt: null, attempts: [{ status: 500 }] },
      ]);
      await record(store, [result(quick, {})], T + LEASE);
      expect(await log()).toMatchObject([
        { state: 'delivered', attempts: [{ status: 500 }, { status: 200 }] },
      ]);
    });

    it('claims of a dead process can be given up at once', async () => {
      const { store, mail } = await start();
      await mail();
      const [first] = await store.deliveries.claim(limits, T);
      await store.deliveries.releaseAll(T + 1);
      expect(await store.deliveries.claim(limits, T + 1)).toMatchObject([{ id: first?.id }]);
    });

    it('one at a time for a webhook that has not proven prompt, four for one that has', async () => {
      const { on, store, owner, webhook, mail } = await start();
      for (let i = 0; i < 9; i++) await mail();
      const one = await store.deliveries.claim(limits, T);
      expect(one).toHaveLength(1);
      expect(await store.deliveries.claim(limits, T)).toEqual([]);
      await record(
        store,
        one.map((claimed) => result(claimed, {})),
        T,
      );
      const four = await store.deliveries.claim(limits, T);
      expect(four).toHaveLength(CONCURRENCY);
      expect(await store.deliveries.claim(limits, T)).toEqual([]);
      const [slow, ...others] = four as [ClaimedDelivery, ...ClaimedDelivery[]];
      await record(
        store,
        others.map((claimed) => result(claimed, {})),
        T,
      );
      // Slow is not prompt.
      await record(store, [result(slow, { attempt: attempt({ durationMs: PROMPT_MS + 1 }) })], T);
      expect(await store.deliveries.claim(limits, T)).toHaveLength(1);
      await expect(markPrompt(on, owner, webhook, T)).resolves.toBeUndefined();
    });

    it('any number of webhooks that fail leaves the slots of the prompt ones alone', async () => {
      const { on, store, owner, webhooks, webhook, mail } = await start(60);
      await markPrompt(on, owner, webhook, T);
      for (let i = 0; i < 3; i++) await mail();
      const claimed = await store.deliveries.claim({ prompt: 2, other: 20, leaseMs: LEASE }, T);
      const prompt = claimed.filter((one) => one.webhookId === webhook);
      expect([prompt.length, claimed.length]).toEqual([2, 22]);
      // The others each get their turn, none twice before all had one.
      const rest = await store.deliveries.claim({ prompt: 0, other: 100, leaseMs: LEASE }, T);
      expect(new Set([...claimed, ...rest].map(({ webhookId }) => webhookId)).size).toBe(webhooks.length);
    });

    it('the longest due goes first', async () => {
      const { store, mail } = await start();
      const placed = [await mail(T), await mail(T + 1), await mail(T + 2)];
      for (const { messageId } of placed) {
        const [claimed] = (await store.deliveries.claim({ ...limits, prompt: 1 }, T + 3)) as [
          ClaimedDelivery,
        ];
        expect(claimed.messageId).toBe(messageId);
        await record(store, [result(claimed, {})], T + 3);
      }
    });

    it('a retry is due at its time and not before, and a replay begins a new round at once', async () => {
      const { store, owner, webhook, mail, log } = await start();
      await mail();
      const [claimed] = (await store.deliveries.claim(limits, T)) as [ClaimedDelivery];
      await record(
        store,
        [result(claimed, { attempt: failed(T), next: { state: 'pending', at: T + 50 } })],
        T,
      );
      expect(await store.deliveries.nextAt(T)).toBe(T + 50);
      expect(await store.deliveries.claim(limits, T + 49)).toEqual([]);
      const [second] = (await store.deliveries.claim(limits, T + 50)) as [ClaimedDelivery];
      expect(second.attemptNumber).toBe(2);
      await record(store, [result(second, { next: { state: 'failed', reason: 'no more' } })], T + 51);
      expect(await log()).toMatchObject([{ state: 'failed', reason: 'no more', nextAttemptAt: null }]);
      const replayed = await store.deliveries.replay(owner, webhook, claimed.id, T + 60);
      expect(replayed).toMatchObject({ state: 'pending', reason: null, nextAttemptAt: T + 60 });
      const [third] = (await store.deliveries.claim(limits, T + 60)) as [ClaimedDelivery];
      expect(third).toMatchObject({ id: claimed.id, eventId: claimed.eventId, attemptNumber: 1 });
      expect((await log())[0]?.attempts).toHaveLength(2);
    });

    it('those in one state are listed by themselves, and replayed together, from a time on', async () => {
      const { store, owner, webhook, mail, inbox, on } = await start();
      const ended = await given.inbox(owner, { expiresAt: T + 1000 }, on);
      const end = async (now: number, state: 'failed' | 'delivered') => {
        const claimed = await store.deliveries.claim(limits, now);
        await record(
          store,
          claimed.map((one) => result(one, { next: { state, reason: null } })),
          now,
        );
        return claimed.map(({ id }) => id);
      };
      await mail(T);
      const early = await end(T, 'failed');
      await mail(T + 1);
      await end(T + 1, 'delivered');
      await store.messages.addBatch([mailTo([ended])], T + 2);
      await end(T + 2, 'failed');
      await mail(T + 3);
      const late = await end(T + 3, 'failed');
      await mail(T + 4);
      const listed = async (state: DeliveryState, limit = 9) => {
        const page = { limit, before: null, state };
        const { deliveries, hasMore } = await store.deliveries.list(owner, webhook, page, T + 9);
        return { ids: deliveries.map(({ id }) => id), hasMore };
      };
      const failures = await listed('failed');
      expect(failures).toMatchObject({ ids: [late[0], expect.any(String), early[0]], hasMore: false });
      expect(await listed('failed', 2)).toEqual({ ids: failures.ids.slice(0, 2), hasMore: true });
      expect((await listed('delivered')).ids).toHaveLength(1);
      expect((await listed('pending')).ids).toHaveLength(1);

      const now = T + 2000;
      const step = { state: 'failed', after: '', before: 'dlv_z', limit: 2 } as const;
      const stranger = await given.account(on);
      expect(await store.deliveries.replaySome(stranger, webhook, step, now)).toBeUndefined();
      const since = firstIdAt('dlv', T + 3);
      const recent = { ...step, after: since, limit: 9 };
      expect(await store.deliveries.replaySome(owner, webhook, recent, now)).toEqual({
        replayed: 1,
        last: null,
      });
      expect((await listed('pending')).ids).toHaveLength(2);
      let replayed = 0;
      let last: string | null = '';
      while (last !== null) {
        const done = await store.deliveries.replaySome(owner, webhook, { ...step, after: last }, now);
        replayed += done?.replayed ?? 0;
        last = done?.last ?? null;
      }
      // One was replayed above, and the inbox of another has ended.
      expect(replayed).toBe(1);
      expect((await listed('failed')).ids).toHaveLength(1);
      expect(await store.deliveries.nextAt(now)).toBeLessThanOrEqual(now);
      expect(inbox.expiresAt).toBeGreaterThan(now);
      const [claimed] = await store.deliveries.claim(limits, now);
      expect(claimed).toMatchObject({ attemptNumber: 1 });
    });

    it('failures are counted until a success, or until the webhook is enabled anew', async () => {
      const { store, owner, webhook, mail } = await start();
      const fail = async (now: number) => {
        await mail(now);
        const claimed = await store.deliveries.claim(limits, now);
        const ends = claimed.map((one) =>
          result(one, { attempt: failed(now), next: { state: 'failed', reason: null } }),
        );
        return (await record(store, ends, now))[0];
      };
      expect(await fail(T)).toEqual({ failingSince: T, failedAttempts: 1 });
      expect(await fail(T + 500)).toEqual({ failingSince: T, failedAttempts: 2 });
      expect(await store.webhooks.find(owner, webhook, T)).toMatchObject({ failingSince: T });
      await store.webhooks.update(owner, webhook, { enabled: true }, T);
      expect(await fail(T + 501)).toEqual({ failingSince: T + 501, failedAttempts: 1 });
      await mail(T + 1000);
      const claimed = await store.deliveries.claim(limits, T + 1000);
      expect(
        await record(
          store,
          claimed.map((one) => result(one, {})),
          T + 10,
        ),
      ).toEqual([{ failingSince: null, failedAttempts: 0 }]);
    });

    it('a webhook that fails pauses between its attempts, the longer the more often, up to a second', async () => {
      const { store, mail } = await start();
      for (let i = 0; i < 12; i++) await mail();
      const pauses: number[] = [];
      for (let now = T; pauses.length < 10; ) {
        const [claimed] = (await store.deliveries.claim(limits, now)) as [ClaimedDelivery];
        const end = { attempt: failed(now), next: { state: 'failed', reason: null } } as const;
        await record(store, [result(claimed, end)], now);
        // News of another mail does not end the pause.
        await mail(now);
        expect(await store.deliveries.claim(limits, now)).toEqual([]);
        const next = (await store.deliveries.nextAt(now)) ?? 0;
        expect(await store.deliveries.claim(limits, next - 1)).toEqual([]);
        pauses.push(next - now);
        now = next;
      }
      expect(pauses).toEqual([25, 50, 100, 200, 400, 800, 1000, 1000, 1000, 1000]);
    });

    it.each(['its owner', 'the server'])(
      'what is pending when %s disables a webhook ends at the next claim',
      async (who) => {
        const { store, owner, webhook, mail, log } = await start();
        for (let i = 0; i < 130; i++) await mail();
        const [underWay] = (await store.deliveries.claim(limits, T)) as [ClaimedDelivery];
        if (who === 'its owner') await store.webhooks.update(owner, webhook, { enabled: false }, T);
        else await store.webhooks.disable(webhook, 'It answered 410.');
        for (let i = 0; i < 3; i++) expect(await store.deliveries.claim(limits, T)).toEqual([]);
        const why = who === 'its owner' ? '' : ' It answered 410.';
        const states = new Set((await log()).map(({ state, reason }) => `${state}: ${reason}`));
        expect(states).toEqual(new Set([`cancelled: The webhook was disabled.${why}`]));
        expect(await store.deliveries.nextAt(T)).toBeNull();
        // What was under way is logged, and stays cancelled.
        await record(store, [result(underWay, {})], T);
        expect(await log()).toContainEqual(
          expect.objectContaining({ id: underWay.id, state: 'cancelled', attempts: [attempt()] }),
        );
        expect(await mail()).not.toHaveProperty('deliveries');
      },
    );

    it('an inbox that ends takes its pending deliveries with it, everywhere, and nothing is claimed', async () => {
      const { store, owner, inbox, webhook, mail, log } = await start();
      await store.webhooks.create(owner, webhookAt({ id: newId('whk', T + 1), inboxId: inbox.id }), 99);
      for (let i = 0; i < 120; i++) await mail();
      await store.deliveries.claim(limits, T);
      await store.inboxes.delete(owner, inbox.id, T);
      await sweepAll(store, T);
      expect(new Set((await log()).map(({ state, reason }) => `${state}: ${reason}`))).toEqual(
        new Set(['cancelled: The inbox ended.']),
      );
      expect(await store.deliveries.claim(limits, T + LEASE)).toEqual([]);
      expect(await log(webhook, T + 1)).toHaveLength(120);
    });

    it('the log is kept for a week after a delivery ended, what is pending for as long as it takes', async () => {
      const { on, store, mail, log, webhook } = await start();
      await mail();
      await mail();
      const [claimed] = (await store.deliveries.claim(limits, T)) as [ClaimedDelivery];
      await record(store, [result(claimed, {})], T);
      for (const [now, left] of [
        [T + DELIVERY_KEPT_MS - 1, 2],
        [T + DELIVERY_KEPT_MS, 1],
      ] as const) {
        await sweepAll(store, now);
        expect((await on.counts()).deliveries).toBe(left);
      }
      expect(await log(webhook)).toMatchObject([{ state: 'cancelled' }]);
    });

    it('a deleted webhook leaves nothing behind', async () => {
      const { on, store, owner, webhook, mail } = await start();
      for (let i = 0; i < 130; i++) await mail();
      const claimed = await store.deliveries.claim(limits, T);
      await record(
        store,
        claimed.map((one) => result(one, {})),
        T,
      );
      const [underWay, another] = (await store.deliveries.claim(limits, T)) as [
        ClaimedDelivery,
        ClaimedDelivery,
      ];
      expect(await store.webhooks.delete(owner, webhook, T)).toBe(true);
      await record(store, [result(another, {})], T);
      expect(await store.deliveries.claim(limits, T + LEASE)).toEqual([]);
      await sweepAll(store, T);
      expect(await on.counts()).toMatchObject({ webhooks: 0, deliveries: 0 });
      expect(await record(store, [result(underWay, {})], T)).toEqual([undefined]);
      expect(await on.counts()).toMatchObject({ webhooks: 0, deliveries: 0 });
    });

    it(`a log holds ${MAX_KEPT_DELIVERIES} ended deliveries, the newest`, async () => {
      const { on, store, owner, inbox, webhook } = await start();
      const over = 130;
      for (let i = 0; i < (MAX_KEPT_DELIVERIES + over) / 2030; i++) {
        const batch = Array.from({ length: 2030 }, () => ({ ...mailTo([inbox], { maxMessages: 20_000 }) }));
        await store.messages.addBatch(batch, T + i);
      }
      const before = await on.counts();
      await store.upkeep.sweep(T + 10, 10_000);
      expect(await on.counts(), 'none that is pending goes').toEqual(before);
      await store.webhooks.update(owner, webhook, { enabled: false }, T);
      while ((await store.deliveries.nextAt(T + 10)) !== null) await store.deliveries.claim(limits, T + 10);
      await sweepAll(store, T + 10);
      expect((await on.counts()).deliveries).toBe(MAX_KEPT_DELIVERIES);
    });
  });
}
