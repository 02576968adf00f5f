import { describe, expect, it } from 'vitest';
import { firstIdAt, newId } from '../../../src/ids.ts';
import type { AttemptRecord, DeliveryState } from '../../../src/webhooks/sql/log.ts';
import { type ClaimedDelivery, CONCURRENCY } from '../../../src/webhooks/sql/queue.ts';
import { type AttemptResult, PROMPT_MS } from '../../../src/webhooks/sql/record.ts';
import { DELIVERY_KEPT_MS, MAX_KEPT_DELIVERIES } from '../../../src/webhooks/sql/removal.ts';
import { HOUR, mailsTo, mailTo, onlyPlaced, placedIn, sweepAll, T, webhookAt } from '../builders.ts';
import type { Given } from './suite.ts';

const LEASE = 1000;
const limits = { prompt: 100, other: 100, leaseMs: LEASE };
/** More than one claim cancels, and one transaction deletes. */
const MANY = 130;

const SUCCESS: AttemptRecord = {
  ...{ at: T, status: 200, durationMs: 5, error: null, responseStart: 'NUL \0, lone \udfff' },
};
const failed = (at: number): AttemptRecord => ({
  ...{ ...SUCCESS, at, status: 500, error: { code: 'status', message: 'no' } },
});
const FAILED = { state: 'failed', reason: null } as const;
const newIds = (now: number) => ({ deliveryId: newId('dlv', now), eventId: newId('evt', now) });

/** Webhooks and the queues of their deliveries. */
export function describeWebhooks(given: Given): void {
  /** A store with an account, an inbox and webhooks, and short names for what happens to deliveries. */
  const start = async (count = 1) => {
    const { on, store, owner, inbox } = await given.place('fresh');
    const webhooks: string[] = [];
    for (let i = 0; i < count; i++) webhooks.push((await store.webhooks.create(owner, webhookAt(), 1000)).id);
    const [webhook = ''] = webhooks;
    const claim = (now = T, some: Partial<typeof limits> = {}, by = store) =>
      by.deliveries.claim({ ...limits, ...some }, now);
    const record = async (claimed: ClaimedDelivery[], changes: Partial<AttemptResult> = {}, now = T) => {
      const streaks = [];
      for (const { webhookId, id: deliveryId, leasedUntil } of claimed) {
        const ids = { webhookId, deliveryId, leasedUntil };
        const delivered = { attempt: SUCCESS, next: { state: 'delivered', reason: null } } as const;
        streaks.push(await store.deliveries.record({ ...ids, ...delivered, ...changes }, now));
      }
      return streaks;
    };
    return {
      ...{ on, store, owner, inbox, webhooks, webhook, claim, record },
      /** Claims exactly one delivery. */
      claimOne: async (now = T, some: Partial<typeof limits> = {}) => {
        const claimed = await claim(now, some);
        expect(claimed).toHaveLength(1);
        return claimed[0] as ClaimedDelivery;
      },
      mail: (now = T, by = store) => onlyPlaced(by, mailTo([inbox]), now),
      mails: (count: number) => store.messages.addBatch(mailsTo(count, [inbox]), T),
      log: async (id = webhook, now = T) =>
        (await store.deliveries.list(owner, id, { limit: 200, before: null }, now)).deliveries,
    };
  };
  const reasons = (log: { state: string; reason: string | null }[]) =>
    new Set(log.map(({ state, reason }) => `${state}: ${reason}`));

  it('webhooks are counted while their deliveries wait or are attempted, with the inboxes that live', async () => {
    const { store, inbox, mail, claim, record } = await start();
    const none = { liveInboxes: 1, pendingDeliveries: 0, firstDueAt: null };
    const measure = (now = T + 20) => store.upkeep.measure(now);
    expect(await measure()).toEqual(none);
    await mail(T + 10);
    expect(await measure()).toMatchObject({ pendingDeliveries: 1, firstDueAt: T + 10 });
    const claimed = await claim(T + 20);
    expect(await measure()).toMatchObject({ pendingDeliveries: 1, firstDueAt: null });
    await record(claimed, {}, T + 20);
    expect(await measure()).toEqual(none);
    expect(await measure(inbox.expiresAt)).toEqual({ ...none, liveInboxes: 0 });
  });

  describe('deliveries', () => {
    it('of a mail that is not read are kept with it, and due once it is read', async () => {
      const { store, inbox, webhooks, claim } = await start(2);
      const { reading, ...unread } = mailTo([inbox]);
      const [[placed] = []] = await store.messages.addBatch([unread], T);
      const { source } = placedIn(placed);
      expect(await claim()).toEqual([]);
      expect(await store.readings.keep([{ ...reading, source, size: unread.raw.length }])).toBe(2);
      const claimed = await claim();
      expect(claimed.map(({ webhookId }) => webhookId).sort()).toEqual(webhooks.toSorted());
      expect(new Set(claimed.map(({ eventId }) => eventId)).size).toBe(1);
    });

    it('of a message are those of its own webhooks, and none of another message or account', async () => {
      const { store, owner, inbox } = await given.place();
      const stranger = await given.account();
      const other = await given.inbox(owner);
      const register = async (accountId: string, inboxId: string | null) =>
        (await store.webhooks.create(accountId, webhookAt({ inboxId }), 9)).id;
      const own = [await register(owner, null), await register(owner, inbox.id)];
      await register(owner, other.id);
      await register(stranger, null);
      const { messageId, receivedAt: to } = await onlyPlaced(store, mailTo([inbox]), T);
      await store.messages.addBatch([mailTo([inbox]), mailTo([other])], T);
      const message = { inboxId: inbox.id, messageId, from: T, to };
      const listed = (accountId: string, now = T) => store.deliveries.listOfMessage(accountId, message, now);
      const found = await listed(owner);
      expect(found.map(({ webhookId }) => webhookId).sort()).toEqual(own.toSorted());
      for (const one of found) expect(one).toMatchObject({ messageId, inboxId: inbox.id, attempts: [] });
      expect(await listed(stranger)).toEqual([]);
      expect(await listed(owner, inbox.expiresAt)).toEqual([]);
    });

    it('that are claimed are nobody else’s until the lease ends, and then due again with the same ids', async () => {
      const { store, mail, log, claim, claimOne, record } = await start();
      await mail();
      const claims = (await Promise.all([1, 2, 3].map(() => claim()))).flat();
      expect(claims).toHaveLength(1);
      const [slow] = claims as [ClaimedDelivery];
      expect(await store.deliveries.nextAt(T)).toBe(T + LEASE);
      expect(await claim(T + LEASE - 1)).toEqual([]);
      const quick = await claimOne(T + LEASE);
      expect(quick).toEqual({ ...slow, leasedUntil: T + 2 * LEASE });

      // An attempt of the first claim is logged, and does not move the delivery that the second one has.
      await record([slow], { attempt: failed(T), next: { state: 'pending', at: T + 9 } });
      const first = { status: 500 };
      expect(await log()).toMatchObject([{ state: 'pending', nextAttemptAt: null, attempts: [first] }]);
      await record([quick], {}, T + LEASE);
      expect(await log()).toMatchObject([{ state: 'delivered', attempts: [first, { status: 200 }] }]);

      // Claims of a process that ended can be given up at once.
      await mail(T + LEASE);
      const { id } = await claimOne(T + LEASE);
      await store.deliveries.releaseAll(T + LEASE + 1);
      expect(await claimOne(T + LEASE + 1)).toMatchObject({ id });
    });

    it('are claimed one at a time for a webhook that has not proven prompt, four for one that has', async () => {
      const { mails, claim, claimOne, record } = await start();
      await mails(9);
      const one = await claimOne();
      expect(await claim()).toEqual([]);
      await record([one]);
      const [slow, ...others] = (await claim()) as [ClaimedDelivery, ...ClaimedDelivery[]];
      expect(others).toHaveLength(CONCURRENCY - 1);
      expect(await claim()).toEqual([]);
      await record(others);
      // Slow is not prompt.
      await record([slow], { attempt: { ...SUCCESS, durationMs: PROMPT_MS + 1 } });
      await claimOne();
    });

    it('of any number of webhooks that fail leave the slots of the prompt ones alone', async () => {
      const { store, owner, webhooks, webhook, mails, claim, record } = await start(60);
      await store.deliveries.addTest(owner, webhook, newIds(T), T);
      await record(await claim());
      await mails(3);
      const claimed = await claim(T, { prompt: 2, other: 20 });
      const prompt = claimed.filter((one) => one.webhookId === webhook);
      expect([prompt.length, claimed.length]).toEqual([2, 22]);
      // The others each get their turn, none twice before all had one.
      const rest = await claim(T, { prompt: 0 });
      expect(new Set([...claimed, ...rest].map(({ webhookId }) => webhookId)).size).toBe(webhooks.length);
    });

    it('are claimed in the order of their times; a retry at its time and not before, a replay at once as a new round', async () => {
      const { store, owner, webhook, mail, log, claim, claimOne, record } = await start();
      const placed = [await mail(T), await mail(T + 1)];
      for (const { messageId } of placed) {
        const claimed = await claimOne(T + 3, { prompt: 1 });
        expect(claimed.messageId).toBe(messageId);
        await record([claimed], {}, T + 3);
      }
      await mail(T + 4);
      const first = await claimOne(T + 4);
      await record([first], { attempt: failed(T), next: { state: 'pending', at: T + 50 } }, T + 4);
      expect(await store.deliveries.nextAt(T)).toBe(T + 50);
      expect(await claim(T + 49)).toEqual([]);
      const second = await claimOne(T + 50);
      expect(second.attemptNumber).toBe(2);
      await record([second], { next: { state: 'failed', reason: 'no more' } }, T + 51);
      expect((await log())[0]).toMatchObject({ state: 'failed', reason: 'no more', nextAttemptAt: null });
      const replayed = await store.deliveries.replay(owner, webhook, first.id, T + 60);
      expect(replayed).toMatchObject({ state: 'pending', reason: null, nextAttemptAt: T + 60 });
      const { id, eventId } = first;
      expect(await claimOne(T + 60)).toMatchObject({ id, eventId, attemptNumber: 1 });
      expect((await log())[0]?.attempts).toHaveLength(2);
    });

    it('in one state are listed by themselves, and replayed together in steps, from a time on', async () => {
      const { on, store, owner, inbox, webhook, claimOne, record } = await start();
      const ended = await given.inbox(owner, { expiresAt: T + 1000 }, on);
      /** Attempts the delivery of a mail. @returns its id */
      const attempt = async (now: number, state: 'failed' | 'delivered', to = inbox) => {
        await onlyPlaced(store, mailTo([to]), now);
        const claimed = await claimOne(now);
        await record([claimed], { next: { state, reason: null } }, now);
        return claimed.id;
      };
      const early = await attempt(T, 'failed');
      const delivered = await attempt(T + 1, 'delivered');
      const ofEnded = await attempt(T + 2, 'failed', ended);
      const late = await attempt(T + 3, 'failed');
      const listed = async (state: DeliveryState, limit = 9) => {
        const page = { limit, before: null, state };
        const { deliveries, hasMore } = await store.deliveries.list(owner, webhook, page, T + 9);
        return { ids: deliveries.map(({ id }) => id), hasMore };
      };
      expect(await listed('failed')).toEqual({ ids: [late, ofEnded, early], hasMore: false });
      expect(await listed('failed', 2)).toEqual({ ids: [late, ofEnded], hasMore: true });
      expect((await listed('delivered')).ids).toEqual([delivered]);

      const now = T + 2000;
      const replay = (after: string, limit: number, by = owner) => {
        const step = { state: 'failed', after, before: 'dlv_z', limit } as const;
        return store.deliveries.replaySome(by, webhook, step, now);
      };
      expect(await replay('', 9, await given.account(on))).toBeUndefined();
      expect(await replay(firstIdAt('dlv', T + 3), 9)).toEqual({ replayed: 1, last: null });
      expect((await listed('pending')).ids).toEqual([late]);
      // One was replayed above, and the inbox of another has ended.
      expect(await replay('', 1)).toEqual({ replayed: 1, last: early });
      expect(await replay(early, 9)).toEqual({ replayed: 0, last: null });
      expect((await listed('failed')).ids).toEqual([ofEnded]);
      expect(await store.deliveries.nextAt(now)).toBeLessThanOrEqual(now);
    });

    it('that fail are counted until a success, or until the webhook is enabled anew', async () => {
      const { store, owner, webhook, mail, claim, record } = await start();
      const fail = async (now: number) => {
        await mail(now);
        return record(await claim(now), { attempt: failed(now), next: FAILED }, now);
      };
      expect(await fail(T)).toEqual([{ failingSince: T, failedAttempts: 1 }]);
      expect(await fail(T + 500)).toEqual([{ failingSince: T, failedAttempts: 2 }]);
      expect(await store.webhooks.find(owner, webhook, T)).toMatchObject({ failingSince: T });
      await store.webhooks.update(owner, webhook, { enabled: true }, T);
      expect(await fail(T + 501)).toEqual([{ failingSince: T + 501, failedAttempts: 1 }]);
      await mail(T + 1000);
      const success = await record(await claim(T + 1000));
      expect(success).toEqual([{ failingSince: null, failedAttempts: 0 }]);
    });

    it('of a webhook that fails pause between attempts, the longer the more often, up to a second', async () => {
      const { store, mail, mails, claim, claimOne, record } = await start();
      await mails(12);
      const pauses: number[] = [];
      for (let now = T; pauses.length < 8; ) {
        const claimed = await claimOne(now);
        await record([claimed], { attempt: failed(now), next: FAILED }, now);
        // The event of another mail does not end the pause.
        await mail(now);
        expect(await claim(now)).toEqual([]);
        const next = (await store.deliveries.nextAt(now)) ?? 0;
        expect(await claim(next - 1)).toEqual([]);
        pauses.push(next - now);
        now = next;
      }
      expect(pauses).toEqual([25, 50, 100, 200, 400, 800, 1000, 1000]);
    });

    it.each(['its owner', 'the server'])(
      'that are pending when %s disables the webhook end at the next claim',
      async (who) => {
        const { store, owner, webhook, mail, mails, log, claim, claimOne, record } = await start();
        await mails(MANY);
        const underWay = await claimOne();
        if (who === 'its owner') await store.webhooks.update(owner, webhook, { enabled: false }, T);
        else await store.webhooks.disable(webhook, 'It answered 410.');
        for (let i = 0; i < 3; i++) expect(await claim()).toEqual([]);
        const why = who === 'its owner' ? '' : ' It answered 410.';
        expect(reasons(await log())).toEqual(new Set([`cancelled: The webhook was disabled.${why}`]));
        expect(await store.deliveries.nextAt(T)).toBeNull();
        // What was under way is logged, and stays cancelled.
        await record([underWay]);
        const ended = (await log()).find(({ id }) => id === underWay.id);
        expect(ended).toMatchObject({ state: 'cancelled', attempts: [SUCCESS] });
        expect(await mail()).not.toHaveProperty('deliveries');
      },
    );

    it('that are pending end with their inbox, also when they are more than one step of a sweep takes', async () => {
      const { on, store, owner, inbox, webhook, mails, claim, log } = await start();
      const { id: own } = await store.webhooks.create(owner, webhookAt({ inboxId: inbox.id }), 99);
      await mails(MANY);
      await store.inboxes.setExpiry(owner, inbox.id, { ttlMinutes: 1, expiresAt: T + 1 }, T);
      expect((await claim(T + 1)).map(({ webhookId }) => webhookId)).toEqual([webhook]);
      await sweepAll(store, T + 1, 100);
      expect(await on.sql('select id from deliveries where ended_at is null')).toEqual([]);
      for (const id of [webhook, own])
        expect(reasons(await log(id))).toEqual(new Set(['cancelled: The inbox ended.']));
    });

    it('go with their webhook when it is deleted, also one that is under way', async () => {
      const { on, store, owner, webhook, mails, claim, claimOne, record } = await start();
      await mails(MANY);
      await record([await claimOne()]);
      const [underWay, another] = (await claim()) as [ClaimedDelivery, ClaimedDelivery];
      expect(await store.webhooks.delete(owner, webhook, T)).toBe(true);
      await record([another]);
      expect(await claim(T + LEASE)).toEqual([]);
      await sweepAll(store, T);
      expect(await record([underWay])).toEqual([undefined]);
      expect(await on.counts()).toMatchObject({ webhooks: 0, deliveries: 0 });
    });

    it('are in the log for a week after they ended, those that are pending for as long as it takes', async () => {
      const { on, store, mails, log, claimOne, record } = await start();
      await mails(2);
      await record([await claimOne()]);
      await sweepAll(store, T + DELIVERY_KEPT_MS - 1);
      expect(await on.counts()).toMatchObject({ deliveries: 2 });
      await sweepAll(store, T + DELIVERY_KEPT_MS);
      expect(await log()).toMatchObject([{ state: 'cancelled' }]);
    });

    it(`are in the log up to ${MAX_KEPT_DELIVERIES}, the newest, and any that is pending`, async () => {
      const { on, store, owner, webhook, claim, claimOne, record } = await start();
      await on.sql('update webhooks set prompt = 1');
      const { deliveryId: pending, eventId } = newIds(T);
      await store.deliveries.addTest(owner, webhook, { deliveryId: pending, eventId }, T);
      await claimOne();
      const same = 'webhook_id, event_id, created_at, round, attempts';
      await on.sql(`insert into deliveries (id, state, ended_at, ${same})
        with recursive numbers(n) as
          (select 10001 union all select n + 1 from numbers where n < ${10_000 + MAX_KEPT_DELIVERIES + MANY})
        select id || n, 'delivered', created_at, ${same} from deliveries, numbers`);
      // Every tenth record shortens the log.
      const last = `${newId('dlv', T + 1).slice(0, -1)}0`;
      await store.deliveries.addTest(owner, webhook, { deliveryId: last, eventId }, T + 1);
      await record(await claim(T + 1), {}, T + 1);
      const kept = await on.sql('select id from deliveries order by id');
      expect(kept).toHaveLength(1 + MAX_KEPT_DELIVERIES);
      const oldest = `${pending}${10_000 + MANY + 2}`;
      expect([kept[0], kept[1], kept.at(-1)]).toEqual([{ id: pending }, { id: oldest }, { id: last }]);
    });
  });

  describe('deliveries on nodes with different clocks', () => {
    it('are attempted at once though the mail came to a node an hour ahead or behind', async () => {
      const { on, mail, claimOne, record } = await start();
      const other = await on.openAnother();
      for (const skew of [HOUR / 2, -HOUR / 2]) {
        await mail(T + skew, other);
        await record([await claimOne()]);
      }
    });

    it('are leased by the time that is given for schedules, whatever the wall clocks say', async () => {
      const { on, store, mail, claim } = await start();
      const other = await on.openAnother();
      await mail(T);
      expect(await store.deliveries.claim(limits, T - HOUR, T)).toHaveLength(1);
      expect(await other.deliveries.claim(limits, T + HOUR / 2, T + 10)).toEqual([]);
      expect(await claim(T + LEASE)).toHaveLength(1);
    });

    it('are replayed and tested at once, whatever the clock of the node that was asked says', async () => {
      const { store, owner, webhook, claimOne, record } = await start();
      const ids = newIds(T);
      await store.deliveries.addTest(owner, webhook, ids, T + HOUR);
      const claimed = await claimOne();
      await record([claimed]);
      await store.deliveries.replay(owner, webhook, ids.deliveryId, T + HOUR);
      expect(await claimOne()).toMatchObject({ id: claimed.id });
    });

    it('keep the time of their retry while two readings of the shared clock differ by milliseconds', async () => {
      const { mail, log, claim, record } = await start();
      await mail(T);
      await record(await claim(), { attempt: failed(T), next: { state: 'pending', at: T + 5_000 } });
      for (let i = 0; i < 20; i++) await claim(T + (i % 2 === 0 ? 500 : 0));
      expect(await log()).toMatchObject([{ nextAttemptAt: T + 5_000 }]);
    });
  });
}
