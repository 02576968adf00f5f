import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { ADDRESS_QUARANTINE_MS } from '../../../src/inboxes/records.ts';
import { inboxAt, T } from '../builders.ts';
import type { Given } from './suite.ts';

const HOLD_MS = 10 * 60_000;
const TAKEN = { code: 'address_taken' };

/** A domain that no other case uses. */
const newDomain = (): string => `${newId('inb', T).slice(4)}.mayfly.test`;

/** Who may have an address, or all addresses of a domain, and which inbox takes their mail. */
export function describeAddresses(given: Given): void {
  const takers = (address: string, now: number = T) => given.store.inboxes.findTakers(address, now);
  const hold = (accountId: string, address: string, until: number, now: number = T) =>
    given.store.addresses.hold(accountId, address, until, now);

  describe.each([
    ['an address', 'address', 'ofAddress', 'inbox'],
    ['the domain of a catch-all inbox', 'catch-all', 'ofDomain', 'anyone'],
  ] as const)('%s', (_, kind, taker, local) => {
    it.each(['expired', 'deleted', 'extended and expired'])(
      'whose inbox was %s has no live inbox any more, and is its account’s alone for seven days',
      async (how) => {
        const { inboxes } = given.store;
        const [owner, stranger] = [await given.account(), await given.account()];
        const domain = newDomain();
        const inboxOf = (accountId: string, createdAt: number, expiresAt: number) =>
          given.inbox(accountId, { kind, address: `inbox@${domain}`, createdAt, expiresAt });
        const taken = async (now: number) => (await takers(`${local}@${domain}`, now))[taker];

        const { id, address } = await inboxOf(owner, T, how === 'expired' ? T + 100 : T + 50);
        if (how === 'extended and expired')
          await inboxes.setExpiry(owner, id, { ttlMinutes: 9, expiresAt: T + 100 }, T + 49);
        const end = how === 'deleted' ? T + 49 : T + 100;
        const live = { inboxId: id, kind, address, accountId: owner, plan: 'developer' };
        expect(await taken(end - 1)).toMatchObject({ inboxId: id, live });
        expect((await inboxes.findTakers(address, end - 1)).ofAddress?.live).toMatchObject(live);
        if (how === 'deleted') await inboxes.delete(owner, id, end);

        const free = end + ADDRESS_QUARANTINE_MS;
        const ended = { inboxId: how === 'deleted' ? null : id, live: undefined };
        expect(await taken(end)).toEqual(ended);
        expect(await taken(free - 1)).toEqual(ended);
        expect(await taken(free)).toBeUndefined();
        await expect(inboxOf(stranger, free - 1, free)).rejects.toMatchObject(TAKEN);
        expect(await hold(stranger, address, free + 9, free - 1)).toBe(false);
        // A hold by its own account does not cut the quarantine short.
        expect(await hold(owner, address, end + HOLD_MS, end)).toBe(true);
        expect(await hold(stranger, address, free + 9, free - 1)).toBe(false);
        const next = await inboxOf(owner, end, end + 1);
        expect((await taken(end))?.live?.inboxId).toBe(next.id);
        await inboxOf(stranger, free + 1, free + 2);
      },
    );

    it('goes to one of those who ask for it at once, by whichever account', async () => {
      const owners = [await given.account(), await given.account()];
      const address = `inbox@${newDomain()}`;
      const results = await Promise.allSettled(
        [...owners, ...owners].map((owner) => given.inbox(owner, { kind, address })),
      );
      const refused = results.filter((result) => result.status === 'rejected');
      expect(refused).toHaveLength(3);
      for (const { reason } of refused) expect(reason).toMatchObject(TAKEN);
    });
  });

  describe('an address that is held', () => {
    it('is its holder’s for ten minutes and then anybody’s, and no inbox has it', async () => {
      const [owner, stranger] = [await given.account(), await given.account()];
      const { address } = inboxAt();
      const until = T + HOLD_MS;
      const create = (accountId: string, createdAt: number) => given.inbox(accountId, { address, createdAt });
      expect(await hold(owner, address, until)).toBe(true);
      expect((await takers(address)).ofAddress).toBeUndefined();
      expect(await hold(stranger, address, until)).toBe(false);
      await expect(create(stranger, until - 1)).rejects.toMatchObject(TAKEN);
      expect(await hold(stranger, address, until + 5, until)).toBe(true);
      await expect(create(owner, until)).rejects.toMatchObject(TAKEN);
      await create(stranger, until);
    });

    it('is held by one of several accounts that ask for it at once', async () => {
      const accounts = await Promise.all([given.account(), given.account(), given.account()]);
      const { address } = inboxAt();
      const held = await Promise.all(accounts.map((id) => hold(id, address, T + 9)));
      expect(held.filter(Boolean)).toHaveLength(1);
    });
  });

  describe('a catch-all inbox', () => {
    const catchAllOn = (owner: string, domain: string, address = `inbox@${domain}`) =>
      given.inbox(owner, { kind: 'catch-all', address });

    it('ends with its account, and its domain stays in quarantine', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const domain = newDomain();
      await catchAllOn(owner, domain);
      await given.store.accounts.delete(owner, T);
      expect((await takers(`x@${domain}`)).ofDomain).toEqual({ inboxId: null, live: undefined });
      await expect(catchAllOn(other, domain)).rejects.toMatchObject(TAKEN);
    });
  });
}
