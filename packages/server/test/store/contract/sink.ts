import { describe, expect, it } from 'vitest';
import { ensureSink } from '../../../src/inboxes/new-inbox.ts';
import { type InboxRecord, PERMANENT_UNTIL } from '../../../src/inboxes/records.ts';
import type { NewMail } from '../../../src/messages/records.ts';
import { DAY, everything, inboxAt, mailTo, rawOf, sweepAll, T, ttl } from '../builders.ts';
import type { Given, Opened, Place } from './suite.ts';

const KEPT = 5;

/** A mail to inboxes of which the first drops its oldest messages. */
function evictingMail(inboxes: InboxRecord[], subject: string, raw?: Uint8Array): NewMail {
  const mail = mailTo(inboxes, { subject, ...(raw && { raw }) });
  const [first, ...others] = mail.recipients;
  if (!first) throw new Error('a mail has a recipient');
  return { ...mail, recipients: [{ ...first, maxMessages: KEPT, evictsOldest: true }, ...others] };
}

/** Inboxes that drop their oldest messages, and the sink, which is one. */
export function describeSink(given: Given): void {
  const state = async ({ store }: Opened, { id, accountId }: InboxRecord) => ({
    count: (await store.inboxes.find(accountId, id, T))?.messageCount,
    subjects: (await store.messages.listRows(id, everything, T)).map(
      ({ summary }) => JSON.parse(summary).subject,
    ),
  });
  const subjects = (from: number, to: number): string[] =>
    Array.from({ length: from - to + 1 }, (_, n) => String(from - n));
  /** Adds the mails of these numbers one after the other. */
  async function add({ store, inbox }: Place, from: number, to: number): Promise<void> {
    for (let n = from; n <= to; n++) await store.messages.addBatch([evictingMail([inbox], String(n))], T);
  }

  describe('an inbox that evicts', () => {
    it.each(['many batches', 'one batch'])(
      'keeps the newest messages of %s, and their sources',
      async (how) => {
        const place = await given.place('fresh');
        const { on, store, inbox } = place;
        const mails = subjects(12, 1).map((subject) => evictingMail([inbox], subject));
        if (how === 'many batches') await add(place, 1, 12);
        else await store.messages.addBatch(mails.toReversed(), T);
        expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(12, 12 - KEPT + 1) });
        expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
      },
    );

    it('leaves a mail to the other inboxes that show it', async () => {
      const place = await given.place();
      const { on, store, owner, inbox } = place;
      const other = await given.inbox(owner);
      const raw = new TextEncoder().encode('Subject: shared\r\n\r\nx\r\n');
      await store.messages.addBatch([evictingMail([inbox, other], 'shared', raw)], T);
      await add(place, 1, KEPT);
      expect((await state(on, inbox)).subjects).toEqual(subjects(KEPT, 1));
      expect(await state(on, other)).toEqual({ count: 1, subjects: ['shared'] });
      const [message] = await store.messages.listRows(other.id, everything, T);
      expect(await rawOf(store, other.id, message?.id ?? '', T)).toEqual(raw);
    });

    it('drops nothing for a mail that another recipient’s full inbox refuses for all', async () => {
      const place = await given.place();
      const { on, store, owner, inbox } = place;
      const full = await given.inbox(owner);
      await add(place, 1, KEPT);
      const mail = evictingMail([inbox, full], 'refused');
      const [, last] = mail.recipients;
      if (last) last.maxMessages = 0;
      const [placed] = await store.messages.addBatch([mail, evictingMail([inbox], '6')], T);
      expect(placed).toMatchObject([{ refused: 'full' }, { refused: 'full' }]);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(6, 2) });
    });

    it('counts right after messages were deleted, and after all were', async () => {
      const place = await given.place('fresh');
      const { on, store, inbox } = place;
      await add(place, 1, KEPT);
      const [newest] = await store.messages.listRows(inbox.id, everything, T);
      await store.messages.delete(inbox.id, newest?.id ?? '', T);
      await add(place, 6, 7);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: ['7', '6', '4', '3', '2'] });
      await store.messages.deleteAll(inbox.id, T);
      await add(place, 8, 8 + KEPT);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(13, 9) });
      await sweepAll(store, T);
      expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
    });

    it('frees large sources with the next sweep', async () => {
      const place = await given.place('fresh');
      const { on, store, inbox } = place;
      const large = new TextEncoder().encode(`Subject: large\r\n\r\n${'x'.repeat(700_000)}`);
      await store.messages.addBatch([evictingMail([inbox], 'large', large)], T);
      await add(place, 1, KEPT);
      expect((await state(on, inbox)).subjects).toEqual(subjects(KEPT, 1));
      expect(await on.counts()).toMatchObject({ messages: KEPT, parked_sources: 1 });
      await store.upkeep.sweep(T, 1000);
      expect(await on.counts()).toMatchObject({ sources: KEPT, parked_sources: 0, source_pieces: 0 });
    });
  });

  describe('the sink', () => {
    const sinkOf = async ({ store }: Opened, now: number = T) =>
      (await store.inboxes.findTakers('anyone@anywhere.test', now)).sink;

    it('is one, however many processes create it at once and again, and lives through sweeps', async () => {
      const { on, owner } = await given.place('server');
      const beside = await on.openAnother();
      const all = [on.store, beside, on.store, beside];
      await Promise.all(all.map((store) => ensureSink(store, 'mayfly.test', T)));
      await ensureSink(on.store, 'other.test', T);
      const page = { labels: { mayfly: 'sink' }, limit: 9, before: null };
      const { inboxes } = await on.store.inboxes.list(owner, page, T);
      const permanent = { expiresAt: PERMANENT_UNTIL, maxExpiresAt: PERMANENT_UNTIL };
      const only = { kind: 'sink', accountId: owner, address: 'sink@mayfly.test', ...permanent };
      expect(inboxes).toMatchObject([only]);
      const sink = await sinkOf(on);
      expect(sink?.inboxId).toBe(inboxes[0]?.id);
      const later = T + 365_000 * DAY;
      await on.store.upkeep.sweep(later, 1000);
      expect(await sinkOf(on, later)).toEqual(sink);
      for (const address of ['x@mayfly.test', 'x@[127.0.0.1]', '"a b"@xn--mnchen-3ya.test'])
        expect((await on.store.inboxes.findTakers(address, T)).sink).toEqual(sink);
    });

    it('has another address where its own is taken, and does not count as a live inbox', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      await given.inbox(owner, { address: 'sink@mayfly.test' }, on);
      await ensureSink(on.store, 'mayfly.test', T);
      expect((await sinkOf(on))?.address).toMatch(/^[a-z]+\.[a-z]+\d+@mayfly\.test$/);
      const create = () => on.store.inboxes.create(owner, inboxAt(), 2, null);
      await create();
      await expect(create()).rejects.toMatchObject({ code: 'limit_reached' });
    });

    it('is not deleted by its label, and once deleted, alone or with its account, is created again', async () => {
      const { on, owner } = await given.place('fresh');
      await ensureSink(on.store, 'mayfly.test', T);
      const labels = { mayfly: 'sink' };
      await on.store.inboxes.create(owner, inboxAt({ labels, ...ttl(5) }), 9, null);
      expect(await on.store.inboxes.deleteByLabels(owner, labels, T)).toHaveLength(1);
      const first = await sinkOf(on);
      await on.store.inboxes.delete(owner, first?.inboxId ?? '', T);
      expect(await sinkOf(on)).toBeUndefined();
      await ensureSink(on.store, 'mayfly.test', T);
      const second = await sinkOf(on);
      expect(second).toMatchObject({ address: 'sink@mayfly.test', inboxId: expect.any(String) });
      expect(second?.inboxId).not.toBe(first?.inboxId);

      await on.store.accounts.create({ id: `${owner}z`, name: 'next', plan: 'free', createdAt: T + 1 }, null);
      await on.store.accounts.delete(owner, T);
      expect(await sinkOf(on)).toBeUndefined();
      await ensureSink(on.store, 'mayfly.test', T);
      expect(await sinkOf(on)).toMatchObject({ accountId: `${owner}z`, plan: 'free' });
    });
  });
}
