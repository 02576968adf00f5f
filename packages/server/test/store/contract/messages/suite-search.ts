import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../../../src/inboxes/records.ts';
import type { MailContent, MailSummary } from '../../../../src/mail/mail.ts';
import { ComparedContent } from '../../../../src/mail/matching/compared-content.ts';
import { type Condition, type MailCondition, meetsAll } from '../../../../src/mail/matching/conditions.ts';
import type { NewestPage } from '../../../../src/messages/records.ts';
import { runs } from '../../../support/form.ts';
import type { ReadMail } from '../../../support/store-on.ts';
import { everything, json, mailTo, onlyPlaced, saying, T } from '../../builders.ts';
import type { Given, Opened } from '../suite.ts';

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** A mail that says something. */
function mailSaying(
  inboxes: InboxRecord[],
  said: Partial<MailSummary> & Partial<MailContent> & { rcptTo?: string[]; raw?: Uint8Array },
): ReadMail {
  const { raw } = said;
  const mail = mailTo(inboxes, raw ? { raw } : {});
  const pick = <S extends object>(shape: S): S =>
    Object.fromEntries(
      Object.entries(shape).map(([key, value]) => [key, { [key]: value, ...said }[key]]),
    ) as S;
  return {
    ...mail,
    reading: {
      ...mail.reading,
      summary: bytes(pick(json(mail.reading.summary) as MailSummary)),
      content: bytes(pick(json(mail.reading.content) as MailContent)),
    },
    recipients: mail.recipients.map((one) => ({ ...one, rcptTo: said.rcptTo ?? one.rcptTo })),
  };
}

const idsOf = ({ messages }: NewestPage): string[] => messages.map(({ id }) => id);

/** What the contract promises about searches over all inboxes of an account. */
export function describeSearch(given: Given): void {
  describe('a search', () => {
    /** A few mails in an account of their own; answers which of them a search finds, by their names. */
    async function searching(mails: Record<string, Parameters<typeof mailSaying>[1]>) {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const names = new Map<string, string>();
      for (const [name, said] of Object.entries(mails)) {
        names.set(
          (await onlyPlaced(given.store, mailSaying([inbox], { rcptTo: ['box@mayfly.test'], ...said }), T))
            .messageId,
          name,
        );
      }
      return async (conditions: Condition[]) => {
        const inAll = await given.store.messages.search({ accountId: owner }, conditions, everything, T);
        const inOne = await given.store.messages.search(
          { accountId: owner, inboxId: inbox.id },
          conditions,
          everything,
          T,
        );
        expect(inAll.isComplete).toBe(true);
        expect(idsOf(inOne)).toEqual(idsOf(inAll));
        return idsOf(inAll)
          .map((id) => names.get(id))
          .toSorted();
      };
    }
    const words = (q: string): Condition[] => saying(...q.split(' '));
    const text = (part: string): Condition => ({ field: 'text', text: part });

    it('finds words in the subject, addresses, recipients and text, and nowhere else', async () => {
      const found = await searching({
        subject: { subject: 'The Invoice 4711' },
        from: { from: { name: 'Invoice Desk', address: 'x@example.org' } },
        to: {
          to: [
            { name: '', address: 'a@b.c' },
            { name: '', address: 'INVOICE@b.c' },
          ],
        },
        cc: { cc: [{ name: 'The invoice', address: 'a@b.c' }] },
        rcptTo: { rcptTo: ['Pre-invoice-post@mayfly.test'] },
        text: { text: 'line\nyour INVOICE\nline' },
        htmlWords: { text: null, htmlWords: 'the invoice' },
        beyondText: { text: 'View in a browser', htmlWords: 'Pay the invoice' },
        html: { html: '<p class="invoice">x</p>' },
        header: { headers: [{ name: 'X-Invoice', value: 'invoice' }] },
        link: { links: [{ href: 'https://invoice.example/', text: 'x', kind: 'other' }] },
        bcc: { bcc: [{ name: '', address: 'invoice@b.c' }] },
        preview: { preview: 'invoice' },
      });
      const all = ['beyondText', 'cc', 'from', 'htmlWords', 'rcptTo', 'subject', 'text', 'to'];
      expect(await found(words('invoice'))).toEqual(all);
      expect(await found(words('nVoIc'))).toEqual(all);
      expect(await found(words('invoice 4711'))).toEqual(['subject']);
      expect(await found(words('4711 invoice the'))).toEqual(['subject']);
      expect(await found(words('htmlwords'))).toEqual([]);
      expect(await found([...words('invoice'), { field: 'subject', text: 'INV' }])).toEqual(['subject']);
      expect(await found([text('your invoice')])).toEqual(['text']);
      expect(await found([text('pay the')])).toEqual(['beyondText']);
      expect(await found(words('browser pay'))).toEqual(['beyondText']);
      expect(await found([text('invoice'), { field: 'rcptTo', text: 'pre-' }])).toEqual([]);
      expect(await found([{ field: 'from', text: 'desk' }])).toEqual(['from']);
      expect(await found([{ field: 'to', text: 'invoice' }])).toEqual(['cc', 'rcptTo', 'to']);
    });

    it.each<[string, string, string[]]>([
      ['a word of one letter', 'z', ['odd', 'quoted']],
      ['signs that mean something to the database', '100%_\'"\\', ['odd']],
      ['the same signs where they are not', "100%%'", []],
      ['an underscore, which is no wildcard', 'a_b', []],
      ['letters of all scripts', '注文 ÜBERGRÖSSE', ['wide']],
      ['letters composed otherwise', 'cafe\u0301', ['wide']],
      ['a letter without its accent, which is another letter', 'cafe', []],
      ['an emoji', '🦟', ['wide']],
      ['half of a surrogate pair, which is in no text', '\ud83e', ['wide']],
      ['a dotted capital I', 'i\u0307stanbul', ['turkish']],
      ['a Kelvin sign', 'kelvin', ['turkish']],
      ['a word that JSON escapes', 'c:\\new', ['quoted']],
      ['a quoted word', '"zebra"', ['quoted']],
    ])('finds %s: %j', async (_, q, expected) => {
      const found = await searching({
        odd: { text: 'it costs 100%_\'"\\ az' },
        wide: { text: 'ご注文 übergröße ÜBERGRÖSSE caf\u00e9 🦟' },
        turkish: { text: 'İstanbul, 5 \u212aelvin' },
        quoted: { subject: 'say "zebra"', text: 'c:\\new\\folder' },
        plain: { subject: 'a-b', text: 'nothing' },
      });
      expect(await found(words(q))).toEqual(expected);
    });

    const FIELDS = ['any', 'subject', 'any', 'to', 'text', 'rcptTo', 'from'] as const;

    it('finds exactly what a look at each message finds, whatever is written and asked', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const letters = fc.constantFrom(...'aAkKiIzZ09@.-+_%"\\\n\t éÉe\u0301\u00ad\u200büßİ\u212aσςΣ注🦟');
      const said = fc.string({ unit: letters, maxLength: 30 });
      const mail = fc.record({
        subject: said,
        text: fc.option(said),
        htmlWords: fc.option(said),
        rcpt: said,
      });
      await fc.assert(
        fc.asyncProperty(fc.array(mail, { minLength: 1, maxLength: 6 }), said, async (mails, q) => {
          await given.store.messages.deleteAll(inbox.id, T);
          const asked = q.split(/\s+/).filter((word) => word !== '');
          const conditions: MailCondition[] = asked.map((word, n) => ({
            ...{ field: FIELDS[n % FIELDS.length] ?? 'any', text: word },
            ...(n % 4 === 3 && { not: true }),
          }));
          const expected: string[] = [];
          for (const { rcpt, ...rest } of mails) {
            const one = mailSaying([inbox], { ...rest, rcptTo: [rcpt], preview: '' });
            const { messageId } = await onlyPlaced(given.store, one, T);
            const head = { summary: json(one.reading.summary) as MailSummary, rcptTo: [rcpt], tags: [] };
            const content = new ComparedContent(json(one.reading.content) as MailContent);
            if (meetsAll(conditions, head, content)) expected.unshift(messageId);
          }
          const scope = { accountId: owner };
          const page = await given.store.messages.search(scope, conditions, everything, T);
          expect(idsOf(page)).toEqual(expected);
        }),
        runs(20, 200),
      );
    });

    it('finds a mail in each inbox that has received it', async () => {
      const owner = await given.account();
      const inboxes = [await given.inbox(owner), await given.inbox(owner)];
      const [placed = []] = await given.store.messages.addBatch(
        [mailSaying(inboxes, { text: 'the bill' })],
        T,
      );
      const ids = placed.map((one) => ('messageId' in one ? one.messageId : ''));
      for (const conditions of [[text('the bill')], words('bill')]) {
        const page = await given.store.messages.search({ accountId: owner }, conditions, everything, T);
        expect(idsOf(page).toSorted()).toEqual(ids.toSorted());
      }
    });

    it('stops at its limit, and says down to where it has looked', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const ids: string[] = [];
      for (let n = 0; n < 9; n++) {
        const subject = n % 2 === 0 ? 'even' : 'odd';
        ids.unshift((await onlyPlaced(given.store, mailTo([inbox], { subject }), T)).messageId);
      }
      const even = ids.filter((_, n) => n % 2 === 0);
      const seen: string[] = [];
      for (let before = Number.POSITIVE_INFINITY; ; ) {
        const range = { after: 0, before, limit: 2 };
        const page = await given.store.messages.search({ accountId: owner }, words('even'), range, T);
        expect(page.messages.length).toBeLessThanOrEqual(2);
        seen.push(...idsOf(page));
        before = page.place;
        if (page.isComplete) break;
      }
      expect(seen).toEqual(even);
    });

    it('reads a bounded number of messages and bytes in one call, but always one', async () => {
      const on: Opened = await given.fresh();
      const owner = await given.account(on);
      const inbox = await given.inbox(owner, {}, on);
      const many = Array.from({ length: 1200 }, () => mailTo([inbox], { maxMessages: 9999 }));
      await on.store.messages.addBatch(many, T);
      const large = { raw: new Uint8Array(6 * 1024 * 1024), maxMessages: 9999 };
      for (let n = 0; n < 3; n++) await onlyPlaced(on.store, mailTo([inbox], large), T);
      await onlyPlaced(on.store, mailTo([inbox], { subject: 'found', maxMessages: 9999 }), T);
      const rows: number[] = [];
      const scope = { accountId: owner };
      for (let before = 1 + (await on.store.messages.newestInAccount(owner)); ; ) {
        const page = await on.store.messages.search(scope, words('found'), { ...everything, before }, T);
        rows.push(before - page.place);
        before = page.place;
        if (page.isComplete) break;
      }
      expect(rows.slice(0, 3)).toEqual([2, 1, expect.any(Number)]);
      expect(Math.max(...rows)).toBeLessThanOrEqual(500);
      expect(rows.reduce((sum, one) => sum + one)).toBe(1204);
    });
  });
}
