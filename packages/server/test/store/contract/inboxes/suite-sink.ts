import { describe, expect, it } from 'vitest';
import { ensureSink } from '../../../../src/inboxes/new-inbox.ts';
import { type InboxRecord, PERMANENT_UNTIL } from '../../../../src/inboxes/records.ts';
import type { NewMail, Placed } from '../../../../src/messages/records.ts';
import { everything, inboxAt, mailTo, placedIn, rawOf, sweepAll, T, ttl } from '../../builders.ts';
import type { Given, Opened } from '../suite.ts';

const KEPT = 5;

/** A mail to inboxes of which the first drops its oldest messages. */
function evictingMail(inboxes: InboxRecord[], subject: string, raw?: Uint8Array): NewMail {
  const mail = mailTo(inboxes, { subject, ...(raw && { raw }) });
  const [first, ...others] = mail.recipients;
  if (!first) throw new Error('a mail has a recipient');
  return { ...mail, recipients: [{ ...first, maxMessages: KEPT, evictsOldest: true }, ...others] };
}

/** What the contract promises about the sink, and about inboxes that drop their oldest messages. */
export function describeSink(given: Given): void {
  const start = async (): Promise<{ on: Opened; owner: string; inbox: InboxRecord }> => {
    const on = await given.fresh();
    const owner = await given.account(on);
    return { on, owner, inbox: await given.inbox(owner, {}, on) };
  };
  const state = async ({ store }: Opened, { id, accountId }: InboxRecord) => ({
    count: (await store.inboxes.find(accountId, id, T))?.messageCount,
    subjects: (await store.messages.listRows(id, everything, T)).map(
      ({ summary }) => JSON.parse(summary).subject,
    ),
  });
  const subjects = (from: number, to: number): string[] =>
    Array.from({ length: from - to + 1 }, (_, n) => String(from - n));

  describe('an inbox that evicts', () => {
    it('keeps the newest messages, and their sources and nobody else’s', async () => {
      const { on, inbox } = await start();
      for (let n = 1; n <= KEPT + 3; n++) {
        await on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
        const kept = subjects(n, Math.max(1, n - KEPT + 1));
        expect(await state(on, inbox)).toEqual({ count: kept.length, subjects: kept });
      }
      expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
    });

    it('loses and doubles nothing when many commits meet at its limit', async () => {
      const { on, inbox } = await start();
      const placed = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          on.store.messages.addBatch([evictingMail([inbox], String(n + 1))], T),
        ),
      );
      const times = placed.flat(2).map((one) => placedIn(one).receivedAt);
      expect(new Set(times).size).toBe(40);
      const kept = await on.store.messages.listRows(inbox.id, everything, T);
      expect(kept.map(({ receivedAt }) => receivedAt)).toEqual(
        times.toSorted((a, b) => b - a).slice(0, KEPT),
      );
      expect((await state(on, inbox)).count).toBe(KEPT);
      expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
    });

    it('keeps its limit within one batch that is larger', async () => {
      const { on, inbox } = await start();
      const mails = subjects(12, 1)
        .toReversed()
        .map((subject) => evictingMail([inbox], subject));
      const [first] = await on.store.messages.addBatch(mails, T);
      expect(first?.[0]).toHaveProperty('messageId');
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(12, 12 - KEPT + 1) });
      expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
    });

    it('leaves a mail to the other inboxes that show it', async () => {
      const { on, owner, inbox } = await start();
      const other = await given.inbox(owner, {}, on);
      const raw = new TextEncoder().encode('Subject: shared\r\n\r\nx\r\n');
      await on.store.messages.addBatch([evictingMail([inbox, other], 'shared', raw)], T);
      for (let n = 1; n <= KEPT; n++) await on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
      expect((await state(on, inbox)).subjects).toEqual(subjects(KEPT, 1));
      expect(await state(on, other)).toEqual({ count: 1, subjects: ['shared'] });
      const [message] = await on.store.messages.listRows(other.id, everything, T);
      expect(await rawOf(on.store, other.id, message?.id ?? '', T)).toEqual(raw);
    });

    it('drops nothing for a mail that another recipient’s full inbox refuses for all', async () => {
      const { on, owner, inbox } = await start();
      const full = await given.inbox(owner, {}, on);
      for (let n = 1; n <= KEPT; n++) await on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
      const mail = evictingMail([inbox, full], 'refused');
      const [, last] = mail.recipients;
      if (last) last.maxMessages = 0;
      const [placed] = await on.store.messages.addBatch([mail, evictingMail([inbox], '6')], T);
      expect(placed?.map((one: Placed) => 'refused' in one && one.refused)).toEqual(['full', 'full']);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(6, 2) });
    });

    it('counts right after messages were deleted, and after all were', async () => {
      const { on, inbox } = await start();
      const add = (n: number) => on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
      for (let n = 1; n <= KEPT; n++) await add(n);
      const [newest] = await on.store.messages.listRows(inbox.id, everything, T);
      await on.store.messages.delete(inbox.id, newest?.id ?? '', T);
      for (const n of [6, 7]) await add(n);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: ['7', '6', '4', '3', '2'] });
      await on.store.messages.deleteAll(inbox.id, T);
      for (let n = 8; n <= 8 + KEPT; n++) await add(n);
      expect(await state(on, inbox)).toEqual({ count: KEPT, subjects: subjects(13, 9) });
      await sweepAll(on.store, T);
      expect(await on.counts()).toMatchObject({ messages: KEPT, sources: KEPT });
    });

    it('frees large sources with the next sweep', async () => {
      const { on, inbox } = await start();
      const large = new TextEncoder().encode(`Subject: large\r\n\r\n${'x'.repeat(700_000)}`);
      await on.store.messages.addBatch([evictingMail([inbox], 'large', large)], T);
      for (let n = 1; n <= KEPT; n++) await on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
      expect((await state(on, inbox)).subjects).toEqual(subjects(KEPT, 1));
      expect(await on.counts()).toMatchObject({ messages: KEPT, parked_sources: 1 });
      await on.store.upkeep.sweep(T, 1000);
      expect(await on.counts()).toMatchObject({ sources: KEPT, parked_sources: 0, source_pieces: 0 });
    });

    it('goes on in the order of the account, with gaps where messages were dropped', async () => {
      const { on, owner, inbox } = await start();
      for (let n = 1; n <= 2 * KEPT; n++)
        await on.store.messages.addBatch([evictingMail([inbox], String(n))], T);
      const listed = await on.store.messages.listByAccount(owner, { after: 0, limit: 100 }, T);
      expect(listed.map(({ summary }) => summary.subject)).toEqual(subjects(2 * KEPT, KEPT + 1).toReversed());
    });
  });

  describe('the sink', () => {
    const sinkOf = async ({ store }: Opened, now: number = T) =>
      (await store.inboxes.findTakers('anyone@anywhere.test', now)).sink;
    const account = async (on: Opened): Promise<string> => {
      const id = await given.account(on);
      return id;
    };

    it('is one, however many processes make sure of it at once and again', async () => {
      const on = await given.freshServer();
      const owner = await account(on);
      const beside = await on.openAnother();
      const stores = [on.store, beside, on.store, beside];
      await Promise.all(stores.map((store) => ensureSink(store, 'mayfly.test', T)));
      await ensureSink(on.store, 'other.test', T);
      const page = { labels: { mayfly: 'sink' }, limit: 9, before: null };
      const { inboxes } = await on.store.inboxes.list(owner, page, T);
      expect(inboxes).toMatchObject([
        {
          kind: 'sink',
          accountId: owner,
          address: 'sink@mayfly.test',
          expiresAt: PERMANENT_UNTIL,
          maxExpiresAt: PERMANENT_UNTIL,
        },
      ]);
      expect((await sinkOf(on))?.inboxId).toBe(inboxes[0]?.id);
    });

    it('is found for every address, and lives for ever, also through sweeps', async () => {
      const on = await given.fresh();
      await account(on);
      await ensureSink(on.store, 'mayfly.test', T);
      const sink = await sinkOf(on);
      const later = T + 1000 * 365 * 24 * 3_600_000;
      await on.store.upkeep.sweep(later, 1000);
      expect(await sinkOf(on, later)).toEqual(sink);
      expect(await on.store.inboxes.findByAddress('sink@mayfly.test', later)).toEqual(sink);
      for (const address of ['x@mayfly.test', 'x@[127.0.0.1]', '"a b"@xn--mnchen-3ya.test'])
        expect((await on.store.inboxes.findTakers(address, T)).sink).toEqual(sink);
    });

    it('has another address where its own is taken', async () => {
      const on = await given.fresh();
      const owner = await account(on);
      await given.inbox(owner, { address: 'sink@mayfly.test' }, on);
      await ensureSink(on.store, 'mayfly.test', T);
      expect((await sinkOf(on))?.address).toMatch(/^[a-z]+\.[a-z]+\d+@mayfly\.test$/);
    });

    it('does not count as a live inbox', async () => {
      const on = await given.fresh();
      const owner = await account(on);
      await ensureSink(on.store, 'mayfly.test', T);
      await on.store.inboxes.create(owner, inboxAt(), 1, null);
      await expect(on.store.inboxes.create(owner, inboxAt(), 1, null)).rejects.toMatchObject({
        code: 'limit_reached',
      });
    });

    it('is not deleted by its label, and once deleted it may be made again', async () => {
      const on = await given.fresh();
      const owner = await account(on);
      await ensureSink(on.store, 'mayfly.test', T);
      const labels = { mayfly: 'sink' };
      await on.store.inboxes.create(owner, inboxAt({ labels, ...ttl(5) }), 9, null);
      expect(await on.store.inboxes.deleteByLabels(owner, labels, T)).toHaveLength(1);
      const first = await sinkOf(on);
      expect(first).toBeDefined();
      await on.store.inboxes.delete(owner, first?.inboxId ?? '', T);
      expect(await sinkOf(on)).toBeUndefined();
      await ensureSink(on.store, 'mayfly.test', T);
      const second = await sinkOf(on);
      expect(second?.address).toBe('sink@mayfly.test');
      expect(second?.inboxId).not.toBe(first?.inboxId);
    });

    it('of a deleted account is made again for the account that is the first then', async () => {
      const on = await given.fresh();
      const owner = await account(on);
      await ensureSink(on.store, 'mayfly.test', T);
      await on.store.accounts.create({ id: `${owner}z`, name: 'next', plan: 'free', createdAt: T + 1 }, null);
      await on.store.accounts.delete(owner, T);
      expect(await sinkOf(on)).toBeUndefined();
      await ensureSink(on.store, 'mayfly.test', T);
      expect(await sinkOf(on)).toMatchObject({ accountId: `${owner}z`, plan: 'free' });
    });
  });
}
