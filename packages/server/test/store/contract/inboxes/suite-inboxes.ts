import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { ADDRESS_QUARANTINE_MS, TOMBSTONE_MS } from '../../../../src/inboxes/records.ts';
import type { Store } from '../../../../src/store.ts';
import { everything, inboxAt, mailTo, onlyPlaced, T, ttl } from '../../builders.ts';
import type { Given } from '../suite.ts';

/** How long a generated address is held in these cases. */
const ADDRESS_HOLD_MS = 10 * 60_000;

/** What the contract promises about accounts, keys, addresses and inboxes. */
export function describeInboxes(given: Given): void {
  describe('accounts and keys', () => {
    it('the first account is made once, however many start at once', async () => {
      const { store } = await given.fresh();
      expect(await store.accounts.findFirst()).toBeUndefined();
      const made = await Promise.all(
        ['one', 'two', 'three'].map((name) => {
          const accountId = newId('acc', T);
          const key = { id: newId('key', T), accountId, name, scope: 'full' as const, prefix: 'mfk_ab' };
          return store.accounts.createFirst(
            { id: accountId, name, plan: 'unlimited', createdAt: T },
            { ...key, createdAt: T, expiresAt: null, hash: `hash-${name}` },
          );
        }),
      );
      expect(made.toSorted()).toEqual([false, false, true]);
      const first = await store.accounts.findFirst();
      const keys = await Promise.all(
        ['one', 'two', 'three'].map((n) => store.keys.findByHash(`hash-${n}`, T)),
      );
      expect(keys.filter(Boolean)).toHaveLength(1);
      expect(keys.find(Boolean)?.account).toEqual(first);
    });

    it('a key is found by its hash until it expires, and comes back as it was', async () => {
      const accountId = await given.account();
      const name = 'NUL \0, emoji 🦟, lone \ud800';
      const key = { id: newId('key', T), accountId, name, scope: 'read' as const, prefix: 'mfk_1' };
      const times = { createdAt: T, expiresAt: T + 5 };
      await given.store.keys.create({ ...key, ...times, hash: 'a hash' });
      expect((await given.store.keys.findByHash('a hash', T + 4))?.key).toEqual({ ...key, ...times });
      expect(await given.store.keys.findByHash('a hash', T + 5)).toBeUndefined();
      expect(await given.store.keys.findByHash('another', T)).toBeUndefined();
    });
  });

  describe('inboxes', () => {
    it('an inbox comes back as it was created, by id, token and address', async () => {
      const owner = await given.account();
      const wish = inboxAt({ labels: { run: '7', 'NUL \0': 'lone \udfff and 🦟' } });
      const { tokenHash, ...rest } = wish;
      const counts = { messageCount: 0, receivedCount: 0, lastReceivedAt: 0, version: 1 };
      const record = { ...rest, accountId: owner, replay: 'none', ...counts };
      const created = await given.store.inboxes.create(owner, wish, 10, null);
      expect(created).toMatchObject({ nonce: null });
      expect(created.inbox).toEqual(record);
      expect(await given.store.inboxes.find(owner, wish.id, T)).toEqual(record);
      expect(await given.store.inboxes.findByToken(tokenHash, T)).toEqual(record);
      expect(await given.store.inboxes.findByAddress(wish.address, T)).toEqual({
        inboxId: wish.id,
        kind: 'address',
        hasFaults: false,
        accountId: owner,
        plan: 'developer',
        address: wish.address,
        messageCount: 0,
        expiresAt: wish.expiresAt,
      });
    });

    it("another account's inbox is as unknown as one that never was", async () => {
      const owner = await given.account();
      const stranger = await given.account();
      const { id } = await given.inbox(owner, { labels: { run: 'foreign' } });
      for (const unknown of [id, newId('inb', T)]) {
        expect(await given.store.inboxes.find(stranger, unknown, T)).toBeUndefined();
        expect(await given.store.inboxes.setExpiry(stranger, unknown, ttl(1), T)).toBeUndefined();
        expect(await given.store.inboxes.delete(stranger, unknown, T)).toBe(false);
      }
      expect(await given.store.inboxes.deleteByLabels(stranger, { run: 'foreign' }, T)).toHaveLength(0);
      expect(await given.store.inboxes.list(stranger, { labels: {}, limit: 5, before: null }, T)).toEqual({
        inboxes: [],
        hasMore: false,
      });
      const mail = mailTo([{ id, address: 'x@mayfly.test', accountId: stranger }]);
      expect(await given.store.messages.addBatch([mail], T)).toMatchObject([[{ refused: 'gone' }]]);
      expect(await given.store.inboxes.find(owner, id, T)).toBeDefined();
    });

    it('expired and deleted inboxes do not count against the limit', async () => {
      const owner = await given.account();
      const first = await given.inbox(owner, { expiresAt: T + 10 });
      await expect(given.store.inboxes.create(owner, inboxAt(), 1, null)).rejects.toMatchObject({
        code: 'limit_reached',
      });
      const second = inboxAt({ createdAt: first.expiresAt });
      await given.store.inboxes.create(owner, second, 1, null);
      await given.store.inboxes.delete(owner, second.id, first.expiresAt);
      await given.store.inboxes.create(owner, inboxAt({ createdAt: first.expiresAt }), 1, null);
    });

    it('fifty calls at once, by two processes, make no more than a limit allows: inboxes, messages, one idempotent creation', async () => {
      const on = await given.freshServer();
      const stores = [on.store, await on.openAnother()] as const;
      const owner = await given.account(on);
      const atOnce = <T>(call: (store: Store) => Promise<T>) =>
        Promise.allSettled(Array.from({ length: 50 }, (_, n) => call(stores[n % 2 === 0 ? 0 : 1])));
      const made = await atOnce(({ inboxes }) => inboxes.create(owner, inboxAt(), 10, null));
      const refused = made.filter((result) => result.status === 'rejected');
      expect(refused).toHaveLength(40);
      for (const { reason } of refused) expect(reason).toMatchObject({ code: 'limit_reached' });

      const inbox = await given.inbox(await given.account(on), {}, on);
      await atOnce(({ messages }) => messages.addBatch([mailTo([inbox], { maxMessages: 7 })], T));
      expect(await on.store.messages.listRows(inbox.id, everything, T)).toHaveLength(7);

      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'one' };
      const same = await atOnce(({ inboxes }) => inboxes.create(inbox.accountId, inboxAt(), 9, request));
      expect(new Set(same.map((one) => one.status === 'fulfilled' && one.value.inbox.id)).size).toBe(1);
    });

    it('a refused creation leaves nothing behind', async () => {
      const on = await given.fresh();
      const { store, counts } = on;
      const owner = await given.account(on);
      const taken = inboxAt();
      await store.inboxes.create(owner, taken, 10, null);
      const before = await counts();
      const request = { keyId: 'key_1', keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      const again = inboxAt({ address: taken.address, labels: { a: 'b' } });
      await expect(store.inboxes.create(owner, again, 10, request)).rejects.toMatchObject({
        code: 'address_taken',
      });
      await expect(store.inboxes.create(owner, inboxAt(), 1, request)).rejects.toMatchObject({
        code: 'limit_reached',
      });
      expect(await counts()).toEqual(before);
    });

    it('a repeated idempotent creation answers as the first did and makes nothing', async () => {
      const owner = await given.account();
      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'first' };
      const both = await Promise.all([
        given.store.inboxes.create(owner, inboxAt({ labels: { a: '\0' } }), 10, request),
        given.store.inboxes.create(owner, inboxAt(), 10, { ...request, nonce: 'second' }),
      ]);
      const [first, second] = both;
      if (!first || !second) throw new Error('Both creations have a result.');
      expect(second).toEqual(first);
      await given.store.messages.addBatch([mailTo([first.inbox])], T);
      const later = await given.store.inboxes.create(owner, inboxAt(), 0, { ...request, nonce: 'third' });
      expect(later).toEqual(first);
    });

    it('a list holds the inboxes that carry all labels, newest first', async () => {
      const owner = await given.account();
      const both = await given.inbox(owner, {
        id: newId('inb', T + 1),
        labels: { run: '1', 'NUL\0': '\ud800' },
      });
      const one = await given.inbox(owner, { id: newId('inb', T + 2), labels: { run: '1' } });
      await given.inbox(owner, { id: newId('inb', T + 3), labels: { run: '2', 'NUL\0': '\ud801' } });
      const list = async (labels: Record<string, string>) =>
        (await given.store.inboxes.list(owner, { labels, limit: 10, before: null }, T)).inboxes.map(
          ({ id }) => id,
        );
      expect(await list({ run: '1' })).toEqual([one.id, both.id]);
      expect(await list({ run: '1', 'NUL\0': '\ud800' })).toEqual([both.id]);
      expect(await list({ run: '1', other: 'x' })).toEqual([]);
      expect(await list({ 'run","1': '' })).toEqual([]);
      expect(await list({})).toHaveLength(3);
    });

    it('a list holds the inboxes with all words, in the address or in labels', async () => {
      const owner = await given.account();
      const made = async (address: string, labels: Record<string, string>) =>
        (await given.inbox(owner, { address, labels })).address;
      const a = await made('sign_up.1@mayfly.test', { run: '4711', 'a.b': 'C:\\"x" ü%' });
      const b = await made('signXup.2@mayfly.test', { run: '4712', worker: '4711' });
      const list = async (...words: string[]) =>
        (await given.store.inboxes.list(owner, { labels: {}, words, limit: 10, before: null }, T)).inboxes
          .map(({ address }) => address)
          .toSorted();
      expect(await list()).toEqual([b, a].toSorted());
      expect(await list('SIGN', '4711')).toEqual([b, a].toSorted());
      expect(await list('sign', 'up.2')).toEqual([b]);
      expect(await list('sign_up')).toEqual([a]);
      expect(await list('RUN=471')).toEqual([b, a].toSorted());
      expect(await list('run=4711')).toEqual([a]);
      expect(await list('a.b=c:\\"X"', 'ü%')).toEqual([a]);
      for (const none of ['up%', '471_', 'n":"4', 'NUL\0', 'lone \ud800']) {
        expect([none, await list(none)]).toEqual([none, []]);
      }
    });

    it('a walk over the pages of a list meets every inbox once while others arrive', async () => {
      const owner = await given.account();
      const made: string[] = [];
      for (let i = 0; i < 7; i++) made.push((await given.inbox(owner, { id: newId('inb', T + i) })).id);
      const met: string[] = [];
      for (let before: string | null = null; ; ) {
        const page = await given.store.inboxes.list(owner, { labels: {}, limit: 3, before }, T);
        met.push(...page.inboxes.map(({ id }) => id));
        await given.inbox(owner, { id: newId('inb', T + 100 + met.length) });
        before = met.at(-1) ?? null;
        if (!page.hasMore) break;
      }
      expect(met).toEqual(made.toReversed());
    });

    it('a changed expiry holds for every reader and for the address', async () => {
      const owner = await given.account();
      const stranger = await given.account();
      const { id, address, version } = await given.inbox(owner, { expiresAt: T + 10 });
      const changed = await given.store.inboxes.setExpiry(
        owner,
        id,
        { ttlMinutes: 9, expiresAt: T + 50 },
        T + 9,
      );
      expect(changed).toMatchObject({ ttlMinutes: 9, expiresAt: T + 50, version: version + 1 });
      expect(await given.store.inboxes.findByAddress(address, T + 49)).toBeDefined();
      expect(await given.store.addresses.hold(owner, address, T + 90, T + 49)).toBe(false);
      const quarantined = T + 50 + ADDRESS_QUARANTINE_MS;
      expect(await given.store.addresses.hold(stranger, address, quarantined + 9, quarantined - 1)).toBe(
        false,
      );
      expect(
        await given.store.inboxes.setExpiry(owner, id, { ttlMinutes: 9, expiresAt: T + 90 }, T + 50),
      ).toBeUndefined();
    });

    it('one whose address a new inbox has since stays expired, also for a change that began before', async () => {
      const owner = await given.account();
      const { id, address } = await given.inbox(owner, { expiresAt: T + 20 });
      const next = await given.inbox(owner, { address, createdAt: T + 30 });
      const change = { ttlMinutes: 9, expiresAt: T + 80 };
      expect(await given.store.inboxes.setExpiry(owner, id, change, T + 10)).toBeUndefined();
      expect(await given.store.inboxes.find(owner, id, T + 40)).toMatchObject({ expiresAt: T + 20 });
      expect(await given.store.inboxes.findByAddress(address, T + 40)).toMatchObject({ inboxId: next.id });
    });
  });

  describe('addresses', () => {
    it('a held address is its holder’s for ten minutes and then anybody’s', async () => {
      const [owner, stranger] = [await given.account(), await given.account()];
      const { address } = inboxAt();
      const until = T + ADDRESS_HOLD_MS;
      expect(await given.store.addresses.hold(owner, address, until, T)).toBe(true);
      expect(await given.store.addresses.hold(stranger, address, until, T)).toBe(false);
      const wish = inboxAt({ address, createdAt: until - 1 });
      await expect(given.store.inboxes.create(stranger, wish, 10, null)).rejects.toMatchObject({
        code: 'address_taken',
      });
      expect(await given.store.addresses.hold(stranger, address, until + 5, until)).toBe(true);
      await expect(given.inbox(owner, { address, createdAt: until })).rejects.toMatchObject({
        code: 'address_taken',
      });
      await given.inbox(stranger, { address, createdAt: until });
    });

    it('two accounts that want one address at once: one gets it', async () => {
      const accounts = await Promise.all([given.account(), given.account(), given.account()]);
      const { address } = inboxAt();
      const held = await Promise.all(accounts.map((id) => given.store.addresses.hold(id, address, T + 9, T)));
      expect(held.filter(Boolean)).toHaveLength(1);
    });

    it.each(['deleted', 'expired'])(
      'the address of a %s inbox goes to no other account for seven days',
      async (how) => {
        const [owner, stranger] = [await given.account(), await given.account()];
        const ended = await given.inbox(owner, { expiresAt: T + 100 });
        if (how === 'deleted') expect(await given.store.inboxes.delete(owner, ended.id, T + 99)).toBe(true);
        const end = how === 'deleted' ? T + 99 : T + 100;
        const { address } = ended;
        const free = end + ADDRESS_QUARANTINE_MS;
        expect(await given.store.addresses.hold(stranger, address, free, end)).toBe(false);
        await expect(given.inbox(stranger, { address, createdAt: free - 1 })).rejects.toMatchObject({
          code: 'address_taken',
        });
        // A hold by its own account does not cut the quarantine short.
        expect(await given.store.addresses.hold(owner, address, end + ADDRESS_HOLD_MS, end)).toBe(true);
        expect(await given.store.addresses.hold(stranger, address, free, free - 1)).toBe(false);
        await given.inbox(stranger, { address, createdAt: free });
      },
    );

    it('its own account may have an ended address at once, and sees no old mail there', async () => {
      const owner = await given.account();
      const old = inboxAt({ expiresAt: T + 10 });
      await given.store.inboxes.create(owner, old, 10, null);
      const { messageId } = await onlyPlaced(given.store, mailTo([{ ...old, accountId: owner }]), T);
      const wish = inboxAt({ address: old.address, createdAt: T + 10 });
      const { inbox: next } = await given.store.inboxes.create(owner, wish, 10, null);
      expect(await given.store.messages.listRows(next.id, everything, T + 10)).toEqual([]);
      expect(await given.store.messages.find(next.id, messageId, T + 10)).toBeUndefined();
      expect((await given.store.inboxes.findByToken(old.tokenHash, T + 10))?.id).toBe(old.id);
      expect((await given.store.inboxes.findByAddress(old.address, T + 10))?.inboxId).toBe(next.id);
      // What the old inbox leaves later does not touch the new one.
      await given.store.upkeep.sweep(T + 10 + TOMBSTONE_MS, 1000);
      expect((await given.store.inboxes.findByAddress(old.address, T + 11))?.inboxId).toBe(next.id);
    });
  });
}
