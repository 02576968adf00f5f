import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { MailContent, MailSummary } from '../../../src/mail/mail.ts';
import { ComparedContent } from '../../../src/mail/matching/compared-content.ts';
import { type MailCondition, meetsAll } from '../../../src/mail/matching/conditions.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { contentJson, MAX_STORED_BYTES } from '../../../src/mail/stored-content.ts';
import type { CheckRange } from '../../../src/messages/records.ts';
import { runs } from '../../support/form.ts';
import type { ReadMail } from '../../support/store-on.ts';
import { everything, json, mailTo, onlyPlaced, reread, saying, T, withFields } from '../builders.ts';
import type { Given } from './suite.ts';

/** A mail with some fields of its reading. */
function mailSaying(
  inbox: InboxRecord,
  said: Pick<Partial<MailSummary & MailContent>, 'subject' | 'text' | 'htmlWords'>,
  rcptTo: string[] = [inbox.address],
): ReadMail {
  const mail = withFields(mailTo([inbox], { maxMessages: 9999 }), { preview: '', ...said });
  return { ...mail, recipients: mail.recipients.map((one) => ({ ...one, rcptTo })) };
}

/**
 * Searches of an account, and the comparison of the messages of an inbox with conditions.
 * `messages/search/conformance.test.ts` tests what each kind of condition finds.
 */
export function describeSearch(given: Given): void {
  const FIELDS = ['any', 'subject', 'any', 'to', 'text', 'rcptTo', 'from'] as const;

  it('a search finds exactly what a comparison with each message finds', async () => {
    const { store, owner, inbox } = await given.place();
    const letters = fc.constantFrom(...'aAkKiIzZ09@.-+_%"\\\n\t éÉe\u0301\u00ad\u200büßİ\u212aσςΣ注🦟');
    const said = fc.string({ unit: letters, maxLength: 30 });
    const mail = fc.record({ subject: said, text: fc.option(said), htmlWords: fc.option(said), rcpt: said });
    const query = fc.string({ unit: fc.oneof(letters, fc.constantFrom('\ud83e', '\0')), maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.array(mail, { minLength: 1, maxLength: 6 }), query, async (mails, q) => {
        await store.messages.deleteAll(inbox.id, T);
        const asked = q.split(/\s+/).filter((word) => word !== '');
        const conditions: MailCondition[] = asked.map((word, n) => ({
          ...{ field: FIELDS[n % FIELDS.length] ?? 'any', text: word },
          ...(n % 4 === 3 && { not: true }),
        }));
        const expected: string[] = [];
        for (const { rcpt, ...rest } of mails) {
          const one = mailSaying(inbox, rest, [rcpt]);
          const { messageId } = await onlyPlaced(store, one, T);
          const head = { summary: json(one.reading.summary) as MailSummary, rcptTo: [rcpt], tags: [] };
          const content = new ComparedContent(json(one.reading.content) as MailContent);
          if (meetsAll(conditions, head, content)) expected.unshift(messageId);
        }
        const page = await store.messages.search({ accountId: owner }, conditions, everything, T);
        expect(page.messages.map(({ id }) => id)).toEqual(expected);
      }),
      runs(20, 200),
    );
  });

  it('a search and a comparison read a bounded number of messages and bytes in one call, but always one', async () => {
    const { store, owner, inbox } = await given.place();
    const { messages } = store;
    await messages.addBatch(
      Array.from({ length: 1_200 }, (_, n) => mailSaying(inbox, { text: n % 400 === 0 ? 'needle' : 'x' })),
      T,
    );
    for (const order of ['oldest-first', 'newest-first'] as const) {
      let range: CheckRange = { ...everything, order };
      let [found, calls, isComplete] = [0, 0, false];
      for (; !isComplete; calls++) {
        const page = await messages.check(inbox.id, { text: 'needle' }, range, T);
        found += page.messages.filter(({ failed }) => failed.length === 0).length;
        range = { ...range, [order === 'oldest-first' ? 'after' : 'before']: page.place };
        isComplete = page.isComplete;
      }
      expect([order, found]).toEqual([order, 3]);
      expect(calls).toBeGreaterThan(1);
    }
    const large = { raw: new Uint8Array(6 * 1024 * 1024), maxMessages: 9999 };
    for (let n = 0; n < 3; n++) await onlyPlaced(store, mailTo([inbox], large), T);
    await onlyPlaced(store, mailTo([inbox], { subject: 'found', maxMessages: 9999 }), T);
    const rows: number[] = [];
    for (let before = 1 + (await messages.newestInAccount(owner)); ; ) {
      const range = { ...everything, before };
      const page = await messages.search({ accountId: owner }, saying('found'), range, T);
      rows.push(before - page.place);
      before = page.place;
      if (page.isComplete) break;
    }
    expect(rows.slice(0, 3)).toEqual([2, 1, expect.any(Number)]);
    expect(Math.max(...rows)).toBeLessThanOrEqual(500);
    expect(rows.reduce((sum, one) => sum + one)).toBe(1204);
  });

  it('both find the words of a text that is too long to be stored beside its raw source', async () => {
    const { store, inbox } = await given.place();
    const { check, search } = store.messages;
    const raw = Buffer.from(`Subject: long\r\n\r\n${`${'x'.repeat(78)}\r\n`.repeat(30_000)}needle\r\n`);
    const content = Buffer.from(contentJson(parseMail(raw), raw.length));
    expect(content.length).toBeLessThan(MAX_STORED_BYTES);
    const { messageId } = await onlyPlaced(store, reread(mailTo([inbox], { raw }), { content }), T);
    const range: CheckRange = { ...everything, order: 'newest-first' };
    const checked = async (text: string) =>
      (await check(inbox.id, { text }, range, T)).messages.map(({ message }) => message.id);
    expect([await checked('Needle'), await checked('haystack')]).toEqual([[messageId], []]);
    for (const field of ['text', 'any'] as const) {
      const found = await search(inbox, [{ field, text: 'needle' }], everything, T);
      expect(found.messages.map(({ id }) => id)).toEqual([messageId]);
    }
    expect((await search(inbox, saying('haystack'), everything, T)).messages).toEqual([]);
  });
}
