import { describe, expect, it } from 'vitest';
import type { FaultRuleRecord } from '../../../../src/faults/sql.ts';
import type { FaultPoint } from '../../../../src/refusals/sql.ts';
import { inboxAt, T, ttl } from '../../builders.ts';
import type { Given } from '../suite.ts';

function ruleAt(at: FaultPoint, changes: Partial<FaultRuleRecord> = {}): FaultRuleRecord {
  const times = changes.times ?? 1;
  const reply = { code: 451, text: '4.7.1 try "again" later' };
  return { at, reply, delayMs: 0, disconnect: false, times, left: times, ...changes };
}

const SENDER = { address: 'a@mayfly.test', mailFrom: 'b@c.test', helo: 'x', remoteAddress: '127.0.0.1' };

/** What the contract promises of fault rules. */
export function describeFaults(given: Given): void {
  describe('fault rules', () => {
    it('are applied in their order, each as often as it says, then no more', async () => {
      const owner = await given.account();
      const { id } = await given.inbox(owner);
      const rules = [
        ruleAt('rcpt', { times: 2 }),
        ruleAt('end-of-data', { reply: null, delayMs: 900_000, disconnect: true }),
        ruleAt('rcpt'),
      ];
      expect(await given.store.faults.set(owner, id, rules, T)).toBe(true);
      const met: (number | undefined)[] = [];
      for (const at of [
        'rcpt',
        'data',
        'rcpt',
        'rcpt',
        'end-of-data',
        'end-of-data',
        'rcpt',
        'rcpt',
      ] as const) {
        met.push((await given.store.faults.spend(id, at, SENDER, T))?.rule);
      }
      expect(met).toEqual([1, undefined, 1, undefined, 2, undefined, 3, undefined]);
      expect(await given.store.faults.read(owner, id, T)).toEqual(
        rules.map((rule) => ({ ...rule, left: 0 })),
      );
    });

    it('tell what to do, and are stored among the refusals in the same step', async () => {
      const owner = await given.account();
      const { id } = await given.inbox(owner);
      const { times: _, left: __, ...rest } = ruleAt('data', { delayMs: 5 });
      await given.store.faults.set(owner, id, [ruleAt('data', { delayMs: 5 })], T);
      const sender = { ...SENDER, address: `${id}@mayfly.test` };
      expect(await given.store.faults.spend(id, 'data', sender, T)).toEqual({ ...rest, rule: 1 });
      const { reply: _reply, ...fault } = { ...rest, rule: 1 };
      expect(await given.store.refusals.listConcerning(sender.address, 0, T)).toEqual([
        { ...sender, at: T, reply: '451 4.7.1 try "again" later', fault },
      ]);
    });

    it('show at the address of the inbox while one of them is still to be applied', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const shown = async () => (await given.store.inboxes.findByAddress(inbox.address, T))?.hasFaults;
      expect(await shown()).toBe(false);
      await given.store.faults.set(owner, inbox.id, [ruleAt('rcpt')], T);
      expect(await shown()).toBe(true);
      await given.store.faults.spend(inbox.id, 'rcpt', SENDER, T);
      expect(await shown()).toBe(false);
      await given.store.faults.set(owner, inbox.id, [ruleAt('rcpt')], T);
      expect(await shown()).toBe(true);
      await given.store.faults.set(owner, inbox.id, [], T);
      expect(await shown()).toBe(false);
      expect(await given.store.faults.read(owner, inbox.id, T)).toEqual([]);
    });

    it('show at a catch-all inbox and at the sink', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const catchAll = inboxAt({ kind: 'catch-all', address: 'inbox@sub.mayfly.test' });
      const sink = inboxAt({ kind: 'sink', address: 'sink@mayfly.test' });
      await given.inbox(owner, catchAll, on);
      await given.inbox(owner, sink, on);
      await on.store.faults.set(owner, catchAll.id, [ruleAt('rcpt')], T);
      await on.store.faults.set(owner, sink.id, [ruleAt('rcpt')], T);
      const takers = await on.store.inboxes.findTakers('any@sub.mayfly.test', T);
      expect([takers.ofDomain?.live?.hasFaults, takers.sink?.hasFaults]).toEqual([true, true]);
    });

    it('belong to one account, and end with the inbox', async () => {
      const [owner, other] = [await given.account(), await given.account()];
      const { id } = await given.inbox(owner);
      const { faults } = given.store;
      expect(await faults.set(other, id, [ruleAt('rcpt')], T)).toBe(false);
      expect(await faults.read(other, id, T)).toBeUndefined();
      await faults.set(owner, id, [ruleAt('rcpt')], T);
      const { expiresAt } = ttl(60);
      expect(await faults.spend(id, 'rcpt', SENDER, expiresAt)).toBeUndefined();
      expect(await faults.read(owner, id, expiresAt)).toBeUndefined();
      expect(await faults.set(owner, id, [], expiresAt)).toBe(false);
      await given.store.inboxes.delete(owner, id, T);
      expect(await faults.spend(id, 'rcpt', SENDER, T)).toBeUndefined();
    });

    it('are counted exactly by many senders at once, of two processes', async () => {
      const on = await given.freshServer();
      const another = await on.openAnother();
      const owner = await given.account(on);
      const { id } = await given.inbox(owner, {}, on);
      await on.store.faults.set(owner, id, [ruleAt('rcpt', { times: 7 }), ruleAt('rcpt', { times: 6 })], T);
      const stores = [on.store, another];
      const met = await Promise.all(
        Array.from({ length: 40 }, (_, n) => stores[n % 2]?.faults.spend(id, 'rcpt', SENDER, T)),
      );
      const rules = met.flatMap((one) => one?.rule ?? []).toSorted();
      expect(rules).toEqual([1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    });
  });
}
