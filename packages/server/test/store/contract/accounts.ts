import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { ItemKind } from '../../../src/providers/sql.ts';
import type { Store } from '../../../src/store.ts';
import { accountAt, inboxAt, keyOf, mailTo, onlyPlaced, T, webhookAt, withMore } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

const NOW = T + 10;
/** More than one test creates, however long the deletion waits for its turn. */
const PLENTY = 100_000;

const settingsOf = (owner: string) => {
  const of = { id: owner, accountId: owner };
  return { owner: of, provider: 'ses', kind: 'settings', name: '' } as const;
};

const handshakeOf = (accountId: string) =>
  ({ id: newId('out', T), accountId, kind: 'handshake', details: {}, dueAt: T }) as const;

/** What would be created for an account by a server that does not know of its deletion yet; the outcomes. */
async function createAll(store: Store, owner: string) {
  const until = T + 1e9;
  const itemOf = (kind: ItemKind) => ({ ...settingsOf(owner), kind, name: newId('msg', T) });
  const waited = { id: newId('wai', T), accountId: owner, inboxId: newId('inb', T), endedAt: T };
  const created = await Promise.allSettled([
    store.keys.create(keyOf(owner)),
    store.inboxes.create(owner, inboxAt(), PLENTY, null),
    store.webhooks.create(owner, webhookAt(), PLENTY),
    store.providerItems.keep(itemOf('sent'), {}, until),
    store.providerItems.keepFirst(itemOf('idempotency'), {}, until, T),
    store.outgoing.add([handshakeOf(owner)], T),
  ]);
  await store.waits.addExplained([{ ...waited, plain: '{}', content: '{}' }]);
  return created.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'created'));
}

/** Accounts, their keys and domains, and the deletion of an account. */
export function describeAccounts(given: Given): void {
  describe('accounts', () => {
    it('an account and its first key come back as they were created, also after a change of plan', async () => {
      const { accounts, keys, inboxes } = given.store;
      const account = { ...accountAt(), name: 'NUL \0, emoji 🦟, lone \ud800' };
      const { hash, ...key } = keyOf(account.id, { name: 'NUL \0, lone \ud800', expiresAt: T + 5 });
      await accounts.create(account, { ...key, hash });
      expect(await keys.findByHash(hash, T)).toEqual({ account, key });
      expect(await keys.list(account.id)).toEqual([{ ...key, lastUsedAt: null }]);
      const { address } = await given.inbox(account.id);
      const changed = { ...account, plan: 'free' };
      expect(await accounts.setPlan(account.id, 'free')).toEqual(changed);
      expect(await accounts.find(account.id)).toEqual(changed);
      expect((await keys.findByHash(hash, T))?.account).toEqual(changed);
      expect((await inboxes.findTakers(address, T)).ofAddress?.live?.plan).toBe('free');
    });

    it('an account whose first key is already known is not created', async () => {
      const { accounts, keys } = given.store;
      const key = keyOf(await given.account());
      await keys.create(key);
      const account = accountAt();
      await expect(accounts.create(account, keyOf(account.id, { hash: key.hash }))).rejects.toThrow();
      expect(await accounts.find(account.id)).toBeUndefined();
      expect((await keys.findByHash(key.hash, T))?.account.id).toBe(key.accountId);
    });

    it('the first account is created once, however many servers start at once and later', async () => {
      const { accounts, keys } = (await given.fresh()).store;
      const createFirst = (hash: string) => {
        const account = accountAt();
        return accounts.createFirst(account, keyOf(account.id, { hash }));
      };
      const hashes = ['hash one', 'hash two', 'hash three'];
      const created = await Promise.all(hashes.map(createFirst));
      expect(created.toSorted()).toEqual([false, false, true]);
      expect(await createFirst('hash four')).toBe(false);
      const found = await Promise.all(hashes.map((hash) => keys.findByHash(hash, T)));
      expect(found.flatMap((key) => key?.account ?? [])).toEqual([await accounts.findFirst()]);
    });
  });

  describe('keys', () => {
    it('two that revoke the last two keys at once leave one', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      for (let i = 0; i < 3; i++) {
        const owner = await given.account(on);
        const [a, b] = [keyOf(owner), keyOf(owner)];
        for (const key of [a, b]) await on.store.keys.create(key);
        const outcomes = await Promise.all([
          on.store.keys.revoke(owner, a.id, true, T),
          operator.keys.revoke(owner, b.id, true, T),
        ]);
        expect(outcomes.toSorted()).toEqual(['last', 'revoked']);
        expect(await on.store.keys.list(owner)).toHaveLength(1);
      }
    });

    it.each(['revoked', 'deleted with its account'])(
      'one that was %s stays unknown, also where a setting gives it to another account',
      async (how) => {
        const { keys, accounts } = given.store;
        const [owner, next] = [await given.account(), await given.account()];
        const key = keyOf(owner);
        await keys.create(key);
        if (how === 'revoked') await keys.revoke(owner, key.id, false, T);
        else await accounts.delete(owner, NOW);
        await keys.create({ ...key, id: `${key.id}2`, accountId: next });
        expect(await keys.findByHash(key.hash, NOW)).toBeUndefined();
      },
    );

    it('the time of the last use only moves forward', async () => {
      const { keys } = given.store;
      const owner = await given.account();
      const [a, b, unused] = [keyOf(owner), keyOf(owner), keyOf(owner)];
      for (const key of [a, b, unused]) await keys.create(key);
      const lastUses = () =>
        Promise.all([a, b, unused].map(async ({ id }) => (await keys.find(id))?.lastUsedAt));
      const used = (...uses: [key: { id: string }, at: number][]) =>
        keys.used(uses.map(([{ id: keyId }, at]) => ({ keyId, at })));
      await used([b, T + 9], [{ id: 'key_none' }, T], [a, T + 3]);
      expect(await lastUses()).toEqual([T + 3, T + 9, null]);
      await used([a, T + 7], [a, T + 5], [b, T + 8]);
      expect(await lastUses()).toEqual([T + 7, T + 9, null]);
    });
  });

  it('of many accounts that ask for a domain at once one gets it', async () => {
    const on = await given.freshServer();
    const stores = [on.store, await on.openAnother()];
    const owners = await Promise.all(Array.from({ length: 8 }, () => given.account(on)));
    const domain = 'wanted.test';
    const adding = owners.map((accountId, n) =>
      stores[n % 2]?.domains.add({ domain, accountId, createdAt: T }),
    );
    const added = await Promise.all(adding);
    expect(added.filter(Boolean)).toHaveLength(1);
    expect((await on.store.domains.find(domain))?.accountId).toBe(owners[added.indexOf(true)]);
  });

  describe('the deletion of an account', () => {
    /** An account with one of everything. */
    async function fill(on: Opened) {
      const { store } = on;
      const owner = await given.account(on);
      const key = keyOf(owner);
      await store.keys.create(key);
      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      const own = { ...webhookAt(), maxWebhooks: 10 };
      const labelled = inboxAt({ labels: { run: '1' } });
      const { inbox: live } = await store.inboxes.create(owner, labelled, 10, request, own);
      const expired = await given.inbox(owner, { expiresAt: T + 1 }, on);
      await store.webhooks.create(owner, webhookAt(), 10);
      for (const inbox of [live, expired]) {
        for (let i = 0; i < 3; i++) await onlyPlaced(store, mailTo([inbox]), T);
        await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(3_000_000) }), T);
      }
      const all = await store.deliveries.claim({ prompt: 100, other: 100, leaseMs: 1000 }, T);
      const [{ webhookId, id: deliveryId, leasedUntil }] = all as [(typeof all)[number]];
      const next = { state: 'delivered', reason: null } as const;
      await store.deliveries.record({ webhookId, deliveryId, leasedUntil, attempt: null, next }, T);
      await store.providerItems.keep(settingsOf(owner), {}, T + 1e9);
      await store.outgoing.add([handshakeOf(owner)], T);
      const domain = `${owner.slice(4).toLowerCase()}.test`;
      await store.domains.add({ domain, accountId: owner, createdAt: T });
      return { owner, key, live, domain };
    }

    it('leaves nothing of it when it is answered, and all of another', async () => {
      const on = await given.fresh();
      const other = await fill(on);
      while ((await on.store.upkeep.sweep(NOW, 1000)) > 0);
      const before = await on.counts();
      const { owner, key, live, domain } = await fill(on);
      await onlyPlaced(on.store, mailTo([live, other.live]), T);
      expect(await on.store.accounts.delete(owner, NOW)).toBe('deleted');

      expect(await on.store.accounts.find(owner)).toBeUndefined();
      expect(await on.store.accounts.findFirst()).toMatchObject({ id: other.owner });
      expect(await on.store.keys.findByHash(key.hash, NOW)).toBeUndefined();
      expect(await on.store.keys.list(owner)).toEqual([]);
      expect((await on.store.inboxes.findTakers(live.address, NOW)).ofAddress?.live).toBeUndefined();
      expect(await on.store.inboxes.find(owner, live.id, NOW)).toBeUndefined();
      expect(await on.store.domains.find(domain)).toBeUndefined();
      // Its two addresses stay in quarantine, and the mail to both stays with the other one.
      const ofMail = { messages: 1, sources: 1, readings: 1, shared_sources: 1, deliveries: 2 };
      expect(await on.counts()).toEqual(withMore(before, { addresses: 2, ...ofMail }));
      const taken = on.store.inboxes.create(other.owner, inboxAt({ address: live.address }), 10, null);
      await expect(taken).rejects.toMatchObject({ code: 'address_taken' });
      const left = await on.store.messages.listAfter(other.live.id, { after: 0, limit: 9 }, NOW);
      expect(left).toHaveLength(5);
      expect((await on.store.keys.findByHash(other.key.hash, NOW))?.account.id).toBe(other.owner);
      expect(await on.store.domains.find(other.domain)).toBeDefined();
      expect(await on.store.accounts.delete(owner, NOW)).toBe('unknown');

      // The only account stays as it is.
      const counts = await on.counts();
      expect(await on.store.accounts.delete(other.owner, NOW)).toBe('last');
      expect(await on.counts()).toEqual(counts);
    });

    it('ends what a server creates meanwhile, and nothing is created after it', async () => {
      const on = await given.freshServer();
      await given.account(on);
      const before = await on.counts();
      const operator = await on.openAnother();
      const { owner } = await fill(on);
      let isOver = false;
      const deleting = operator.accounts.delete(owner, NOW).finally(() => {
        isOver = true;
      });
      const outcomes = new Set(['created']);
      for (let i = 0; i < PLENTY && !isOver; i++)
        for (const outcome of await createAll(on.store, owner)) outcomes.add(outcome);
      expect(await deleting).toBe('deleted');
      expect(outcomes).toEqual(new Set(['created', 'unauthorized']));
      expect(await createAll(on.store, owner)).toEqual(Array(6).fill('unauthorized'));
      expect(await on.store.domains.add({ domain: 'late.test', accountId: owner, createdAt: T })).toBe(false);
      const { addresses: _, ...after } = await on.counts();
      expect(after).toEqual({ ...before, addresses: undefined });
    });

    it('of the last two at once leaves one', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      const [a, b] = [await given.account(on), await given.account(on)];
      const deleting = [on.store.accounts.delete(a, NOW), operator.accounts.delete(b, NOW)];
      expect((await Promise.all(deleting)).toSorted()).toEqual(['deleted', 'last']);
      expect(await on.store.accounts.findFirst()).toBeDefined();
    });
  });
}
