import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { STAGED_MS } from '../../../src/messages/sql/imports.ts';
import { atOnce, everything, inboxAt, mailTo, staged, sweepAll, T, webhookAt } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

const NOW = T + 5_000;
const RAWS = [3, 3_000_000, 300_000, 5].map((bytes, n) => new Uint8Array(bytes).fill(65 + n));

/** Inboxes that are created with messages: imports of recordings. */
export function describeImports(given: Given): void {
  /** Stores mails with these raw sources under one name. */
  async function stage({ store }: Opened, raws: readonly Uint8Array[] = RAWS) {
    const name = newId('msg', T);
    const mails: { source: number; rcptTo: string[] }[] = [];
    for (const [n, raw] of raws.entries()) {
      const source = await staged(store, mailTo([], { raw: raw.slice(), subject: `mail ${n}` }), '', name);
      mails.push({ source, rcptTo: n === 0 ? [] : [`Tag+${n}@elsewhere.test`] });
    }
    return { stage: name, mails, now: NOW };
  }
  /** Sweeps, and returns what is left of raw sources. */
  const leftAt = async (on: Opened, now: number): Promise<number> => {
    await sweepAll(on.store, now);
    const { sources = 0, source_pieces = 0, parked_sources = 0 } = await on.counts();
    return sources + source_pieces + parked_sources;
  };

  describe('messages that are stored before their inbox', () => {
    it('are newer than the creation of their inbox, and become one inbox, once', async () => {
      const { on, store, owner } = await given.place('fresh');
      const staged = { ...(await stage(on, RAWS.slice(2, 3))), now: T };
      const results = await Promise.allSettled(
        [inboxAt(), inboxAt()].map((wish) => store.inboxes.create(owner, wish, 10, null, null, staged)),
      );
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const [made] = results.flatMap((result) => (result.status === 'fulfilled' ? result.value.inbox : []));
      expect([made?.createdAt, made?.lastReceivedAt]).toEqual([T, T + 1]);
    });

    it('are delivered to the webhooks of the account and of the inbox, as other mail is', async () => {
      const { on, store, owner } = await given.place('fresh');
      const ofAccount = await store.webhooks.create(owner, webhookAt(), 10);
      const disabled = await store.webhooks.create(owner, webhookAt(), 10);
      await store.webhooks.update(owner, disabled.id, { enabled: false }, T);
      const own = { ...webhookAt(), maxWebhooks: 10 };
      const staged = await stage(on, RAWS.slice(2));
      const { inbox } = await store.inboxes.create(owner, inboxAt(), 10, null, own, staged);
      for (const id of [ofAccount.id, own.id]) {
        const { deliveries } = await store.deliveries.list(owner, id, { limit: 9, before: null }, NOW);
        const pending = { inboxId: inbox.id, state: 'pending' };
        expect(deliveries).toMatchObject([pending, pending]);
      }
      const claimed = await store.deliveries.claim({ prompt: 9, other: 9, leaseMs: 60_000 }, NOW, NOW);
      expect(claimed.map(({ webhookId }) => webhookId).toSorted()).toEqual([ofAccount.id, own.id].toSorted());
    });

    it('cause 10,000 deliveries at most, which bounds how long other writes wait', async () => {
      const { on, store, owner } = await given.place('fresh');
      const staged = await stage(on, Array<Uint8Array>(100).fill(new Uint8Array(3)));
      const { id } = await store.webhooks.create(owner, webhookAt(), 200);
      const same =
        'account_id, url, description, secrets, enabled, created_at, ends_at, prompt, failed_attempts';
      await on.sql(`insert into webhooks (id, ${same})
        with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 100)
        select id || n, ${same} from webhooks, numbers`);
      const create = () => store.inboxes.create(owner, inboxAt(), 10, null, null, staged);
      await expect(create()).rejects.toMatchObject({
        code: 'limit_reached',
        message: expect.stringMatching(/^The 100 messages of this recording would be sent to 101 webhooks\./),
      });
      await store.webhooks.update(owner, id, { enabled: false }, T);
      expect((await create()).inbox.messageCount).toBe(100);
    });

    it('are freed when their inbox cannot be created and they are given up', async () => {
      const { on, store, owner } = await given.place('fresh');
      const staged = await stage(on);
      const creation = store.inboxes.create(owner, inboxAt(), 1, null, null, staged);
      await expect(creation).rejects.toMatchObject({ code: 'limit_reached' });
      expect(await leftAt(on, NOW)).toBeGreaterThan(RAWS.length);
      await store.messages.unstage(staged.stage);
      expect(await leftAt(on, NOW)).toBe(0);
    });

    it('are freed an hour after a crash, and no inbox is made of them then, in whole or in part', async () => {
      const { on, store, owner } = await given.place('fresh');
      const staged = await stage(on);
      expect(await leftAt(on, T + STAGED_MS - 1)).toBeGreaterThan(RAWS.length);
      expect(await leftAt(on, T + STAGED_MS + 1)).toBe(0);
      const wish = inboxAt();
      const late = store.inboxes.create(owner, wish, 10, null, null, staged);
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      expect(await store.inboxes.find(owner, wish.id, T)).toBeUndefined();
    });
  });

  it('an inbox with a replay says that it runs and how it ended; a minute after its end it is cut', async () => {
    const { on, store, owner } = await given.place('fresh');
    const replayed = () => given.inbox(owner, { replayUntil: T + 60_000 }, on);
    const inboxes = [await replayed(), await replayed(), await replayed()] as const;
    const [cut, complete] = inboxes;
    const replays = () =>
      Promise.all(inboxes.map(async ({ id }) => (await store.inboxes.find(owner, id, T))?.replay));
    expect(await replays()).toEqual(['running', 'running', 'running']);
    await store.inboxes.endReplay(cut.id, 'cut');
    await store.inboxes.endReplay(complete.id, 'complete');
    expect(await replays()).toEqual(['cut', 'none', 'running']);
    expect((await store.inboxes.find(owner, cut.id, T))?.version).toBe(2);
    await sweepAll(store, T + 119_999);
    expect(await replays()).toEqual(['cut', 'none', 'running']);
    await sweepAll(store, T + 120_000);
    expect(await replays()).toEqual(['cut', 'none', 'cut']);
  });
}

/** Mail that goes into an inbox when it is due. */
export function describeOutgoing(given: Given): void {
  const scheduled = async ({ id: inboxId, accountId }: InboxRecord, id: string) => {
    const row = { id, accountId, inboxId, kind: 'scheduled', ref: id, dueAt: T } as const;
    const mail = { details: { to: ['a@mayfly.test'] }, raw: new Uint8Array([1]) };
    return given.store.outgoing.add([{ ...row, ...mail }], T);
  };
  const count = async (inboxId: string) =>
    (await given.store.messages.listRows(inboxId, everything, T)).length;

  describe('outgoing', () => {
    it('mail of one row is stored once, however often and however much at once it is tried', async () => {
      const { inbox } = await given.place();
      const id = `out_${inbox.id}`;
      expect(await scheduled(inbox, id)).toBe(1);
      const store = () => given.store.messages.addBatch([{ ...mailTo([inbox]), outgoing: id }], T);
      const all = (await atOnce(5, store)).flat(2);
      expect(all.filter((placed) => 'messageId' in placed)).toHaveLength(1);
      expect((await store())[0]).toMatchObject([{ refused: 'gone' }]);
      expect(await count(inbox.id)).toBe(1);
      expect(await given.store.outgoing.rawOf(id)).toBeUndefined();
    });

    it('a row fails with its mail if the inbox is full, and cancelled mail is not stored', async () => {
      const { inbox } = await given.place();
      const [full, cancelled] = [`out_full${inbox.id}`, `out_no${inbox.id}`];
      await scheduled(inbox, full);
      await scheduled(inbox, cancelled);
      const mail = { ...mailTo([inbox], { maxMessages: 0 }), outgoing: full };
      expect(await given.store.messages.addBatch([mail], T)).toMatchObject([[{ refused: 'full' }]]);
      const owner = { accountId: inbox.accountId, inboxId: null };
      expect(await given.store.outgoing.reschedule(owner, full, null, T)).toBe(false);
      expect(await given.store.outgoing.reschedule(owner, cancelled, null, T)).toBe(true);
      const late = { ...mailTo([inbox]), outgoing: cancelled };
      expect(await given.store.messages.addBatch([late], T)).toMatchObject([[{ refused: 'gone' }]]);
      expect(await count(inbox.id)).toBe(0);
    });

    it('a claim leases a row to one of many, in the order of their times, until the lease ends', async () => {
      const { inbox } = await given.place();
      await scheduled(inbox, `out_${inbox.id}`);
      const claim = async (now: number) => {
        const rows = await given.store.outgoing.claim({ limit: 10, leaseMs: 1_000 }, T, now);
        return rows.filter(({ inboxId }) => inboxId === inbox.id);
      };
      const rows = (await atOnce(5, () => claim(T + 1))).flat();
      expect(rows).toHaveLength(1);
      expect(await claim(T + 1_000)).toEqual([]);
      const [first] = rows as [(typeof rows)[number]];
      expect(await claim(T + 1_001)).toMatchObject([{ id: first.id }]);
      // The first claim's result comes late.
      await given.store.outgoing.record(first, { state: 'failed', dueAt: null, error: 'late', to: [] }, T);
      expect(await given.store.outgoing.held(inbox.id, T)).toEqual({ count: 1, firstAt: T });
    });
  });
}
