import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { ADDRESS_QUARANTINE_MS, type InboxRecord } from '../../../../src/inboxes/records.ts';
import type { Refusal } from '../../../../src/refusals/sql.ts';
import { inboxAt, T, ttl } from '../../builders.ts';
import type { Given } from '../suite.ts';

/** A domain that no other case uses. */
const newDomain = (): string => `${newId('inb', T).slice(4)}.mayfly.test`;

const refusalOf = (address: string, at: number = T): Refusal => ({
  ...{ at, address, reply: '452 4.2.2 full', mailFrom: 'a@b.c', helo: 'x', remoteAddress: '127.0.0.1' },
});

/** What the contract promises about inboxes that take mail for more than their own address. */
export function describeTakers(given: Given): void {
  const catchAllOn = (owner: string, domain: string, changes = {}): Promise<InboxRecord> =>
    given.inbox(owner, { kind: 'catch-all', address: `inbox@${domain}`, ...changes });
  const takers = (address: string, now: number = T) => given.store.inboxes.findTakers(address, now);
  const taken = { code: 'address_taken' };

  describe('a catch-all inbox', () => {
    it('is found for every address of its domain, and for none of another', async () => {
      const owner = await given.account();
      const domain = newDomain();
      const inbox = await catchAllOn(owner, domain);
      expect(inbox.kind).toBe('catch-all');
      const found = await takers(`anyone@${domain}`);
      expect(found).toMatchObject({
        ofAddress: undefined,
        ofDomain: {
          inboxId: inbox.id,
          live: {
            inboxId: inbox.id,
            kind: 'catch-all',
            accountId: owner,
            plan: 'developer',
            address: inbox.address,
            messageCount: 0,
            expiresAt: inbox.expiresAt,
          },
        },
      });
      expect((await takers(`"a@b"@${domain}`)).ofDomain).toEqual(found.ofDomain);
      expect(await given.store.inboxes.findByAddress(inbox.address, T)).toEqual(found.ofDomain?.live);
      for (const other of [`x@sub.${domain}`, 'x@mayfly.test', `${domain}@mayfly.test`])
        expect((await takers(other)).ofDomain).toBeUndefined();
    });

    it('is the only one of its domain, however many are created at once, by whichever account', async () => {
      const owners = [await given.account(), await given.account()];
      const domain = newDomain();
      const results = await Promise.allSettled(
        [...owners, ...owners].map((owner, n) => catchAllOn(owner, domain, { address: `n${n}@${domain}` })),
      );
      const failures = results.filter((result) => result.status === 'rejected');
      expect(failures).toHaveLength(3);
      for (const { reason } of failures) expect(reason).toMatchObject(taken);
    });

    it('that cannot have its own address leaves the domain free, and the other way round', async () => {
      const owner = await given.account();
      const domain = newDomain();
      const address = `inbox@${domain}`;
      const plain = await given.inbox(owner, { address });
      await expect(catchAllOn(owner, domain)).rejects.toMatchObject(taken);
      expect((await takers(`x@${domain}`)).ofDomain).toBeUndefined();
      await given.store.inboxes.delete(owner, plain.id, T);
      await catchAllOn(owner, domain);
      await expect(given.inbox(owner, { address })).rejects.toMatchObject(taken);
      await expect(catchAllOn(owner, domain, { address: `x@${domain}` })).rejects.toMatchObject(taken);
      expect(await given.store.inboxes.findByAddress(`x@${domain}`, T)).toBeUndefined();
    });

    it.each(['expired', 'deleted'])(
      'that %s is not live any more, and its domain is its account’s alone for seven days',
      async (how) => {
        const [owner, stranger] = [await given.account(), await given.account()];
        const domain = newDomain();
        const { id } = await catchAllOn(owner, domain, { expiresAt: T + 100 });
        if (how === 'deleted') await given.store.inboxes.delete(owner, id, T + 99);
        const end = how === 'deleted' ? T + 99 : T + 100;
        const inboxId = how === 'deleted' ? null : id;
        const free = end + ADDRESS_QUARANTINE_MS;
        expect(await takers(`x@${domain}`, end)).toMatchObject({ ofDomain: { inboxId, live: undefined } });
        expect((await takers(`x@${domain}`, free - 1)).ofDomain).toEqual({ inboxId, live: undefined });
        expect((await takers(`x@${domain}`, free)).ofDomain).toBeUndefined();
        await expect(catchAllOn(stranger, domain, { createdAt: free - 1 })).rejects.toMatchObject(taken);
        const next = await catchAllOn(owner, domain, { createdAt: end, expiresAt: end + 1 });
        expect((await takers(`x@${domain}`, end)).ofDomain?.live?.inboxId).toBe(next.id);
        await catchAllOn(stranger, domain, { createdAt: end + 1 + ADDRESS_QUARANTINE_MS });
      },
    );

    it('lives longer for all its addresses when its expiry is moved', async () => {
      const owner = await given.account();
      const domain = newDomain();
      const { id, address } = await catchAllOn(owner, domain, { expiresAt: T + 10 });
      await given.store.inboxes.setExpiry(owner, id, ttl(5), T);
      const later = ttl(5).expiresAt - 1;
      const { ofAddress, ofDomain } = await takers(address, later);
      expect([ofAddress?.live?.inboxId, ofDomain?.live?.inboxId]).toEqual([id, id]);
      const stranger = await given.account();
      const createdAt = T + 11 + ADDRESS_QUARANTINE_MS;
      await expect(catchAllOn(stranger, domain, { createdAt })).rejects.toMatchObject(taken);
    });

    it('ends with its account', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const domain = newDomain();
      await catchAllOn(owner, domain);
      await given.store.accounts.delete(owner, T);
      expect((await takers(`x@${domain}`)).ofDomain).toEqual({ inboxId: null, live: undefined });
      await expect(catchAllOn(other, domain)).rejects.toMatchObject(taken);
    });

    it('leaves nothing behind once it is swept away', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const domain = newDomain();
      const before = await on.counts();
      await given.inbox(owner, { kind: 'catch-all', address: `inbox@${domain}` }, on);
      await on.store.upkeep.sweep(T + 90 * ADDRESS_QUARANTINE_MS, 1000);
      expect(await on.counts()).toEqual(before);
    });
  });

  describe('an address', () => {
    it('is occupied by its inbox, and for seven days after its end, but not by a hold', async () => {
      const owner = await given.account();
      const { id, address } = await given.inbox(owner, { expiresAt: T + 10 });
      expect((await takers(address)).ofAddress).toMatchObject({ inboxId: id, live: { kind: 'address' } });
      expect((await takers(address, T + 10)).ofAddress).toEqual({ inboxId: id, live: undefined });
      expect((await takers(address, T + 10 + ADDRESS_QUARANTINE_MS)).ofAddress).toBeUndefined();
      const held = inboxAt().address;
      await given.store.addresses.hold(owner, held, T + 100, T);
      expect((await takers(held)).ofAddress).toBeUndefined();
    });
  });

  describe('refusals of a domain', () => {
    it('are those of all its addresses but the ones of other inboxes, newest first', async () => {
      const owner = await given.account();
      const domain = newDomain();
      const inbox = await catchAllOn(owner, domain);
      await given.inbox(owner, { address: `other@${domain}` });
      const ended = await given.inbox(owner, { address: `ended@${domain}` });
      await given.store.inboxes.delete(owner, ended.id, T);
      const refusals = ['a', 'inbox', 'other', 'ended', '"q@r"'].map((local, n) =>
        refusalOf(`${local}@${domain}`, T + n),
      );
      await given.store.refusals.add([...refusals, refusalOf(`a@sub.${domain}`), refusalOf('a@mayfly.test')]);
      const [a, own, , , quoted] = refusals;
      expect(await given.store.refusals.listByDomain(domain, inbox.id, 9, T + 9)).toEqual([quoted, own, a]);
      expect(await given.store.refusals.listByDomain(domain, inbox.id, 1, T + 9)).toEqual([quoted]);
    });

    it('of another account’s catch-all inbox are told to nobody else', async () => {
      const [owner, stranger] = [await given.account(), await given.account()];
      const domain = newDomain();
      await catchAllOn(owner, domain);
      const refused = { ...refusalOf(`secret@${domain}`), reply: '550 5.1.1 none' };
      await given.store.refusals.add([refused]);
      const addresses = (accountId: string | null) =>
        given.store.refusals.listAddresses(accountId, { after: 0, limit: 500 }, T);
      expect(await addresses(owner)).toContain(`secret@${domain}`);
      expect(await addresses(stranger)).not.toContain(`secret@${domain}`);
      expect(await addresses(null)).not.toContain(`secret@${domain}`);
    });
  });
}
