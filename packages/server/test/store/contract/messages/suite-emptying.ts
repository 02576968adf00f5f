import { describe, expect, it } from 'vitest';
import type { Placed } from '../../../../src/messages/records.ts';
import { everything, mailTo, onlyPlaced, rawOf, sweepAll, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

const isPlaced = (placed: Placed) => 'messageId' in placed;

/** What the contract promises about emptying an inbox. */
export function describeEmptying(given: Given): void {
  describe('emptying an inbox', () => {
    it('deletes its messages with their sources, and nothing of another inbox', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const [inbox, other] = [await given.inbox(owner, {}, on), await given.inbox(owner, {}, on)];
      await onlyPlaced(on.store, mailTo([other]), T);
      const before = await on.counts();
      await on.store.messages.addBatch(
        Array.from({ length: 250 }, () => mailTo([inbox], { raw: new Uint8Array(9000) })),
        T,
      );
      await onlyPlaced(on.store, mailTo([inbox], { raw: new Uint8Array(3_000_000) }), T);
      const [shared = []] = await on.store.messages.addBatch([mailTo([inbox, other])], T);
      expect(shared.map(isPlaced)).toEqual([true, true]);
      expect(await on.store.messages.deleteAll(inbox.id, T)).toBe(true);
      expect(await on.store.messages.listRows(inbox.id, everything, T)).toEqual([]);
      await sweepAll(on.store, T);
      const { messages = 0, sources = 0, readings = 0 } = before;
      expect(await on.counts()).toEqual({
        ...before,
        messages: messages + 1,
        sources: sources + 1,
        readings: readings + 1,
        shared_sources: 1,
      });
      expect(await on.store.messages.listRows(other.id, everything, T)).toHaveLength(2);
      const inOther = shared.find(({ inboxId }) => inboxId === other.id);
      const messageId = inOther && 'messageId' in inOther ? inOther.messageId : '';
      expect((await rawOf(on.store, other.id, messageId, T)).length).toBeGreaterThan(0);
    });
  });
}
