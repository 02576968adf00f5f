import { describe, expect, it } from 'vitest';
import { everything, mailTo, T } from '../builders.ts';
import type { Given } from './suite.ts';

/** Mail that goes into an inbox when it is due. */
export function describeOutgoing(given: Given): void {
  const scheduled = async (inbox: { id: string; accountId: string }, id: string) => {
    const row = { id, accountId: inbox.accountId, inboxId: inbox.id, kind: 'scheduled' as const };
    const details = { to: ['a@mayfly.test'] };
    const raw = new Uint8Array([1]);
    return given.store.outgoing.add([{ ...row, ref: id, details, raw, dueAt: T }], T);
  };
  const count = async (inboxId: string) =>
    (await given.store.messages.listRows(inboxId, everything, T)).length;

  describe('outgoing', () => {
    it('mail of one row is stored once, however often and however much at once it is tried', async () => {
      const { inbox } = await given.place();
      const id = `out_${inbox.id}`;
      expect(await scheduled(inbox, id)).toBe(1);
      const store = () => given.store.messages.addBatch([{ ...mailTo([inbox]), outgoing: id }], T);
      const all = (await Promise.all(Array.from({ length: 5 }, store))).flat(2);
      expect(all.filter((placed) => 'messageId' in placed)).toHaveLength(1);
      expect((await store())[0]).toMatchObject([{ refused: 'gone' }]);
      expect(await count(inbox.id)).toBe(1);
      expect(await given.store.outgoing.rawOf(id)).toBeUndefined();
    });

    it('a row fails with its mail if the inbox is full, and cancelled mail is not stored', async () => {
      const { inbox } = await given.place();
      const [full, cancelled] = [`out_full${inbox.id}`, `out_no${inbox.id}`];
      await scheduled(inbox, full);
      await scheduled(inbox, cancelled);
      const mail = { ...mailTo([inbox], { maxMessages: 0 }), outgoing: full };
      expect(await given.store.messages.addBatch([mail], T)).toMatchObject([[{ refused: 'full' }]]);
      const owner = { accountId: inbox.accountId, inboxId: null };
      expect(await given.store.outgoing.reschedule(owner, full, null, T)).toBe(false);
      expect(await given.store.outgoing.reschedule(owner, cancelled, null, T)).toBe(true);
      const late = { ...mailTo([inbox]), outgoing: cancelled };
      expect(await given.store.messages.addBatch([late], T)).toMatchObject([[{ refused: 'gone' }]]);
      expect(await count(inbox.id)).toBe(0);
    });

    it('a claim leases a row to one of many, in the order of their times, until the lease ends', async () => {
      const { inbox } = await given.place();
      await scheduled(inbox, `out_${inbox.id}`);
      const claim = (now: number) =>
        given.store.outgoing
          .claim({ limit: 10, leaseMs: 1_000 }, T, now)
          .then((rows) => rows.filter(({ inboxId }) => inboxId === inbox.id));
      const rows = (await Promise.all(Array.from({ length: 5 }, () => claim(T + 1)))).flat();
      expect(rows).toHaveLength(1);
      expect(await claim(T + 1_000)).toEqual([]);
      const [again] = await claim(T + 1_001);
      expect(again?.id).toBe(rows[0]?.id);
      // The first claim's result comes late.
      const [first] = rows;
      if (!first) throw new Error('nothing was claimed');
      await given.store.outgoing.record(first, { state: 'failed', dueAt: null, error: 'late', to: [] }, T);
      expect(await given.store.outgoing.held(inbox.id, T)).toEqual({ count: 1, firstAt: T });
    });
  });
}
