import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { TOMBSTONE_MS } from '../../../src/inboxes/records.ts';
import { everything, inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';
import type { Given } from './suite.ts';

/** Inboxes: creation, look-ups and lists. */
export function describeInboxes(given: Given): void {
  describe('inboxes', () => {
    it('a rejected creation leaves nothing behind', async () => {
      const { on, store, owner, inbox } = await given.place('fresh');
      const before = await on.counts();
      const request = { keyId: 'key_1', keyHash: 'k', bodyHash: 'b', nonce: 'n' };
      const again = inboxAt({ address: inbox.address, labels: { a: 'b' } });
      await expect(store.inboxes.create(owner, again, 10, request)).rejects.toMatchObject({
        code: 'address_taken',
      });
      await expect(store.inboxes.create(owner, inboxAt(), 1, request)).rejects.toMatchObject({
        code: 'limit_reached',
      });
      expect(await on.counts()).toEqual(before);
    });

    it('a list has the inboxes with an address, with all labels, and with all words in address or labels', async () => {
      const owner = await given.account();
      const made = async (at: number, address: string, labels: Record<string, string>) =>
        (await given.inbox(owner, { id: newId('inb', T + at), address, labels })).address;
      const a = await made(1, 'sign_up.1@mayfly.test', {
        run: '4711',
        'a.b': 'C:\\"x" ü%',
        'NUL\0': '\ud800',
      });
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
        ...['up%', '471_', 'n":"4', 'NUL\0x', 'lone \ud800'].map((word): [object, string[]] => [
          { words: [word] },
          [],
        ]),
      ];
      for (const [query, expected] of cases) expect([query, await list(query)]).toEqual([query, expected]);
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
  });
}
