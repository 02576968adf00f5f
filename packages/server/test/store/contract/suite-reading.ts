import { describe, expect, it } from 'vitest';
import { inboxAt, mailTo, onlyPlaced, T, ttl } from '../builders.ts';
import { showingMethods } from './reading-methods.ts';
import type { Given } from './suite.ts';

/** What the contract promises about looking up inboxes and ending them. */
export function describeReading(given: Given): void {
  describe('a look-up by address', () => {
    const found = async (owner: string, address: string, now = T, labels = {}) => {
      const page = { labels, address, limit: 9, before: null };
      return (await given.store.inboxes.list(owner, page, now)).inboxes.map(({ id }) => id);
    };

    it('finds the one live inbox of the account at that address', async () => {
      const owner = await given.account();
      await given.inbox(owner);
      const wish = inboxAt({ labels: { run: '1' }, expiresAt: T + 10 });
      const { inbox } = await given.store.inboxes.create(owner, wish, 10, null);
      expect(await found(owner, wish.address, T + 9)).toEqual([inbox.id]);
      expect(await found(owner, wish.address, T + 9, { run: '1' })).toEqual([inbox.id]);
      expect(await found(owner, wish.address, T + 9, { run: '2' })).toEqual([]);
      expect(await found(owner, wish.address, T + 10)).toEqual([]);
      expect(await found(owner, `other-${wish.address}`)).toEqual([]);
      expect(await found(await given.account(), wish.address)).toEqual([]);
    });

    it('finds nothing at an address that is only held, or whose inbox was deleted', async () => {
      const owner = await given.account();
      const { id, address } = await given.inbox(owner);
      await given.store.inboxes.delete(owner, id, T);
      expect(await found(owner, address)).toEqual([]);
      const held = `held-${address}`;
      expect(await given.store.addresses.hold(owner, held, T + 10, T)).toBe(true);
      expect(await found(owner, held)).toEqual([]);
    });
  });
  describe('an expiry that is set to now', () => {
    it('ends the inbox at once, for every handle on the storage', async () => {
      const on = await given.fresh();
      const beside = await on.openAnother();
      const owner = await given.account(on);
      const wish = inboxAt();
      const { inbox } = await on.store.inboxes.create(owner, wish, 1, null);
      const { messageId } = await onlyPlaced(on.store, mailTo([inbox]), T);
      const now = { ttlMinutes: 60, expiresAt: T + 5 };
      expect(await on.store.inboxes.setExpiry(owner, inbox.id, now, T + 5)).toMatchObject({
        expiresAt: T + 5,
        ttlMinutes: 60,
      });
      for (const store of [on.store, beside]) {
        const shows = showingMethods(store, { owner, inbox, tokenHash: wish.tokenHash, messageId });
        for (const [method, isShown] of Object.entries(shows)) {
          expect([method, await isShown(T + 5)]).toEqual([method, false]);
        }
        expect(await store.inboxes.find(owner, inbox.id, T + 5)).toMatchObject({ expiresAt: T + 5 });
        expect(await store.inboxes.setExpiry(owner, inbox.id, ttl(9), T + 5)).toBeUndefined();
        const [placed] = await store.messages.addBatch([mailTo([inbox])], T + 5);
        expect(placed).toMatchObject([{ refused: 'gone' }]);
      }
      // Its place of the plan is free, and its address is its account's for the time of the quarantine.
      const other = await given.account(on);
      const again = inboxAt({ address: wish.address, createdAt: T + 6 });
      await expect(on.store.inboxes.create(other, again, 1, null)).rejects.toMatchObject({
        code: 'address_taken',
      });
      await on.store.inboxes.create(owner, again, 1, null);
      while ((await on.store.upkeep.sweep(T + 6, 100)) > 0);
      expect(await on.counts()).toMatchObject({ messages: 0, sources: 0, inboxes: 2 });
    });
  });
}
