import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { ADDRESS_QUARANTINE_MS, TOMBSTONE_MS } from '../../../src/inboxes/records.ts';
import { atOnce, everything, inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';
import type { Given } from './suite.ts';

const HOLD_MS = 10 * 60_000;
const TAKEN = { code: 'address_taken' };

/** A domain that no other case uses. */
const newDomain = (): string => `${newId('inb', T).slice(4)}.mayfly.test`;

/** Inboxes: creation, look-ups and lists. */
export function describeInboxes(given: Given): void {
  describe('inboxes', () => {
    it('a rejected creation leaves nothing behind', async () => {
      const { on, store, owner, inbox } = await given.place('fresh');
      const before = await on.counts();
      const request = { keyId: 'key_1', keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      const again = inboxAt({ address: inbox.address, labels: { a: 'b' } });
      for (const [wish, limit, code] of [
        [again, 10, 'address_taken'],
        [inboxAt(), 1, 'limit_reached'],
      ] as const)
        await expect(store.inboxes.create(owner, wish, limit, request)).rejects.toMatchObject({ code });
      expect(await on.counts()).toEqual(before);
    });

    it('a list has the inboxes with an address, with all labels, and with all words in address or labels', async () => {
      const owner = await given.account();
      const made = async (at: number, address: string, labels: Record<string, string>) =>
        (await given.inbox(owner, { id: newId('inb', T + at), address, labels })).address;
      const odd = { 'a.b': 'C:\\"x" ü%', 'NUL\0': '\ud800' };
      const a = await made(1, 'sign_up.1@mayfly.test', { run: '4711', ...odd });
      const b = await made(2, 'signXup.2@mayfly.test', { run: '4712', worker: '4711', 'NUL\0': '\ud801' });
      const c = await made(3, 'other@mayfly.test', { run: '4711' });
      const list = async (query: { labels?: Record<string, string>; words?: string[]; address?: string }) => {
        const page = { labels: {}, limit: 10, before: null, ...query };
        return (await given.store.inboxes.list(owner, page, T)).inboxes.map(({ address }) => address);
      };
      const cases: [Parameters<typeof list>[0], string[]][] = [
        [{}, [c, b, a]],
        [{ labels: { run: '4711' } }, [c, a]],
        [{ labels: { run: '4711', 'NUL\0': '\ud800' } }, [a]],
        [{ labels: { run: '4711', other: 'x' } }, []],
        [{ labels: { 'run","4711': '' } }, []],
        [{ address: a }, [a]],
        [{ address: a, labels: { run: '4712' } }, []],
        [{ words: ['SIGN', '4711'] }, [b, a]],
        [{ words: ['sign', 'up.2'] }, [b]],
        [{ words: ['sign_up'] }, [a]],
        [{ words: ['RUN=471'] }, [c, b, a]],
        [{ words: ['run=4711'] }, [c, a]],
        [{ words: ['a.b=c:\\"X"', 'ü%'] }, [a]],
        [{ words: ['NUL\0'] }, [b, a]],
      ];
      for (const [query, expected] of cases) expect([query, await list(query)]).toEqual([query, expected]);
      for (const word of ['up%', '471_', 'n":"4', 'NUL\0x', 'lone \ud800'])
        expect([word, await list({ words: [word] })]).toEqual([word, []]);
    });

    it('one whose address a new inbox has since stays expired, also for a change that began before', async () => {
      const owner = await given.account();
      const { inboxes } = given.store;
      const { id, address } = await given.inbox(owner, { expiresAt: T + 20 });
      const next = await given.inbox(owner, { address, createdAt: T + 30 });
      const change = { ttlMinutes: 9, expiresAt: T + 80 };
      expect(await inboxes.setExpiry(owner, id, change, T + 10)).toBeUndefined();
      expect(await inboxes.find(owner, id, T + 40)).toMatchObject({ expiresAt: T + 20 });
      expect((await inboxes.findTakers(address, T + 40)).ofAddress?.live).toMatchObject({ inboxId: next.id });
    });

    it('a new inbox at the address of an ended one shows no old mail, and outlives what the sweeper removes', async () => {
      const { inboxes, messages, upkeep } = given.store;
      const owner = await given.account();
      const old = inboxAt({ expiresAt: T + 10 });
      await inboxes.create(owner, old, 10, null);
      const { messageId } = await onlyPlaced(given.store, mailTo([{ ...old, accountId: owner }]), T);
      const next = await given.inbox(owner, { address: old.address, createdAt: T + 10 });
      expect(await messages.listRows(next.id, everything, T + 10)).toEqual([]);
      expect(await messages.find(next.id, messageId, T + 10)).toBeUndefined();
      expect((await inboxes.findByToken(old.tokenHash, T + 10))?.id).toBe(old.id);
      expect((await inboxes.findTakers(old.address, T + 10)).ofAddress?.live?.inboxId).toBe(next.id);
      await upkeep.sweep(T + 10 + TOMBSTONE_MS, 1000);
      expect((await inboxes.findTakers(old.address, T + 11)).ofAddress?.live?.inboxId).toBe(next.id);
    });

    it('apply their fault rules exactly as often as many senders of two processes are told', async () => {
      const { on, store, owner, inbox } = await given.place('server');
      const stores = [store, await on.openAnother()];
      const reply = { code: 451, text: '4.7.1 try "again" later' };
      const rules = [7, 6].map((times) => ({
        ...{ at: 'rcpt' as const, reply, delayMs: 0, disconnect: false, times, left: times },
      }));
      await store.faults.set(owner, inbox.id, rules, T);
      const sender = { address: inbox.address, mailFrom: 'b@c.test', helo: 'x', remoteAddress: '127.0.0.1' };
      const met = await atOnce(40, (n) => stores[n % 2]?.faults.spend(inbox.id, 'rcpt', sender, T));
      const spent = met.flatMap((one) => one?.rule ?? []).toSorted();
      expect(spent).toEqual([...Array(7).fill(1), ...Array(6).fill(2)]);
    });
  });
}

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

  it('a catch-all inbox ends with its account, and its domain stays in quarantine', async () => {
    const [owner, other] = [await given.account(), await given.account()];
    const catchAllOn = (accountId: string) =>
      given.inbox(accountId, { kind: 'catch-all', address: `inbox@${domain}` });
    const domain = newDomain();
    await catchAllOn(owner);
    await given.store.accounts.delete(owner, T);
    expect((await takers(`x@${domain}`)).ofDomain).toEqual({ inboxId: null, live: undefined });
    await expect(catchAllOn(other)).rejects.toMatchObject(TAKEN);
  });
}
