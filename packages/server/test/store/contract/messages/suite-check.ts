import { describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../../../src/inboxes/records.ts';
import { parseMail } from '../../../../src/mail/parse.ts';
import { contentJson, MAX_STORED_BYTES } from '../../../../src/mail/stored-content.ts';
import type { CheckRange, NewMail } from '../../../../src/messages/records.ts';
import { everything, json, mailTo, onlyPlaced, reread, saying, T } from '../../builders.ts';
import type { Given } from '../suite.ts';

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function mailSaying(inbox: InboxRecord, text: string): NewMail {
  const mail = mailTo([inbox]);
  return reread(mail, { content: bytes({ ...(json(mail.reading.content) as object), text }) });
}

/** What the contract promises about checking the messages of an inbox against conditions. */
export function describeCheck(given: Given): void {
  describe('checking the messages of an inbox', () => {
    const oldest: CheckRange = { ...everything, order: 'oldest-first', onlyMatches: false };
    const newest: CheckRange = { ...everything, order: 'newest-first', onlyMatches: true };

    async function inboxWith(...texts: string[]) {
      const inbox = await given.inbox(await given.account());
      const ids: string[] = [];
      for (const text of texts)
        ids.push((await onlyPlaced(given.store, mailSaying(inbox, text), T)).messageId);
      return { inbox, ids };
    }

    it('tells of each message, oldest first, which conditions it does not meet', async () => {
      const { inbox, ids } = await inboxWith('one needle', 'two', 'three NEEDLE');
      const page = await given.store.messages.check(inbox.id, { text: 'needle' }, oldest, T);
      expect(page.messages.map(({ message }) => message.id)).toEqual(ids);
      expect(page.messages.map(({ failed }) => failed.map(({ condition }) => condition))).toEqual([
        [],
        ['text'],
        [],
      ]);
      expect(page.isComplete).toBe(true);
    });

    it('returns only those that match, newest first, and ends after so many', async () => {
      const { inbox, ids } = await inboxWith('needle', 'other', 'needle', 'needle');
      const { check } = given.store.messages;
      const all = await check(inbox.id, { text: 'needle' }, newest, T);
      expect(all.messages.map(({ message }) => message.id)).toEqual([ids[3], ids[2], ids[0]]);
      const first = await check(inbox.id, { text: 'needle' }, { ...newest, limit: 2 }, T);
      expect(first).toMatchObject({ isComplete: false, messages: { length: 2 } });
      const rest = await check(inbox.id, { text: 'needle' }, { ...newest, before: first.place }, T);
      expect(rest.messages.map(({ message }) => message.id)).toEqual([ids[0]]);
    });

    it('finds the words of a text that is too long to be stored beside its raw source', async () => {
      const inbox = await given.inbox(await given.account());
      const raw = Buffer.from(`Subject: long\r\n\r\n${`${'x'.repeat(78)}\r\n`.repeat(30_000)}needle\r\n`);
      const parsed = parseMail(raw);
      const content = Buffer.from(contentJson(parsed, raw.length));
      expect(content.length).toBeLessThan(MAX_STORED_BYTES);
      const { messageId } = await onlyPlaced(given.store, reread(mailTo([inbox], { raw }), { content }), T);
      const { check, search } = given.store.messages;
      const found = await check(inbox.id, { text: 'Needle' }, newest, T);
      expect(found.messages.map(({ message }) => message.id)).toEqual([messageId]);
      expect((await check(inbox.id, { text: 'haystack' }, newest, T)).messages).toEqual([]);
      for (const field of ['text', 'any'] as const) {
        const page = await search(inbox, [{ field, text: 'needle' }], everything, T);
        expect(page.messages.map(({ id }) => id)).toEqual([messageId]);
      }
      expect((await search(inbox, saying('haystack'), everything, T)).messages).toEqual([]);
    });

    it('goes through more messages than one call looks at, in either order', async () => {
      const inbox = await given.inbox(await given.account());
      const mails = Array.from({ length: 1_100 }, (_, n) =>
        mailSaying(inbox, n % 400 === 0 ? 'needle' : 'x'),
      );
      await given.store.messages.addBatch(
        mails.map((mail) => ({
          ...mail,
          recipients: mail.recipients.map((one) => ({ ...one, maxMessages: 2_000 })),
        })),
        T,
      );
      for (const order of ['oldest-first', 'newest-first'] as const) {
        let range: CheckRange = { ...everything, order, onlyMatches: true };
        let found = 0;
        for (let calls = 1; ; calls++) {
          const page = await given.store.messages.check(inbox.id, { text: 'needle' }, range, T);
          found += page.messages.length;
          range = { ...range, [order === 'oldest-first' ? 'after' : 'before']: page.place };
          if (page.isComplete) break;
          expect(calls).toBeLessThan(4);
        }
        expect(found).toBe(3);
      }
    });

    it('shows nothing of a message that was deleted, or of an inbox that was emptied', async () => {
      const { inbox, ids } = await inboxWith('needle', 'needle');
      const { messages } = given.store;
      expect(await messages.existing(inbox.id, ids, T)).toEqual(expect.arrayContaining(ids));
      await messages.delete(inbox.id, ids[0] ?? '', T);
      expect(await messages.existing(inbox.id, ids, T)).toEqual([ids[1]]);
      expect((await messages.check(inbox.id, {}, oldest, T)).messages).toHaveLength(1);
      await messages.deleteAll(inbox.id, T);
      expect(await messages.existing(inbox.id, ids, T)).toEqual([]);
      expect((await messages.check(inbox.id, {}, oldest, T)).messages).toEqual([]);
    });
  });
}
