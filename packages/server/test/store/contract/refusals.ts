import { describe, expect, it } from 'vitest';
import { ADDRESS_QUARANTINE_MS } from '../../../src/inboxes/records.ts';
import { REFUSAL_KEPT_MS } from '../../../src/refusals/sql.ts';
import { refusalOf, T } from '../builders.ts';
import type { Given } from './suite.ts';

const MINUTE = 60_000;

/** Mail that no inbox took, and who may learn of it. */
export function describeRefusals(given: Given): void {
  describe('refusals', () => {
    it('are kept for 24 hours, 50 of an address and 10,000 in all; the oldest go first', async () => {
      const on = await given.fresh();
      const { refusals } = on.store;
      const address = 'NUL \0@mayfly.test';
      const one = Array.from({ length: 130 }, (_, n) => refusalOf(address, { at: T + n, reply: `${n}` }));
      await refusals.add(one.slice(0, 60));
      await refusals.add([...one.slice(60), refusalOf('another@mayfly.test')]);
      const listed = (after: number, now: number) => refusals.listConcerning(address, after, now);
      const newest = one.slice(-50).toReversed();
      expect(await listed(0, T + 130)).toEqual(newest);
      expect(await listed(T + 127, T + 130)).toEqual(newest.slice(0, 2));
      expect(await listed(0, T + 127 + REFUSAL_KEPT_MS)).toEqual(newest.slice(0, 2));

      await on.sql(`insert into refusals (address, at, domain, details, had_no_inbox)
        with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10000)
        select '"old@mayfly.test"', ${T} - n, domain, details, had_no_inbox from refusals, numbers
        where address = '"another@mayfly.test"'`);
      await refusals.add([refusalOf('last@mayfly.test')]);
      expect(await on.counts()).toMatchObject({ refusals: 10_000 });
      expect(await listed(0, T + 130)).toEqual(newest);
      const old = await refusals.listConcerning('old@mayfly.test', 0, T);
      expect([old.length, old.at(-1)?.at]).toEqual([10_000 - 52, T - (10_000 - 52)]);
    });

    it('are listed by address once each, the latest first, where no inbox had it: not where it was full or had faults', async () => {
      const { store } = await given.fresh();
      const quoted = '"q\\"\\u0000"@mayfly.test';
      const fault = { rule: 1, at: 'rcpt' as const, delayMs: 0, disconnect: false };
      await store.refusals.add([
        refusalOf('a@mayfly.test', { mailFrom: '"fault":' }),
        refusalOf('b@mayfly.test', { at: T + 1 }),
        refusalOf('full@mayfly.test', {
          reply: '452 4.2.2 Inbox is full',
          mailFrom: '"reply":"550 5.1.1 no',
        }),
        refusalOf('faulty@mayfly.test', { fault }),
      ]);
      await store.refusals.add([refusalOf('a@mayfly.test', { at: T + 2 }), refusalOf(quoted)]);
      const listed = (now: number, page: { after?: number; limit?: number } = {}) =>
        store.refusals.listAddresses(null, { after: 0, limit: 99, ...page }, now);
      const [a, b] = ['a@mayfly.test', 'b@mayfly.test'];
      expect(await listed(T)).toEqual([a, b, quoted]);
      expect(await listed(T, { after: T })).toEqual([a, b]);
      expect(await listed(T, { limit: 1 })).toEqual([a]);
      expect(await listed(T + REFUSAL_KEPT_MS + 1)).toEqual([a]);
      const lines = (await store.refusals.recent(0, T)).split('\n');
      expect(lines[0]).toBe(`${T + 2} ${JSON.stringify(a)}`);
      expect(lines).toHaveLength(4);
    });

    it('of an address or a domain that another account has, holds, or had lately are told to nobody else', async () => {
      const on = await given.fresh();
      const { inboxes, addresses, domains, refusals } = on.store;
      const [owner, other] = [await given.account(on), await given.account(on)];
      for (const local of ['live', 'deleted']) {
        const { id } = await given.inbox(other, { address: `${local}@mayfly.test` }, on);
        if (local === 'deleted') await inboxes.delete(other, id, T);
      }
      await given.inbox(owner, { address: 'own@mayfly.test' }, on);
      await given.inbox(other, { kind: 'catch-all', address: 'inbox@all.mayfly.test' }, on);
      await addresses.hold(other, 'held@mayfly.test', T + MINUTE, T);
      await domains.add({ domain: 'mine.test', accountId: owner, createdAt: T });
      await domains.add({ domain: 'foreign.test', accountId: other, createdAt: T });
      const anyones = ['free@mayfly.test', 'a@sub.foreign.test', 'a@notforeign.test'];
      const own = ['own@mayfly.test', 'a@mine.test', '"q@foreign.test"@mine.test'];
      const ofOther = [
        ...['live@mayfly.test', 'deleted@mayfly.test', 'held@mayfly.test', 'x@all.mayfly.test'],
        ...['a@foreign.test', '"q@mine.test"@foreign.test', '"\\"\0@"@foreign.test'],
      ];
      await refusals.add([...anyones, ...own, ...ofOther].map((address) => refusalOf(address)));
      const listed = async (account: string | null, now = T) =>
        (await refusals.listAddresses(account, { after: 0, limit: 99 }, now)).toSorted();
      expect(await listed(owner)).toEqual([...anyones, ...own].toSorted());
      expect(await listed(other)).toEqual([...anyones, ...ofOther].toSorted());
      expect(await listed(null)).toEqual(anyones.toSorted());
      const later = T + ADDRESS_QUARANTINE_MS;
      await refusals.add([refusalOf('deleted@mayfly.test', { at: later })]);
      expect(await listed(owner, later)).toEqual(['deleted@mayfly.test']);
    });

    it('of a domain are those of all its addresses but the ones that other inboxes have or had, newest first', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const { inboxes, addresses, refusals } = on.store;
      const at = (local: string) => `${local}@sub.mayfly.test`;
      const inbox = await given.inbox(owner, { kind: 'catch-all', address: at('inbox') }, on);
      await given.inbox(owner, { address: at('other') }, on);
      const ended = await given.inbox(owner, { address: at('ended') }, on);
      await inboxes.delete(owner, ended.id, T);
      await addresses.hold(owner, at('held'), T + MINUTE, T);
      const added = ['a', 'inbox', 'other', 'ended', 'held', '"q@r"'].map((local, n) =>
        refusalOf(at(local), { at: T + n }),
      );
      await refusals.add([...added, refusalOf('a@x.sub.mayfly.test'), refusalOf('a@mayfly.test')]);
      const listed = async (limit: number) =>
        (await refusals.listByDomain('sub.mayfly.test', inbox.id, limit, T + 9)).map(
          ({ address }) => address,
        );
      expect(await listed(9)).toEqual(['"q@r"', 'held', 'inbox', 'a'].map(at));
      expect(await listed(1)).toEqual([at('"q@r"')]);
    });
  });
}
