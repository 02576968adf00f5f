import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AccountRecord, KeyRecord } from '../../../../src/accounts/sql.ts';
import { newId } from '../../../../src/ids.ts';
import type { Refusal } from '../../../../src/refusals/sql.ts';
import { inboxAt, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

const accountAt = (createdAt = T): AccountRecord => ({
  id: newId('acc', createdAt),
  name: 'NUL \0, lone \ud800',
  plan: 'free',
  createdAt,
});

type NewKey = KeyRecord & { hash: string };

/** A key that lives for ever, with a hash of its own. */
function keyOf(accountId: string, changes: Partial<NewKey> = {}): NewKey {
  const createdAt = changes.createdAt ?? T;
  const id = changes.id ?? newId('key', createdAt);
  const rest = { accountId, name: 'ci \0', scope: 'full' as const, prefix: 'mfk_ab', expiresAt: null };
  return { ...rest, id, createdAt, hash: `hash of ${id}`, ...changes };
}

function asListed({ hash: _, ...key }: NewKey, lastUsedAt: number | null = null) {
  return { ...key, lastUsedAt };
}

/** What the contract promises about accounts, their keys and their domains. */
export function describeAccounts(given: Given): void {
  describe('accounts', () => {
    it('an account comes back as it was made, and its first key leads to it', async () => {
      const { accounts, keys } = given.store;
      const account = accountAt();
      const key = keyOf(account.id);
      await accounts.create(account, key);
      expect(await accounts.find(account.id)).toEqual(account);
      expect((await keys.findByHash(key.hash, T))?.account).toEqual(account);
      const keyless = accountAt();
      await accounts.create(keyless, null);
      expect(await keys.list(keyless.id)).toEqual([]);
    });

    it('an account whose first key is already known is not made, and that key stays where it is', async () => {
      const { accounts, keys } = given.store;
      const owner = await given.account();
      const key = keyOf(owner);
      await keys.create(key);
      const account = accountAt();
      await expect(accounts.create(account, keyOf(account.id, { hash: key.hash }))).rejects.toThrow();
      expect(await accounts.find(account.id)).toBeUndefined();
      expect((await keys.findByHash(key.hash, T))?.account.id).toBe(owner);
    });

    it('a new plan is in force from the next look at the account, however one looks', async () => {
      const { accounts, keys, inboxes } = given.store;
      const account = accountAt();
      const key = keyOf(account.id);
      await accounts.create(account, key);
      const { address } = await given.inbox(account.id);
      const changed = { ...account, plan: 'developer' };
      expect(await accounts.setPlan(account.id, 'developer')).toEqual(changed);
      expect(await accounts.find(account.id)).toEqual(changed);
      expect((await keys.findByHash(key.hash, T))?.account).toEqual(changed);
      expect((await inboxes.findByAddress(address, T))?.plan).toBe('developer');
      expect(await accounts.setPlan('acc_none', 'developer')).toBeUndefined();
    });

    it('the first account is not made where the operator made one before', async () => {
      const { accounts } = (await given.fresh()).store;
      const [account, late] = [accountAt(), accountAt()];
      await accounts.create(account, null);
      expect(await accounts.createFirst(late, keyOf(late.id))).toBe(false);
      expect(await accounts.findFirst()).toEqual(account);
      expect(await accounts.find(late.id)).toBeUndefined();
    });
  });

  describe('keys', () => {
    it("are listed newest first, expired ones too, without their hash, and only one's own", async () => {
      const { keys } = given.store;
      const [owner, other] = [await given.account(), await given.account()];
      const [old, expired, young] = [
        keyOf(owner),
        keyOf(owner, { createdAt: T + 1, expiresAt: T + 2, scope: 'read' }),
        keyOf(owner, { createdAt: T + 2 }),
      ];
      for (const key of [expired, young, old, keyOf(other)]) await keys.create(key);
      expect(await keys.list(owner)).toEqual([asListed(young), asListed(expired), asListed(old)]);
      expect(await keys.find(old.id)).toEqual(asListed(old));
      expect(await keys.find('key_none')).toBeUndefined();
    });

    it('a revoked key is never known again, not even as one that is listed', async () => {
      const { keys } = given.store;
      const owner = await given.account();
      const key = keyOf(owner);
      await keys.create(key);
      expect(await keys.revoke(owner, key.id, false, T)).toBe('revoked');
      expect(await keys.findByHash(key.hash, T)).toBeUndefined();
      expect(await keys.find(key.id)).toBeUndefined();
      expect(await keys.list(owner)).toEqual([]);
      expect(await keys.revoke(owner, key.id, false, T)).toBe('unknown');
      await keys.create({ ...key, id: `${key.id}2` });
      expect(await keys.findByHash(key.hash, T)).toBeUndefined();
    });

    it('fifty made at once, by two processes, are never more than the account may have', async () => {
      const on = await given.freshServer();
      const stores = [on.store, await on.openAnother()] as const;
      const [owner, other] = [await given.account(on), await given.account(on)];
      for (const key of [keyOf(owner), keyOf(owner, { expiresAt: T - 1 })]) await on.store.keys.create(key);
      const results = await Promise.allSettled(
        Array.from({ length: 50 }, (_, n) => stores[n % 2 === 0 ? 0 : 1].keys.create(keyOf(owner), 20)),
      );
      const refused = results.filter((result) => result.status === 'rejected');
      expect(refused).toHaveLength(32);
      for (const { reason } of refused) expect(reason).toMatchObject({ code: 'limit_reached' });
      expect(await on.store.keys.list(owner)).toHaveLength(20);
      await on.store.keys.create(keyOf(other), 1);
      const [one] = await on.store.keys.list(owner);
      await on.store.keys.revoke(owner, one?.id ?? '', false, T);
      await on.store.keys.create(keyOf(owner), 20);
      await expect(on.store.keys.create(keyOf(owner), 20)).rejects.toMatchObject({ code: 'limit_reached' });
    });

    it('a server sees at once what another process revoked', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      const owner = await given.account(on);
      for (let i = 0; i < 8; i++) {
        const key = keyOf(owner);
        await on.store.keys.create(key);
        expect((await on.store.keys.findByHash(key.hash, T))?.key.id).toBe(key.id);
        expect(await operator.keys.revoke(owner, key.id, false, T)).toBe('revoked');
        // Reads of one turn of the event loop share a snapshot; another process answers in a later one.
        await nextTurn();
        expect(await on.store.keys.findByHash(key.hash, T)).toBeUndefined();
      }
    });

    it('two that revoke the last two keys at once leave one', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      for (let i = 0; i < 5; i++) {
        const owner = await given.account(on);
        const pair = [keyOf(owner), keyOf(owner)] as const;
        for (const key of pair) await on.store.keys.create(key);
        const outcomes = await Promise.all([
          on.store.keys.revoke(owner, pair[0].id, true, T),
          operator.keys.revoke(owner, pair[1].id, true, T),
        ]);
        expect(outcomes.toSorted()).toEqual(['last', 'revoked']);
        expect(await on.store.keys.list(owner)).toHaveLength(1);
      }
    });

    it('what a revoked key created lives on, and an idempotent creation can be repeated with another key', async () => {
      const { keys, inboxes } = given.store;
      const owner = await given.account();
      const [old, next] = [keyOf(owner), keyOf(owner)];
      await keys.create(old);
      const request = { keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      const { inbox } = await inboxes.create(owner, inboxAt(), 10, request);
      await keys.revoke(owner, old.id, false, T);
      await keys.create(next);
      expect(await inboxes.find(owner, inbox.id, T)).toEqual(inbox);
      const again = await inboxes.create(owner, inboxAt(), 10, request);
      expect(again).toMatchObject({ inbox: { id: inbox.id } });
    });

    it('the last use only moves forward', async () => {
      const { keys } = given.store;
      const owner = await given.account();
      const [a, b, unused] = [keyOf(owner), keyOf(owner), keyOf(owner)];
      for (const key of [a, b, unused]) await keys.create(key);
      const lastUses = async () =>
        Promise.all([a, b, unused].map(async ({ id }) => (await keys.find(id))?.lastUsedAt));
      await keys.used([
        { keyId: b.id, at: T + 9 },
        { keyId: 'key_none', at: T },
        { keyId: a.id, at: T + 3 },
      ]);
      expect(await lastUses()).toEqual([T + 3, T + 9, null]);
      await keys.used([
        { keyId: a.id, at: T + 7 },
        { keyId: a.id, at: T + 5 },
        { keyId: b.id, at: T + 8 },
      ]);
      expect(await lastUses()).toEqual([T + 7, T + 9, null]);
      await keys.used([]);
      expect(await keys.list(owner)).toContainEqual(asListed(a, T + 7));
    });
  });

  describe('domains', () => {
    it('goes to no account that is not there', async () => {
      const { domains } = given.store;
      const domain = 'of-nobody.test';
      expect(await domains.add({ domain, accountId: 'acc_none', createdAt: T })).toBe(false);
      expect(await domains.find(domain)).toBeUndefined();
    });

    it('of many who ask for a domain at once one gets it', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      const owners = await Promise.all(Array.from({ length: 8 }, () => given.account(on)));
      const domain = 'wanted.test';
      const added = await Promise.all(
        owners.map((accountId, n) =>
          (n % 2 ? on.store : operator).domains.add({ domain, accountId, createdAt: T }),
        ),
      );
      expect(added.filter(Boolean)).toHaveLength(1);
      expect((await on.store.domains.find(domain))?.accountId).toBe(owners[added.indexOf(true)]);
    });

    it("refused addresses on another account's domain are not shown", async () => {
      const on = await given.fresh();
      const { domains, refusals } = on.store;
      const [owner, other] = [await given.account(on), await given.account(on)];
      await domains.add({ domain: 'mine.test', accountId: owner, createdAt: T });
      await domains.add({ domain: 'foreign.test', accountId: other, createdAt: T });
      const refused = (address: string): Refusal => ({
        ...{ at: T, address, reply: '550 5.1.1 no' },
        ...{ mailFrom: 'a@b.c', helo: 'x', remoteAddress: '127.0.0.1' },
      });
      const foreign = ['a@foreign.test', '"q@mine.test"@foreign.test', '"\\"\0@"@foreign.test'];
      const mine = ['a@mine.test', '"q@foreign.test"@mine.test'];
      const shared = ['a@mayfly.test', 'a@sub.foreign.test', 'a@notforeign.test'];
      await refusals.add([...foreign, ...mine, ...shared].map(refused));
      const seen = (accountId: string | null) =>
        refusals.listAddresses(accountId, { after: 0, limit: 99 }, T);
      expect(new Set(await seen(owner))).toEqual(new Set([...mine, ...shared]));
      expect(new Set(await seen(other))).toEqual(new Set([...foreign, ...shared]));
    });
  });
}
