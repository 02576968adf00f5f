import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasWords, missingWords, searchWords } from '../../src/mail/filters.ts';
import type { MailContent, MailSummary } from '../../src/mail/mail.ts';
import type { AccountPage, InboxRecord, NewMail, SearchConditions } from '../../src/store/contract/index.ts';
import { everything, json, mailTo, onlyPlaced, T } from './builders.ts';
import type { Given, Opened } from './suite.ts';

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

/** A mail that says something. */
function mailSaying(
  inboxes: InboxRecord[],
  said: Partial<MailSummary> & Partial<MailContent> & { rcptTo?: string[]; raw?: Uint8Array },
): NewMail {
  const { raw } = said;
  const mail = mailTo(inboxes, raw ? { raw } : {});
  const pick = <S extends object>(shape: S): S =>
    Object.fromEntries(
      Object.entries(shape).map(([key, value]) => [key, { [key]: value, ...said }[key]]),
    ) as S;
  return {
    ...mail,
    summary: bytes(pick(json(mail.summary) as MailSummary)),
    content: bytes(pick(json(mail.content) as MailContent)),
    recipients: mail.recipients.map((one) => ({ ...one, rcptTo: said.rcptTo ?? one.rcptTo })),
  };
}

/** What the contract promises about lists and searches over all inboxes of an account. */
export function describeAccountPages(given: Given): void {
  const idsOf = ({ messages }: AccountPage): string[] => messages.map(({ id }) => id);

  describe('the newest messages of an account', () => {
    it('come in the reverse order of their commits, over all its live inboxes, with their summaries', async () => {
      const owner = await given.account();
      const [a, b] = [await given.inbox(owner), await given.inbox(owner)];
      const stranger = await given.inbox(await given.account());
      const ids: string[] = [];
      for (const [n, inbox] of [a, b, a, b, b].entries()) {
        ids.unshift((await onlyPlaced(given.store, mailTo([inbox], { subject: `${n}` }), T)).messageId);
        await onlyPlaced(given.store, mailTo([stranger]), T);
      }
      const page = await given.store.messages.listNewest(owner, everything, T);
      expect(idsOf(page)).toEqual(ids);
      expect(page).toMatchObject({ isComplete: true, rows: 5 });
      expect(page.messages.map(({ summary }) => JSON.parse(summary).subject)).toEqual([
        '4',
        '3',
        '2',
        '1',
        '0',
      ]);
      expect(page.messages.map(({ inboxId }) => inboxId)).toEqual([b, b, a, b, a].map(({ id }) => id));
      const orders = page.messages.map(({ accountOrder }) => accountOrder);
      expect(orders).toEqual(orders.toSorted((one, other) => other - one));
      expect(await given.store.messages.newestInAccount(owner)).toBe(orders[0]);
      const [newest = 0, , , oldest = 0] = orders;
      const between = { after: oldest, before: newest, limit: 9 };
      expect(idsOf(await given.store.messages.listNewest(owner, between, T))).toEqual(ids.slice(1, 3));
      expect(idsOf(await given.store.messages.search(owner, {}, between, T))).toEqual(ids.slice(1, 3));
    });

    it('are looked at up to the limit, those of ended and emptied inboxes too, which are not shown', async () => {
      const owner = await given.account();
      const live = await given.inbox(owner);
      const [expired, deleted, emptied] = [
        await given.inbox(owner, { expiresAt: T + 5 }),
        await given.inbox(owner),
        await given.inbox(owner),
      ];
      const { messageId: oldest } = await onlyPlaced(given.store, mailTo([live]), T);
      for (const inbox of [expired, expired, deleted, emptied]) {
        await onlyPlaced(given.store, mailTo([inbox]), T);
      }
      await given.store.inboxes.delete(owner, deleted.id, T);
      await given.store.messages.deleteAll(emptied.id, T);
      const { messages } = given.store;
      const first = await messages.listNewest(owner, { ...everything, limit: 2 }, T + 5);
      expect(first).toMatchObject({ messages: [], isComplete: false, rows: 2 });
      const next = await messages.listNewest(owner, { ...everything, before: first.place, limit: 2 }, T + 5);
      expect([idsOf(next), next.isComplete]).toEqual([[oldest], true]);
      expect(idsOf(await messages.search(owner, {}, everything, T + 5))).toEqual([oldest]);
    });

    it('are none of an unknown account, and none of one without mail', async () => {
      for (const accountId of ['acc_unknown', await given.account()]) {
        const none = { messages: [], isComplete: true, rows: 0 };
        expect(await given.store.messages.listNewest(accountId, everything, T)).toMatchObject(none);
        expect(await given.store.messages.search(accountId, {}, everything, T)).toMatchObject(none);
        expect(await given.store.messages.newestInAccount(accountId)).toBe(0);
      }
    });

    it('stay counted when they are deleted', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      await onlyPlaced(given.store, mailTo([inbox]), T);
      const newest = await given.store.messages.newestInAccount(owner);
      await given.store.messages.deleteAll(inbox.id, T);
      expect(await given.store.messages.newestInAccount(owner)).toBe(newest);
    });
  });

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
      return async (conditions: SearchConditions) => {
        const page = await given.store.messages.search(owner, conditions, everything, T);
        expect(page.isComplete).toBe(true);
        return idsOf(page)
          .map((id) => names.get(id))
          .toSorted();
      };
    }
    const words = (q: string): SearchConditions => ({ words: searchWords(q) });

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
        html: { html: '<p class="invoice">x</p>' },
        header: { headers: [{ name: 'X-Invoice', value: 'invoice' }] },
        link: { links: [{ href: 'https://invoice.example/', text: 'x', kind: 'other' }] },
        bcc: { bcc: [{ name: '', address: 'invoice@b.c' }] },
        preview: { preview: 'invoice' },
      });
      const all = ['cc', 'from', 'htmlWords', 'rcptTo', 'subject', 'text', 'to'];
      expect(await found(words('invoice'))).toEqual(all);
      expect(await found(words('nVoIc'))).toEqual(all);
      expect(await found(words('invoice 4711'))).toEqual(['subject']);
      expect(await found(words('4711 invoice the'))).toEqual(['subject']);
      expect(await found(words('htmlwords'))).toEqual([]);
      expect(await found({ ...words('invoice'), subject: 'INV' })).toEqual(['subject']);
      expect(await found({ text: 'your invoice' })).toEqual(['text']);
      expect(await found({ text: 'invoice', rcptTo: 'pre-' })).toEqual([]);
      expect(await found({ from: 'desk' })).toEqual(['from']);
      expect(await found({ to: 'invoice' })).toEqual(['cc', 'rcptTo', 'to']);
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

    it('finds exactly what a look at each message finds, whatever is written and asked', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const letters = fc.constantFrom(...'aAkKiIzZ09@.-+_%"\\\n\t éÉe\u0301üßİ\u212aσςΣ注🦟');
      const text = fc.string({ unit: letters, maxLength: 30 });
      const mail = fc.record({
        subject: text,
        text: fc.option(text),
        htmlWords: fc.option(text),
        rcpt: text,
      });
      await fc.assert(
        fc.asyncProperty(fc.array(mail, { minLength: 1, maxLength: 6 }), text, async (mails, q) => {
          await given.store.messages.deleteAll(inbox.id, T);
          const asked = searchWords(q);
          const expected: string[] = [];
          for (const { rcpt, ...said } of mails) {
            const one = mailSaying([inbox], { ...said, rcptTo: [rcpt], preview: '' });
            const { messageId } = await onlyPlaced(given.store, one, T);
            const missing = missingWords(
              { summary: json(one.summary) as MailSummary, rcptTo: [rcpt] },
              asked,
            );
            if (hasWords(json(one.content) as MailContent, missing)) expected.unshift(messageId);
          }
          const page = await given.store.messages.search(owner, { words: asked }, everything, T);
          expect(idsOf(page)).toEqual(expected);
        }),
        { numRuns: 60 },
      );
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
        const page = await given.store.messages.search(owner, words('even'), range, T);
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
      for (let before = Number.POSITIVE_INFINITY; ; ) {
        const page = await on.store.messages.search(owner, words('found'), { ...everything, before }, T);
        rows.push(page.rows);
        before = page.place;
        if (page.isComplete) break;
      }
      expect(rows.slice(0, 3)).toEqual([2, 1, expect.any(Number)]);
      expect(Math.max(...rows)).toBeLessThanOrEqual(500);
      expect(rows.reduce((sum, one) => sum + one)).toBe(1204);
    });

    it('meets every message once while others arrive', async () => {
      const owner = await given.account();
      const inbox = await given.inbox(owner);
      const there: string[] = [];
      for (let n = 0; n < 7; n++)
        there.unshift((await onlyPlaced(given.store, mailTo([inbox]), T)).messageId);
      const met: string[] = [];
      for (let before = Number.POSITIVE_INFINITY; ; ) {
        const page = await given.store.messages.search(
          owner,
          words('hello'),
          { after: 0, before, limit: 3 },
          T,
        );
        met.push(...idsOf(page));
        await onlyPlaced(given.store, mailTo([inbox]), T);
        before = page.place;
        if (page.isComplete) break;
      }
      expect(met).toEqual(there);
    });
  });

  describe('a place in the order of an account', () => {
    it('by its time is the last one before every newer message, whatever the times are', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ step: fc.integer({ min: -20_000, max: 90_000 }), keep: fc.boolean() }), {
            maxLength: 25,
          }),
          fc.integer({ min: -100_000, max: 1_500_000 }),
          async (steps, asked) => {
            const owner = await given.account();
            const times: { order: number; receivedAt: number }[] = [];
            let now = T;
            for (const { step, keep } of steps) {
              now += step;
              // An inbox for each, so that each has the time of the clock.
              const inbox = await given.inbox(owner);
              const { messageId, receivedAt } = await onlyPlaced(given.store, mailTo([inbox]), now);
              const order = await given.store.messages.newestInAccount(owner);
              if (keep) times.push({ order, receivedAt });
              else await given.store.messages.delete(inbox.id, messageId, now);
            }
            const newest = await given.store.messages.newestInAccount(owner);
            const place = await given.store.messages.placeInAccount(owner, T + asked);
            const newer = times.filter(({ receivedAt }) => receivedAt > T + asked);
            expect(place).toBe(Math.min(newest, (newer[0]?.order ?? Number.POSITIVE_INFINITY) - 1));
          },
        ),
        { numRuns: 40 },
      );
    });
  });
}
