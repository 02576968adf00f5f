import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId, timeOfId } from '../../../src/ids.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { contentJson } from '../../../src/mail/stored-content.ts';
import { encodeTrail } from '../../../src/mail/trail.ts';
import type { Placed } from '../../../src/messages/records.ts';
import { RAW_PIECE_BYTES } from '../../../src/reading/sql.ts';
import { runs } from '../../support/form.ts';
import { everything, json, mailTo, onlyPlaced, placedIn, rawOf, reread, sweepAll, T } from '../builders.ts';
import type { Given } from './suite.ts';

/** What is stored of a mail, in which inboxes, in which order, and what its deletion removes. */
export function describeMessages(given: Given): void {
  describe('messages', () => {
    const outcomes = (batch: Placed[] = []) =>
      batch.map((placed) => ('refused' in placed ? placed.refused : placed.receivedAt - T));

    it('a mail comes back as it was committed, every byte from 0x00 to 0xFF', async () => {
      const { store, owner, inbox } = await given.place();
      const raw = Uint8Array.from({ length: 512 }, (_, i) => i % 256);
      const parseError = 'NUL \0 and lone \ud800';
      const authentication = { spf: 'softfail', dkim: 'none', dmarc: 'fail' };
      const subject = 'emoji 🦟, NUL \0, lone \ud800';
      const trail = [
        { event: 'connected' as const, at: T - 40 },
        { event: 'fault' as const, at: T - 30, detail: '451 “later” \0 \ud800' },
      ];
      const mail = {
        ...mailTo([inbox], { raw, parseError, authentication, subject }),
        trail: encodeTrail(trail),
      };
      const { messageId, receivedAt } = await onlyPlaced(store, mail, T + 123);
      expect(receivedAt).toBe(T + 123);
      expect(timeOfId('msg', messageId)).toBe(receivedAt);
      const record = {
        ...{ id: messageId, inboxId: inbox.id, receivedAt, size: 512, readAt: null, tags: [] },
        contentBytes: mail.reading.content.length + 512,
        rcptTo: [`Tag+${inbox.address}`],
        ...{ isToOther: true, parseError, summary: json(mail.reading.summary) },
      };
      expect(await store.messages.listAfter(inbox.id, everything, T)).toEqual([record]);
      expect(await store.messages.find(inbox.id, messageId, T)).toEqual({
        ...{ ...record, accountId: owner, envelope: mail.envelope, authentication, trail },
        ...{ content: json(mail.reading.content), index: null, isPartial: false },
      });
      expect(await rawOf(store, inbox.id, messageId, T)).toEqual(raw);
      // Its id is more than its time.
      const another = newId('msg', receivedAt);
      expect(await store.messages.existing(inbox.id, [another], T)).toEqual([]);
    });

    it.each([100, 70_000])(
      'a content is whole whether or not it repeats what the source has (a source of %i bytes)',
      async (size) => {
        const { store, inbox } = await given.place();
        const head = 'Subject: =?utf-8?q?caf=C3=A9?=\r\nContent-Type: text/html\r\n\r\n<p>page</p>';
        const raw = new TextEncoder().encode(head.padEnd(size, ' '));
        const read = parseMail(raw);
        const content = new TextEncoder().encode(contentJson(read, size));
        const { messageId } = await onlyPlaced(store, reread(mailTo([inbox], { raw }), { content }), T);
        const found = await store.messages.find(inbox.id, messageId, T);
        expect(found).toMatchObject({ content: read.content, index: JSON.parse(JSON.stringify(read.index)) });
      },
    );

    it.each([0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3_000_001])(
      'a source of %i bytes is read back in pieces, from shared memory and from a resizable buffer',
      async (size) => {
        const { store, inbox } = await given.place();
        const resizable = new ArrayBuffer(size + 100, { maxByteLength: 2 * size + 100 });
        const raws = [new Uint8Array(new SharedArrayBuffer(size)), new Uint8Array(resizable, 100, size)];
        const expected = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) % 256);
        for (const raw of raws) raw.set(expected);
        const mails = raws.map((raw) => mailTo([inbox], { raw }));
        for (const [one] of await store.messages.addBatch(mails, T)) {
          const read = await rawOf(store, inbox.id, placedIn(one).messageId, T);
          expect(Buffer.compare(read, expected)).toBe(0);
        }
      },
    );

    it('a mail to several inboxes is in each of them, and kept once', async () => {
      const { on, store, owner, inbox: a } = await given.place('fresh');
      const b = await given.inbox(owner, {}, on);
      const [batch = []] = await store.messages.addBatch([mailTo([b, a])], T);
      expect(batch.map(({ inboxId }) => inboxId)).toEqual([b.id, a.id]);
      expect(await on.counts()).toMatchObject({ messages: 2, sources: 1 });
      const [inB, inA] = batch.map((placed) => placedIn(placed).messageId) as [string, string];
      expect(await store.messages.delete(b.id, inB, T)).toBe(true);
      expect(await store.messages.find(a.id, inA, T)).toBeDefined();
      expect(await on.counts()).toMatchObject({ messages: 1, sources: 1 });
      expect(await store.messages.delete(a.id, inA, T)).toBe(true);
      expect(await on.counts()).toMatchObject({ messages: 0, sources: 0, shared_sources: 0 });
    });

    it('a recipient that is gone, or of another account, takes nothing from the others', async () => {
      const { store, owner, inbox } = await given.place();
      const expired = await given.inbox(owner, { expiresAt: T });
      const unknown = { ...inbox, id: newId('inb', T) };
      const foreign = { ...(await given.place()).inbox, accountId: owner };
      const [batch] = await store.messages.addBatch([mailTo([expired, inbox, unknown, foreign])], T);
      expect(outcomes(batch)).toEqual(['gone', 0, 'gone', 'gone']);
      expect(await store.messages.listRows(inbox.id, everything, T)).toHaveLength(1);
    });

    it('where one recipient is full nobody gets the mail, and the others lose no room for it', async () => {
      const { store, owner, inbox: full } = await given.place();
      const fine = await given.inbox(owner);
      const small = { maxMessages: 1 };
      await onlyPlaced(store, mailTo([full], small), T);
      const [batch] = await store.messages.addBatch([mailTo([fine, full], small)], T);
      expect(outcomes(batch)).toEqual(['full', 'full']);
      expect(await store.messages.listRows(fine.id, everything, T)).toEqual([]);
      expect(await store.inboxes.find(owner, fine.id, T)).toMatchObject({ messageCount: 0 });
      await onlyPlaced(store, mailTo([fine], small), T);
    });

    it.each([100, 5_000_000])(
      'a mail of %i bytes leaves nothing when no recipient can have it, or it is deleted',
      async (size) => {
        const { on, store, inbox } = await given.place('fresh');
        const before = await on.counts();
        const mail = (maxMessages: number) => mailTo([inbox], { raw: new Uint8Array(size), maxMessages });
        const placed = await store.messages.addBatch([mail(0), mailTo([])], T);
        expect(placed).toEqual([[{ inboxId: inbox.id, accountId: inbox.accountId, refused: 'full' }], []]);
        expect(await on.counts()).toEqual(before);
        // A deleted message makes room for another.
        for (let n = 0; n < 2; n++) {
          const { messageId } = await onlyPlaced(store, mail(1), T);
          expect(await store.messages.delete(inbox.id, messageId, T)).toBe(true);
          expect(await store.messages.delete(inbox.id, messageId, T)).toBe(false);
          await sweepAll(store, T);
          expect(await on.counts()).toEqual(before);
        }
      },
    );

    it('a mail of 2 MB is whole or not there, whatever is deleted meanwhile', async () => {
      const { on, store, owner, inbox: kept } = await given.place('fresh');
      const raw = new Uint8Array(2_000_000).fill(3);
      for (let turn = 0; turn < 4; turn++) {
        const to = await given.inbox(owner, {}, on);
        const added = store.messages.addBatch([mailTo([to], { raw })], T);
        for (let read = 0; read < turn; read++) await store.messages.listRows(to.id, everything, T);
        await store.inboxes.delete(owner, to.id, T);
        await added;
      }
      const { messageId } = await onlyPlaced(store, mailTo([kept], { raw }), T);
      expect(Buffer.compare(await rawOf(store, kept.id, messageId, T), raw)).toBe(0);
      await sweepAll(store, T);
      const pieces = Math.ceil(raw.length / RAW_PIECE_BYTES) - 1;
      const left = { messages: 1, sources: 1, source_pieces: pieces, parked_sources: 0 };
      expect(await on.counts()).toMatchObject(left);
    });

    it('a batch fills an inbox to its cap, in the order of the mails, and not beyond', async () => {
      const { store, owner, inbox: a } = await given.place();
      const b = await given.inbox(owner);
      const mails = [0, 1, 2, 3].map((n) =>
        mailTo(n === 2 ? [b, a] : [a], { subject: `${n}`, maxMessages: 3 }),
      );
      const placed = await store.messages.addBatch(mails, T);
      expect(placed.map(outcomes)).toEqual([[0], [1], [0, 2], ['full']]);
      const listed = await store.messages.listRows(a.id, everything, T);
      expect(listed.map(({ summary }) => JSON.parse(summary).subject)).toEqual(['2', '1', '0']);
      const counts = { messageCount: 3, lastReceivedAt: T + 2, version: 4 };
      expect(await store.inboxes.find(owner, a.id, T)).toMatchObject(counts);
    });

    it('times and ids grow strictly with each commit, also when the clock goes back or the newest is deleted', async () => {
      const { store, owner, inbox } = await given.place();
      const placed: { messageId: string; receivedAt: number }[] = [];
      for (const now of [T + 5, T + 5, T, T + 6, T + 9])
        placed.push(await onlyPlaced(store, mailTo([inbox]), now));
      expect(placed.map(({ receivedAt }) => receivedAt - T)).toEqual([5, 6, 7, 8, 9]);
      const ids = placed.map(({ messageId }) => messageId);
      // Byte order, as both engines and every client compare ids.
      expect(ids.toSorted()).toEqual(ids);
      const listed = await store.messages.listRows(inbox.id, everything, T);
      expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
      await store.messages.delete(inbox.id, ids.at(-1) ?? '', T);
      const counts = { messageCount: 4, lastReceivedAt: T + 9, version: 7 };
      expect(await store.inboxes.find(owner, inbox.id, T)).toMatchObject(counts);
      expect((await onlyPlaced(store, mailTo([inbox]), T + 9)).receivedAt).toBe(T + 10);
    });
  });

  describe('the order of an account', () => {
    it('goes on behind a mail that was refused, and behind deleted ones', async () => {
      const { store, owner, inbox } = await given.place();
      const { messages } = store;
      expect(await messages.newestInAccount(owner)).toBe(0);
      await onlyPlaced(store, mailTo([inbox]), T);
      const first = await messages.newestInAccount(owner);
      await messages.deleteAll(inbox.id, T);
      expect(await messages.newestInAccount(owner)).toBe(first);
      await messages.addBatch([mailTo([inbox], { maxMessages: 0 })], T);
      await onlyPlaced(store, mailTo([inbox]), T);
      const [next, ...none] = await messages.listByAccount(owner, everything, T);
      expect(next?.accountOrder).toBeGreaterThan(first);
      expect(none).toEqual([]);
    });

    it('has as the place of a time the last one before every newer message, whatever the times are', async () => {
      const step = fc.record({ step: fc.integer({ min: -20_000, max: 90_000 }), keep: fc.boolean() });
      const steps = fc.array(step, { maxLength: 25 });
      const { messages } = given.store;
      await fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: -100_000, max: 1_500_000 }), async (steps, asked) => {
          const owner = await given.account();
          const times: { order: number; receivedAt: number }[] = [];
          let now = T;
          for (const { step, keep } of steps) {
            now += step;
            // An inbox for each, so that each has the time of the clock.
            const inbox = await given.inbox(owner);
            const { messageId, receivedAt } = await onlyPlaced(given.store, mailTo([inbox]), now);
            const order = await messages.newestInAccount(owner);
            if (keep) times.push({ order, receivedAt });
            else await messages.delete(inbox.id, messageId, now);
          }
          const newest = await messages.newestInAccount(owner);
          const place = await messages.placeInAccount(owner, T + asked);
          const newer = times.filter(({ receivedAt }) => receivedAt > T + asked);
          expect(place).toBe(Math.min(newest, (newer[0]?.order ?? Number.POSITIVE_INFINITY) - 1));
        }),
        runs(8, 100),
      );
    });
  });
}
