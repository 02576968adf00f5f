import type { MailLink } from '@mayfly/client/contract';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Body, startHttp, type TestInbox, type TestMail, useHttp } from '../http/start-http.ts';
import { mailTo, refusalOf } from '../store/builders.ts';

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;

const verify: MailLink = { href: 'https://shop.example/confirm?t=1', text: 'Confirm', kind: 'verify' };
const other: MailLink = { href: 'https://shop.example/terms', text: 'Terms', kind: 'other' };

describe('a wait that explains itself', () => {
  const http = useHttp();
  let inbox: TestInbox;
  beforeEach(async () => {
    // Whatever the case before left behind is over by then, quarantines of addresses, too.
    await http.clock.advance(8 * DAY);
    inbox = await http.createInbox({ address: 'brave.otter@mayfly.test' });
  });

  const wait = (body: object, as = inbox.token) =>
    http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as, body });
  const ids = ({ body }: { body: Body }): string[] => body.messages.map(({ id }: { id: string }) => id);
  const look = async (match: object): Promise<Body> => (await wait({ match, timeoutSeconds: 0 })).body;

  describe('for messages', () => {
    it('answers at once with the first that matches, in full', async () => {
      const id = await http.deliver(inbox, { subject: 'Confirm', html: '<p>x</p>', links: [verify] });
      await http.deliver(inbox, { subject: 'Confirm' });
      const { status, body } = await wait({ match: { subject: 'confirm' } });
      expect([status, body.matched, body.explanation]).toEqual([200, true, undefined]);
      const full = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`);
      expect(body.messages).toEqual([full.body]);
    });

    it('needs no body: any message will do, for 30 seconds', async () => {
      const waiting = http.api('POST', `/v1/inboxes/${inbox.id}/wait`);
      await http.clock.untilSleeping();
      await http.clock.advance(30 * SECOND - 1);
      await expect.poll(() => http.clock.sleepers).toBe(1);
      await http.clock.advance(1);
      expect((await waiting).body).toMatchObject({ matched: false, explanation: { reason: 'timeout' } });
    });

    it('answers exactly as many as were asked for, oldest first, and its cursor goes on behind them', async () => {
      const delivered: string[] = [];
      for (let i = 0; i < 5; i++) {
        await http.deliver(inbox, { subject: 'other' });
        delivered.push(await http.deliver(inbox, { subject: 'wanted' }));
      }
      const match = { subject: 'wanted' };
      const first = await wait({ match, count: 3 });
      expect(ids(first)).toEqual(delivered.slice(0, 3));
      const rest = await wait({ match, count: 2, since: first.body.cursor });
      expect(ids(rest)).toEqual(delivered.slice(3));
      const none = await wait({ match, since: rest.body.cursor, timeoutSeconds: 0 });
      expect(none.body).toMatchObject({ matched: false, messages: [], cursor: rest.body.cursor });
    });

    it('looks through more messages than one page', async () => {
      for (let i = 0; i < 120; i++) await http.deliver(inbox, { subject: `number ${i}` });
      const id = await http.deliver(inbox, { subject: 'wanted' });
      expect(ids(await wait({ match: { subject: 'wanted' }, timeoutSeconds: 0 }))).toEqual([id]);
      const { explanation } = await look({ subject: 'never' });
      expect(explanation.seenCount).toBe(121);
      const shown: string[] = explanation.seen.map((seen: Body) => seen.message.subject);
      expect(shown).toEqual(['wanted', ...Array.from({ length: 19 }, (_, i) => `number ${119 - i}`)]);
    });

    it('counts what other waits saw before, but nothing that was deleted, evicted or emptied since', async () => {
      const seenCount = async () => (await look({ subject: 'never' })).explanation.seenCount;
      const [first] = await Promise.all(Array.from({ length: 60 }, () => http.deliver(inbox)));
      expect(await seenCount()).toBe(60);
      await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${first}`);
      expect(await seenCount()).toBe(59);
      const mail = mailTo([{ ...inbox, accountId: http.accountId }]);
      const recipients = mail.recipients.map((one) => ({ ...one, maxMessages: 40, evictsOldest: true }));
      await http.store.messages.addBatch([{ ...mail, recipients }], http.clock.now());
      expect(await seenCount()).toBe(40);
      await http.deliver(inbox);
      expect(await seenCount()).toBe(41);
      await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages`);
      expect(await seenCount()).toBe(0);
    });
  });

  describe('with a condition', () => {
    const text = 'Your code is 482913';
    const mail: TestMail = {
      from: { address: 'no-reply@shop.example', name: 'Shop' },
      to: [{ address: 'ada@example.com', name: '' }],
      ...{ subject: 'Hello', preview: text, text, attachmentCount: 0, links: [other, verify] },
      codes: [{ value: '482913', context: text }],
    };
    it.each<[right: object, wrong: object, expected: string, got?: string]>([
      [{ from: 'SHOP' }, { from: 'bank' }, 'bank', 'Shop <no-reply@shop.example>'],
      [{ to: 'ada@' }, { to: 'bob@' }, 'bob@', 'ada@example.com, Test+tag@mayfly.test'],
      [{ subject: 'hell' }, { subject: 'bye' }, 'bye', 'Hello'],
      [{ text: 'CODE' }, { text: 'link' }, 'link', 'Your code is 482913'],
      [{ hasAttachments: false }, { hasAttachments: true }, 'true', 'false'],
      [{ code: true }, { code: false }, 'no code', '482913'],
      [{ link: true }, { link: false }, 'no link', expect.stringContaining('terms')],
      [{ link: { kind: 'verify' } }, { link: { kind: 'reset' } }, 'a link of kind reset'],
      [{ link: { href: 'CONFIRM?' } }, { link: { href: 'signup' } }, 'a link with "signup" in its address'],
      [{ link: { text: 'confirm' } }, { link: { text: 'Reset' } }, 'a link with "Reset" in its words'],
      // One and the same link must meet all of it.
      [
        { link: { kind: 'verify', href: 'confirm' } },
        { link: { kind: 'verify', href: 'terms' } },
        'a link of kind verify, with "terms" in its address',
        'other https://shop.example/terms (Terms), verify https://shop.example/confirm?t=1 (Confirm)',
      ],
    ])('matches %j, and says for %j what there was', async (right, wrong, expected, got) => {
      const id = await http.deliver(inbox, mail);
      expect((await look(right)).messages).toMatchObject([{ id }]);
      const { matched, explanation } = await look(wrong);
      const [condition] = Object.keys(wrong);
      const failed = [{ condition, expected, ...(got !== undefined && { got }) }];
      expect([matched, explanation.seen.length]).toEqual([false, 1]);
      expect(explanation.seen).toMatchObject([{ message: { id }, failed }]);
    });

    it('on a message without a code or a link says so in words', async () => {
      await http.deliver(inbox);
      expect((await look({ code: false, link: false })).matched).toBe(true);
      const { explanation } = await look({ code: true, link: true });
      expect(explanation.seen[0].failed).toEqual([
        { condition: 'code', expected: 'a code', got: 'no code' },
        { condition: 'link', expected: 'a link', got: 'no link' },
      ]);
      const all = { kind: 'reset', href: 'example', text: 'Reset' };
      const expected = 'a link of kind reset, with "example" in its address, with "Reset" in its words';
      const { seen } = (await look({ link: all })).explanation;
      expect(seen[0].failed).toEqual([{ condition: 'link', expected, got: 'no link' }]);
      expect((await look({ link: {} })).explanation.seen[0].failed).toMatchObject([{ expected: 'a link' }]);
    });

    it('quotes no more than a piece of what is long', async () => {
      await http.deliver(inbox, { subject: 'x'.repeat(5000) });
      const { explanation } = await look({ subject: 'y' });
      expect(explanation.seen[0].failed[0].got).toBe(`${'x'.repeat(500)}…`);
    });
  });

  describe('for silence', () => {
    it('succeeds when nothing matched until the timeout', async () => {
      const waiting = wait({ match: { subject: 'spam' }, count: 0, timeoutSeconds: 10 });
      await http.clock.untilSleeping();
      await http.deliver(inbox, { subject: 'ham' });
      await http.clock.untilSleeping();
      await http.clock.advance(10 * SECOND - 1);
      await expect.poll(() => http.clock.sleepers).toBe(1);
      await http.clock.advance(1);
      const { body } = await waiting;
      expect([body.matched, body.messages, body.explanation]).toEqual([true, [], undefined]);
      const late = await http.deliver(inbox);
      expect(ids(await wait({ since: body.cursor, timeoutSeconds: 0 }))).toEqual([late]);
    });

    it('fails at once when something matches, and shows it', async () => {
      const waiting = wait({ match: { subject: 'spam' }, count: 0, timeoutSeconds: 10 });
      await http.clock.untilSleeping();
      const id = await http.deliver(inbox, { subject: 'Spam!' });
      const answer = await waiting;
      expect(answer.body).toMatchObject({ matched: false, explanation: { reason: 'unexpected_message' } });
      expect(ids(answer)).toEqual([id]);
    });
  });

  describe('in vain', () => {
    const refusal = (at: number) => refusalOf('brave.otter@mayfly.test', { at });

    it('shows the refusals of its address after since, the newest first', async () => {
      const times = [1, 2, 3].map((second) => http.clock.now() - second * SECOND);
      await http.store.refusals.add(times.map(refusal));
      const at = (second: number) => new Date(times[second - 1] ?? 0).toISOString();
      const { explanation } = await look({});
      expect(explanation.refused).toEqual(
        [1, 2, 3].map((second) => ({ ...refusal(0), at: at(second), fault: null })),
      );
      const later = await wait({ since: at(2), timeoutSeconds: 0 });
      expect(later.body.explanation.refused).toMatchObject([{ at: at(1) }]);
    });

    it('looks only after the refusals of the last moment were written', async () => {
      using _written = vi
        .spyOn(http.hooks, 'refusalsWritten')
        .mockImplementation(() => http.store.refusals.add([refusal(http.clock.now())]));
      expect((await look({})).explanation.refused).toHaveLength(1);
    });
  });

  describe('beside deletions', () => {
    const remove = (id: string) => http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${id}`);

    it('tells apart what was deleted while the wait was held, and shows nothing of it', async () => {
      const waiting = wait({ match: { subject: 'confirm' }, timeoutSeconds: 5 });
      await http.clock.untilSleeping();
      const id = await http.deliver(inbox, { subject: 'Secret words' });
      await http.deliver(inbox, { subject: 'Welcome' });
      await http.clock.untilSleeping();
      await remove(id);
      await http.clock.advance(5 * SECOND);
      const { explanation } = (await waiting).body;
      expect(JSON.stringify(explanation)).not.toContain('Secret');
      expect(explanation).toMatchObject({ seenCount: 1, seen: [{ message: { subject: 'Welcome' } }] });
      expect(explanation.summary).toBe(
        '1 message arrived; none has "confirm" in its subject. Its subject is "Welcome". 1 message of this inbox was deleted.',
      );
    });

    it('waits on when a match was deleted: fewer than count never are a success', async () => {
      const first = await http.deliver(inbox);
      const waiting = wait({ count: 2, timeoutSeconds: 3 });
      await http.clock.untilSleeping();
      await remove(first);
      const second = await http.deliver(inbox);
      await http.clock.untilSleeping();
      const third = await http.deliver(inbox);
      const { body } = await waiting;
      expect(body).toMatchObject({ matched: true, messages: [{ id: second }, { id: third }] });
      const { body: vain } = await wait({ count: 3, timeoutSeconds: 0 });
      expect(vain).toMatchObject({ matched: false, messages: [{ id: second }, { id: third }] });
    });
  });

  it('ends at once when the server stops, says so, and tells what it knows', async () => {
    const waiting = wait({ match: { subject: 'never' } });
    const silence = wait({ match: { subject: 'never' }, count: 0 });
    await http.clock.untilSleeping(2);
    const id = await http.deliver(inbox);
    await http.clock.untilSleeping(2);
    const stopping = http.stop();
    for (const { status, body } of await Promise.all([waiting, silence])) {
      expect([status, body.matched, body.explanation.reason]).toEqual([200, false, 'server_stopping']);
      expect(body.explanation.seen).toMatchObject([{ message: { id } }]);
    }
    await stopping;
    Object.assign(http, await startHttp());
  });
});
