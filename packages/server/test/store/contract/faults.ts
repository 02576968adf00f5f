import { expect, it } from 'vitest';
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
  it('fault rules are counted exactly by many senders at once, of two processes', async () => {
    const { on, store, owner, inbox } = await given.place('server');
    const stores = [store, await on.openAnother()];
    await store.faults.set(owner, inbox.id, [ruleAt('rcpt', { times: 7 }), ruleAt('rcpt', { times: 6 })], T);
    const met = await Promise.all(
      Array.from({ length: 40 }, (_, n) => stores[n % 2]?.faults.spend(inbox.id, 'rcpt', SENDER, T)),
    );
    const rules = met.flatMap((one) => one?.rule ?? []).toSorted();
    expect(rules).toEqual([1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
  });
}
