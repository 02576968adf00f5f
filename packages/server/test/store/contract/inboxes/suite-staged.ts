import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { STAGED_MS } from '../../../../src/messages/sql/imports.ts';
import { everything, inboxAt, mailTo, onlyPlaced, rawOf, staged, sweepAll, T } from '../../builders.ts';
import type { Given, Opened } from '../suite.ts';

const LARGE_BYTES = 3_000_000;
const NOW = T + 5_000;

/** Inboxes that are created with messages: imports of recordings. */
export function describeStaged(given: Given): void {
  /** Stores mails with these raw sources under one name. */
  async function stage({ store }: Opened, raws: readonly Uint8Array[]) {
    const name = newId('msg', T);
    const mails: { source: number; rcptTo: string[] }[] = [];
    for (const [n, raw] of raws.entries()) {
      const source = await staged(store, mailTo([], { raw: raw.slice(), subject: `mail ${n}` }), '', name);
      mails.push({ source, rcptTo: n === 0 ? [] : [`Tag+${n}@elsewhere.test`] });
    }
    return { stage: name, mails, now: NOW };
  }
  const RAWS = [3, LARGE_BYTES, 300_000, 5].map((bytes, n) => new Uint8Array(bytes).fill(65 + n));
  const rows = async (on: Opened): Promise<number> => {
    const { sources, source_pieces, parked_sources } = await on.counts();
    return (sources ?? 0) + (source_pieces ?? 0) + (parked_sources ?? 0);
  };
  const sweep = ({ store }: Opened, now: number) => sweepAll(store, now);

  describe('messages that are stored before their inbox', () => {
    it('are there with it, in their order, as if they had come just before', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const other = await given.inbox(owner, {}, on);
      const staged = await stage(on, RAWS);
      expect(await store.messages.newestInAccount(owner)).toBe(0);
      // The account receives other mail meanwhile.
      await onlyPlaced(store, mailTo([other]), T + 1);
      const before = await store.messages.newestInAccount(owner);

      const wish = inboxAt();
      const { inbox } = await store.inboxes.create(owner, wish, 10, null, null, staged);
      expect(inbox).toMatchObject({ messageCount: 4, receivedCount: 4, createdAt: T, lastReceivedAt: NOW });
      expect(await store.inboxes.find(owner, wish.id, NOW)).toEqual(inbox);
      const messages = await store.messages.listAfter(inbox.id, everything, NOW);
      expect(messages.map(({ summary }) => summary.subject)).toEqual(RAWS.map((_, n) => `mail ${n}`));
      expect(messages.map(({ receivedAt }) => receivedAt)).toEqual([NOW - 3, NOW - 2, NOW - 1, NOW]);
      expect(messages.map(({ rcptTo }) => rcptTo[0])).toEqual([
        inbox.address,
        ...[1, 2, 3].map((n) => `Tag+${n}@elsewhere.test`),
      ]);
      for (const [n, { id }] of messages.entries())
        expect(Buffer.from(RAWS[n] ?? []).equals(await rawOf(store, inbox.id, id, NOW))).toBe(true);
      const range = { after: before, limit: 10 };
      const ofAccount = await store.messages.listByAccount(owner, range, NOW);
      expect(ofAccount.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
      // Mail that follows is newer, also in the same millisecond.
      const { receivedAt } = await onlyPlaced(store, mailTo([inbox]), NOW);
      expect(receivedAt).toBe(NOW + 1);
      expect(await store.inboxes.delete(owner, inbox.id, NOW + 2)).toBe(true);
      await sweep(on, NOW + 2);
      expect(await rows(on)).toBe(1);
    });

    it('are newer than the creation of their inbox, however short it took to store them', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const staged = { ...(await stage(on, RAWS.slice(0, 1))), now: T };
      const { inbox } = await on.store.inboxes.create(owner, inboxAt(), 10, null, null, staged);
      expect([inbox.createdAt, inbox.lastReceivedAt]).toEqual([T, T + 1]);
    });

    it('are delivered to the webhooks of the account and of the inbox, as other mail is', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const hook = (inboxId: string | null) => ({
        ...{ id: newId('whk', T), inboxId, url: 'https://hooks.example/', description: '', secret: 's' },
        createdAt: T,
      });
      const ofAccount = await store.webhooks.create(owner, hook(null), 10);
      await store.webhooks.update(
        owner,
        (await store.webhooks.create(owner, hook(null), 10)).id,
        { enabled: false },
        T,
      );
      const { createdAt: _, inboxId: __, ...own } = hook(null);
      const staged = await stage(on, RAWS.slice(2));
      const { inbox } = await store.inboxes.create(
        ...([owner, inboxAt(), 10, null, { ...own, maxWebhooks: 10 }, staged] as const),
      );
      for (const id of [ofAccount.id, own.id]) {
        const { deliveries } = await store.deliveries.list(owner, id, { limit: 9, before: null }, NOW);
        expect(deliveries.map(({ inboxId, state }) => [inboxId, state])).toEqual([
          [inbox.id, 'pending'],
          [inbox.id, 'pending'],
        ]);
      }
      const claimed = await store.deliveries.claim({ prompt: 9, other: 9, leaseMs: 60_000 }, NOW, NOW);
      expect(claimed.map(({ webhookId }) => webhookId).toSorted()).toEqual([ofAccount.id, own.id].toSorted());
    });

    it('cause 10,000 deliveries at most, which bounds how long other writes wait', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const hook = () => ({
        ...{ id: newId('whk', T), inboxId: null, url: 'https://hooks.example/', description: '' },
        ...{ secret: 's', createdAt: T },
      });
      const hooks = [];
      for (let n = 0; n < 101; n++) hooks.push(await store.webhooks.create(owner, hook(), 200));
      const raws = Array.from({ length: 100 }, () => new Uint8Array(3));
      const staged = await stage(on, raws);
      const create = () => store.inboxes.create(owner, inboxAt(), 1, null, null, staged);
      await expect(create()).rejects.toMatchObject({
        code: 'limit_reached',
        message: expect.stringMatching(/^The 100 messages of this recording would be sent to 101 webhooks\./),
      });
      await store.webhooks.update(owner, hooks[0]?.id ?? '', { enabled: false }, T);
      expect((await create()).inbox.messageCount).toBe(100);
    });

    it('are freed when their inbox cannot be created and they are given up', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      await given.inbox(owner, {}, on);
      const staged = await stage(on, RAWS);
      const creation = store.inboxes.create(owner, inboxAt(), 1, null, null, staged);
      await expect(creation).rejects.toMatchObject({ code: 'limit_reached' });
      await sweep(on, NOW);
      expect(await rows(on)).toBeGreaterThan(RAWS.length);
      await store.messages.unstage(staged.stage);
      await sweep(on, NOW);
      expect(await rows(on)).toBe(0);
    });

    it('are freed an hour after a crash, and no inbox is made of them then, in whole or in part', async () => {
      const on = await given.fresh();
      const { store } = on;
      const owner = await given.account(on);
      const staged = await stage(on, RAWS);
      await sweep(on, T + STAGED_MS - 1);
      expect(await rows(on)).toBeGreaterThan(RAWS.length);
      await sweep(on, T + STAGED_MS + 1);
      expect(await rows(on)).toBe(0);
      const wish = inboxAt();
      const late = store.inboxes.create(owner, wish, 10, null, null, staged);
      await expect(late).rejects.toMatchObject({ code: 'unavailable' });
      expect(await store.inboxes.find(owner, wish.id, T)).toBeUndefined();
    });

    it('become one inbox, once', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const staged = await stage(on, RAWS.slice(2));
      const results = await Promise.allSettled(
        [inboxAt(), inboxAt()].map((wish) => on.store.inboxes.create(owner, wish, 10, null, null, staged)),
      );
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });
  });

  describe('an inbox with a replay', () => {
    const replayed = async (on: Opened) => {
      const owner = await given.account(on);
      return given.inbox(owner, { replayUntil: T + 60_000 }, on);
    };
    const replay = async ({ store }: Opened, { accountId, id }: { accountId: string; id: string }) =>
      (await store.inboxes.find(accountId, id, T))?.replay;

    it('says that it runs, and how it ended', async () => {
      const on = await given.fresh();
      const [cut, complete] = [await replayed(on), await replayed(on)];
      expect(cut.replay).toBe('running');
      await on.store.inboxes.endReplay(cut.id, 'cut');
      await on.store.inboxes.endReplay(complete.id, 'complete');
      expect([await replay(on, cut), await replay(on, complete)]).toEqual(['cut', 'none']);
      expect((await on.store.inboxes.find(cut.accountId, cut.id, T))?.version).toBe(2);
    });

    it('is marked as cut when nothing said how it ended, a minute after it should have', async () => {
      const on = await given.fresh();
      const inbox = await replayed(on);
      await sweep(on, T + 119_999);
      expect(await replay(on, inbox)).toBe('running');
      await sweep(on, T + 120_000);
      expect(await replay(on, inbox)).toBe('cut');
    });
  });
}
