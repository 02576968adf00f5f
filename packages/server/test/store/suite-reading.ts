import { describe, expect, it } from 'vitest';
import { inboxAt, T } from './builders.ts';
import type { Given } from './suite.ts';

/** What the contract promises about looking up inboxes. */
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
}
