import { describe, expect, it } from 'vitest';
import type { FaultRuleRecord } from '../../../src/faults/sql.ts';
import type { FaultPoint } from '../../../src/refusals/sql.ts';
import { T } from '../builders.ts';
import type { Given } from './suite.ts';

function ruleAt(at: FaultPoint, changes: Partial<FaultRuleRecord> = {}): FaultRuleRecord {
  const times = changes.times ?? 1;
  const reply = { code: 451, text: '4.7.1 try "again" later' };
  return { at, reply, delayMs: 0, disconnect: false, times, left: times, ...changes };
}

const SENDER = { address: 'a@mayfly.test', mailFrom: 'b@c.test', helo: 'x', remoteAddress: '127.0.0.1' };

/** Rules by which inboxes reject or delay mail. */
export function describeFaults(given: Given): void {
  describe('fault rules', () => {
    it.each([
      ['address', 'ofAddress'],
      ['catch-all', 'ofDomain'],
      ['sink', 'sink'],
    ] as const)(
      'are announced to senders while one is left: an inbox of the kind %s',
      async (kind, taker) => {
        const on = await given.fresh();
        const owner = await given.account(on);
        const { id } = await given.inbox(owner, { kind, address: 'inbox@sub.mayfly.test' }, on);
        const { faults, inboxes } = on.store;
        const address = kind === 'address' ? 'inbox@sub.mayfly.test' : 'any@sub.mayfly.test';
        const announced = async () => {
          const { [taker]: found } = await inboxes.findTakers(address, T);
          return (found && 'live' in found ? found.live : found)?.hasFaults;
        };
        expect(await announced()).toBe(false);
        await faults.set(owner, id, [ruleAt('rcpt')], T);
        expect(await announced()).toBe(true);
        await faults.spend(id, 'rcpt', SENDER, T);
        expect(await announced()).toBe(false);
        await faults.set(owner, id, [ruleAt('rcpt')], T);
        await faults.set(owner, id, [], T);
        expect(await announced()).toBe(false);
      },
    );

    it('are counted exactly by many senders at once, of two processes', async () => {
      const { on, store, owner, inbox } = await given.place('server');
      const stores = [store, await on.openAnother()];
      await store.faults.set(
        owner,
        inbox.id,
        [ruleAt('rcpt', { times: 7 }), ruleAt('rcpt', { times: 6 })],
        T,
      );
      const met = await Promise.all(
        Array.from({ length: 40 }, (_, n) => stores[n % 2]?.faults.spend(inbox.id, 'rcpt', SENDER, T)),
      );
      const rules = met.flatMap((one) => one?.rule ?? []).toSorted();
      expect(rules).toEqual([1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    });
  });
}
