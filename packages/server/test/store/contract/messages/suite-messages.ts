import { describe, expect, it } from 'vitest';
import { newId, timeOfId } from '../../../../src/ids.ts';
import { TOMBSTONE_MS } from '../../../../src/inboxes/records.ts';
import { parseMail } from '../../../../src/mail/parse.ts';
import { contentJson } from '../../../../src/mail/stored-content.ts';
import { RAW_PIECE_BYTES } from '../../../../src/reading/sql.ts';
import {
  everything,
  json,
  mailTo,
  onlyPlaced,
  placedIn,
  rawOf,
  reread,
  sweepAll,
  T,
} from '../../builders.ts';
import type { Given } from '../suite.ts';

/** What the contract promises about messages. */
export function describeMessages(given: Given): void {
  const ids = async (inboxId: string, range: Partial<typeof everything> = {}, now = T) =>
    (await given.store.messages.listRows(inboxId, { ...everything, ...range }, now)).map(({ id }) => id);

  describe('messages', () => {
    it('a mail comes back as it was committed, every byte from 0x00 to 0xFF', async () => {
      const accountId = await given.account();
      const to = await given.inbox(accountId);
      const raw = Uint8Array.from({ length: 512 }, (_, i) => i % 256);
      const parseError = 'NUL \0 and lone \ud800';
      const mail = mailTo([to], { raw, parseError, subject: 'emoji 🦟, NUL \0, lone \ud800' });
      const { messageId, receivedAt } = await onlyPlaced(given.store, mail, T + 123);
      expect(receivedAt).toBe(T + 123);
      expect(timeOfId('msg', messageId)).toBe(receivedAt);
      const record = {
        id: messageId,
        inboxId: to.id,
        receivedAt,
        size: 512,
        readAt: null,
        tags: [],
        contentBytes: mail.reading.content.length + 512,
        rcptTo: [`Tag+${to.address}`],
        isToOther: true,
        parseError,
        summary: json(mail.reading.summary),
      };
      expect(await given.store.messages.listAfter(to.id, everything, T)).toEqual([record]);
      expect(await given.store.messages.find(to.id, messageId, T)).toEqual({
        ...record,
        accountId,
        envelope: mail.envelope,
        authentication: null,
        content: json(mail.reading.content),
        index: null,
        isPartial: false,
        trail: [],
      });
      expect(await rawOf(given.store, to.id, messageId, T)).toEqual(raw);
    });

    it.each([100, 70_000])(
      'a content is whole whether or not it repeats what the source has (a source of %i bytes)',
      async (size) => {
        const to = await given.inbox(await given.account());
        const head = 'Subject: =?utf-8?q?caf=C3=A9?=\r\nContent-Type: text/html\r\n\r\n<p>page</p>';
        const raw = new TextEncoder().encode(head.padEnd(size, ' '));
        const read = parseMail(raw);
        const content = new TextEncoder().encode(contentJson(read, size));
        const { messageId } = await onlyPlaced(given.store, reread(mailTo([to], { raw }), { content }), T);
        const found = await given.store.messages.find(to.id, messageId, T);
        expect(found).toMatchObject({ content: read.content, index: JSON.parse(JSON.stringify(read.index)) });
      },
    );

    it('what is known of its sender comes back beside its envelope', async () => {
      const to = await given.inbox(await given.account());
      const authentication = { spf: 'softfail', dkim: 'none', dmarc: 'fail' };
      const mail = mailTo([to], { authentication });
      const { messageId } = await onlyPlaced(given.store, mail, T);
      const found = await given.store.messages.find(to.id, messageId, T);
      expect(found).toMatchObject({ authentication });
      expect(found?.envelope).toEqual(mail.envelope);
    });

    it.each([0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3_000_001])(
      'a source of %i bytes in shared memory is read back in pieces',
      async (size) => {
        const to = await given.inbox(await given.account());
        const raw = new Uint8Array(new SharedArrayBuffer(size));
        for (let i = 0; i < size; i++) raw[i] = (i * 31 + (i >> 8)) % 256;
        const { messageId } = await onlyPlaced(given.store, mailTo([to], { raw }), T);
        const read = await rawOf(given.store, to.id, messageId, T);
        expect(Buffer.compare(read, raw)).toBe(0);
      },
    );

    it('a mail to several inboxes is in each of them, and kept once', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const [a, b] = [await given.inbox(owner, {}, on), await given.inbox(owner, {}, on)];
      const [batch = []] = await on.store.messages.addBatch([mailTo([b, a])], T);
      expect(batch.map(({ inboxId }) => inboxId)).toEqual([b.id, a.id]);
      expect(await on.counts()).toMatchObject({ messages: 2, sources: 1 });
      const [inB, inA] = batch.map(placedIn);
      expect(await on.store.messages.delete(b.id, inB?.messageId ?? '', T)).toBe(true);
      expect(await on.store.messages.find(a.id, inA?.messageId ?? '', T)).toBeDefined();
      expect(await on.counts()).toMatchObject({ messages: 1, sources: 1 });
      expect(await on.store.messages.delete(a.id, inA?.messageId ?? '', T)).toBe(true);
      expect(await on.counts()).toMatchObject({ messages: 0, sources: 0, shared_sources: 0 });
    });

    it('a recipient that is gone takes nothing from the others', async () => {
      const owner = await given.account();
      const fine = await given.inbox(owner);
      const expired = await given.inbox(owner, { expiresAt: T });
      const unknown = { ...fine, id: newId('inb', T) };
      const [batch = []] = await given.store.messages.addBatch([mailTo([expired, fine, unknown])], T);
      expect(batch.map((placed) => ('refused' in placed ? placed.refused : 'placed'))).toEqual([
        'gone',
        'placed',
        'gone',
      ]);
      expect(await ids(fine.id)).toHaveLength(1);
    });

    it('where one recipient is full nobody gets the mail, and the others lose no room for it', async () => {
      const owner = await given.account();
      const [fine, full] = [await given.inbox(owner), await given.inbox(owner)];
      const small = { maxMessages: 1 };
      await onlyPlaced(given.store, mailTo([full], small), T);
      const [batch = []] = await given.store.messages.addBatch([mailTo([fine, full], small)], T);
      expect(batch.map((placed) => 'refused' in placed && placed.refused)).toEqual(['full', 'full']);
      expect(await ids(fine.id)).toEqual([]);
      expect(await given.store.inboxes.find(owner, fine.id, T)).toMatchObject({ messageCount: 0 });
      await onlyPlaced(given.store, mailTo([fine], small), T);
    });

    it.each([100, 5_000_000])('a mail of %i bytes that no recipient can have is not kept', async (size) => {
      const on = await given.fresh();
      const to = await given.inbox(await given.account(on), {}, on);
      const before = await on.counts();
      const full = mailTo([to], { raw: new Uint8Array(size), maxMessages: 0 });
      const placed = await on.store.messages.addBatch([full, mailTo([])], T);
      expect(placed).toEqual([[{ inboxId: to.id, accountId: to.accountId, refused: 'full' }], []]);
      expect(await on.counts()).toEqual(before);
    });

    it('a mail of 5 MB is whole or not there, whatever is deleted meanwhile', async () => {
      const on = await given.fresh();
      const owner = await given.account(on);
      const raw = new Uint8Array(5_000_000).fill(3);
      for (let turn = 0; turn < 4; turn++) {
        const to = await given.inbox(owner, {}, on);
        const added = on.store.messages.addBatch([mailTo([to], { raw })], T);
        for (let read = 0; read < turn; read++) await on.store.messages.listRows(to.id, everything, T);
        await on.store.inboxes.delete(owner, to.id, T);
        await added;
      }
      const kept = await given.inbox(owner, {}, on);
      const { messageId } = await onlyPlaced(on.store, mailTo([kept], { raw }), T);
      expect(Buffer.compare(await rawOf(on.store, kept.id, messageId, T), raw)).toBe(0);
      while ((await on.store.upkeep.sweep(T, 200)) >= 200);
      const pieces = Math.ceil(raw.length / RAW_PIECE_BYTES) - 1;
      expect(await on.counts()).toMatchObject({
        messages: 1,
        sources: 1,
        source_pieces: pieces,
        parked_sources: 0,
      });
    });

    it('a batch fills an inbox to its cap, in the order of the mails, and not beyond', async () => {
      const owner = await given.account();
      const [a, b] = [await given.inbox(owner), await given.inbox(owner)];
      const mails = [0, 1, 2, 3].map((n) =>
        mailTo(n === 2 ? [b, a] : [a], { subject: `${n}`, maxMessages: 3 }),
      );
      const placed = (await given.store.messages.addBatch(mails, T)).map((batch) =>
        batch.map((each) => ('refused' in each ? each.refused : each.receivedAt - T)),
      );
      expect(placed).toEqual([[0], [1], [0, 2], ['full']]);
      const listed = await given.store.messages.listRows(a.id, everything, T);
      expect(listed.map(({ summary }) => JSON.parse(summary).subject)).toEqual(['2', '1', '0']);
      expect(await given.store.inboxes.find(owner, a.id, T)).toMatchObject({
        messageCount: 3,
        lastReceivedAt: T + 2,
        version: 4,
      });
    });

    it('receivedAt and ids grow strictly with each commit, also when the clock goes backwards', async () => {
      const owner = await given.account();
      const to = await given.inbox(owner);
      const placed: { messageId: string; receivedAt: number }[] = [];
      for (const now of [T + 5, T + 5, T, T + 6, T + 9]) {
        placed.push(await onlyPlaced(given.store, mailTo([to]), now));
      }
      expect(placed.map(({ receivedAt }) => receivedAt - T)).toEqual([5, 6, 7, 8, 9]);
      const order = placed.map(({ messageId }) => messageId);
      // Byte order, as both engines and every client compare ids.
      expect(order.toSorted()).toEqual(order);
      expect(await ids(to.id)).toEqual(order.toReversed());
    });

    it('the newest time stays known after its message is deleted, and is not given again', async () => {
      const owner = await given.account();
      const to = await given.inbox(owner);
      const { messageId } = await onlyPlaced(given.store, mailTo([to]), T + 5);
      await given.store.messages.delete(to.id, messageId, T);
      expect(await given.store.inboxes.find(owner, to.id, T)).toMatchObject({
        messageCount: 0,
        lastReceivedAt: T + 5,
        version: 3,
      });
      expect((await onlyPlaced(given.store, mailTo([to]), T + 5)).receivedAt).toBe(T + 6);
    });

    it('a message is found in its own inbox only, and by its whole id only', async () => {
      const owner = await given.account();
      const [to, other] = [await given.inbox(owner), await given.inbox(owner)];
      const { messageId, receivedAt } = await onlyPlaced(given.store, mailTo([to]), T);
      const alike = newId('msg', receivedAt);
      for (const [inboxId, id] of [
        [other.id, messageId],
        [to.id, alike],
        [to.id, 'no id'],
      ] as const) {
        expect(await given.store.messages.find(inboxId, id, T)).toBeUndefined();
        expect(await given.store.messages.readRaw(inboxId, id, 0, T)).toBeUndefined();
        expect(await given.store.messages.delete(inboxId, id, T)).toBe(false);
      }
      expect(await ids(to.id)).toEqual([messageId]);
    });

    it('a large mail in a resizable buffer, which is given away, is stored as it was', async () => {
      const to = await given.inbox(await given.account());
      const bytes = 700_001;
      const raw = new Uint8Array(new ArrayBuffer(bytes + 100, { maxByteLength: 2 * bytes }), 100, bytes);
      for (let i = 0; i < bytes; i++) raw[i] = i % 251;
      const before = Uint8Array.from(raw);
      const small = mailTo([to]);
      const placed = await given.store.messages.addBatch([mailTo([to], { raw }), small], T);
      const read = placed.map(([one]) => rawOf(given.store, to.id, placedIn(one).messageId, T));
      expect(Buffer.compare((await read[0]) ?? raw, before)).toBe(0);
      expect(await read[1]).toEqual(small.raw);
    });

    it('a deleted message is gone, with all pieces of its source, and makes room', async () => {
      const on = await given.fresh();
      const to = await given.inbox(await given.account(on), {}, on);
      const before = await on.counts();
      const big = mailTo([to], { raw: new Uint8Array(5_000_000), maxMessages: 1 });
      const { messageId } = await onlyPlaced(on.store, big, T);
      expect(await on.store.messages.delete(to.id, messageId, T)).toBe(true);
      await sweepAll(on.store, T);
      expect(await on.counts()).toEqual(before);
      expect(await on.store.messages.delete(to.id, messageId, T)).toBe(false);
      await onlyPlaced(on.store, big, T);
    });

    it('a message of an expired inbox is not deleted but unknown', async () => {
      const to = await given.inbox(await given.account(), { expiresAt: T + 1 });
      const { messageId } = await onlyPlaced(given.store, mailTo([to]), T);
      expect(await given.store.messages.delete(to.id, messageId, T + 1)).toBe(false);
      expect(await given.store.messages.delete(to.id, messageId, T + TOMBSTONE_MS)).toBe(false);
    });
  });
}
