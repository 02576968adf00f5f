import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestInbox } from '../http/start-http.ts';

const SECOND = 1_000;

describe('the truth of explained waits', () => {
  let http: TestHttp;
  let inbox: TestInbox;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox({ address: 'checkout-4711@mayfly.test' });
  });
  afterEach(() => http.stop());

  const wait = (body: object, as = http.keys.own) =>
    http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body, as });
  const remove = (id: string) => http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${id}`);
  const refusalOf = (address: string, at: number, reply = '550 5.1.1 No such inbox here') => ({
    ...{ at, address, reply, mailFrom: 'app@example.org', helo: 'app', remoteAddress: '192.0.2.7' },
  });
  const refuse = (...refused: Parameters<typeof refusalOf>) =>
    http.store.refusals.add([refusalOf(...refused)]);

  it('shows nothing of a message that was deleted during the wait', async () => {
    const waiting = wait({ match: { subject: 'never' }, timeoutSeconds: 3 });
    await http.clock.untilSleeping();
    const gone = await http.deliver(inbox, { subject: 'a secret subject' });
    const kept = await http.deliver(inbox, { subject: 'kept' });
    await http.clock.untilSleeping();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await remove(gone);
    await http.clock.advance(3 * SECOND);
    const { body } = await waiting;
    expect(JSON.stringify(body)).not.toContain('a secret subject');
    expect(body.explanation.seen.map(({ message }: { message: { id: string } }) => message.id)).toEqual([
      kept,
    ]);
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

  it('names near misses among 2,000 other refused addresses', async () => {
    await refuse('checkout-471@mayfly.test', http.clock.now());
    const others = Array.from({ length: 2_000 }, (_, n) => `other-${n}-address@mayfly.test`);
    await http.store.refusals.add(others.map((address) => refusalOf(address, http.clock.now() + 1)));
    const { body } = await wait({ timeoutSeconds: 0 });
    expect(body.explanation.nearMisses).toMatchObject([
      { address: 'checkout-471@mayfly.test', outcome: 'refused' },
    ]);
    expect(body.explanation.summary).toContain('checkout-471@mayfly.test');
  });

  it('names mail that another inbox received, among 1,000 other mails of the same minute', async () => {
    const other = await http.createInbox({ address: 'checkout-471@mayfly.test' });
    const busy = await http.createInbox({ address: 'somebody-else@mayfly.test' });
    await http.deliverMany(busy, 1_000);
    await http.deliver(other, { rcptTo: ['checkout-471@mayfly.test'] });
    await http.deliverMany(busy, 1_000);
    const { body } = await wait({ timeoutSeconds: 0 });
    expect(body.explanation.nearMisses).toMatchObject([
      { address: 'checkout-471@mayfly.test', outcome: 'received', inboxId: other.id },
    ]);
  });

  it('shows a mail that was refused at MAIL for its size', async () => {
    const reply = '552 5.3.4 Message too large (declared: 60000000 bytes, limit: 52428800 bytes)';
    await refuse('', http.clock.now(), reply);
    await refuse('', http.clock.now() + 1, 'The client rejected the certificate');
    await http.api('DELETE', '/v1/inboxes?label.none=1').catch(() => undefined);
    const { body } = await wait({ timeoutSeconds: 0, since: String(http.clock.now() - 1) });
    // There are two accounts, so only failures from the caller's own address are shown.
    expect(body.explanation.refused).toEqual([]);
    await http.store.refusals.add([
      {
        ...{ at: http.clock.now(), address: '', reply, mailFrom: 'app@example.org', helo: 'app' },
        remoteAddress: '127.0.0.1',
      },
    ]);
    const { body: own } = await wait({ timeoutSeconds: 0 });
    expect(own.explanation.refused).toMatchObject([{ address: '', reply }]);
    expect(own.explanation.failedHandshakes).toEqual([]);
  });

  describe('the summary', () => {
    const summary = async (body: object) =>
      (await wait({ timeoutSeconds: 0, ...body })).body.explanation.summary as string;

    it('says what arrived, what it lacks, and which message was just missed', async () => {
      await http.deliver(inbox, { subject: 'Confirm your e-mail' });
      await http.clock.advance(4 * SECOND);
      const since = new Date(http.clock.now()).toISOString();
      await http.clock.advance(SECOND);
      for (const subject of ['Welcome', 'Offer', 'News']) await http.deliver(inbox, { subject });
      expect(await summary({ since, match: { subject: 'confirm' } })).toBe(
        '3 messages arrived; none has "confirm" in its subject. Closest: "Confirm your e-mail" arrived 4 s before this wait\'s since.',
      );
    });

    it('says that nothing arrived, and what was refused', async () => {
      expect(await summary({})).toBe(
        `No message arrived. No mail for "${inbox.address}" was refused either: check that the application has sent it, to this address and to this SMTP server.`,
      );
      await refuse(inbox.address, http.clock.now(), '452 4.2.2 The inbox is full');
      expect(await summary({})).toBe(
        'No message arrived. Mail for this address was refused: "452 4.2.2 The inbox is full". Delete messages of this inbox, or raise "maxMessagesPerInbox" of the plan. Its sender has not tried again yet.',
      );
    });

    it('counts what is there when it is too little, and names what should not be there', async () => {
      await http.deliver(inbox, { subject: 'One' });
      expect(await summary({ count: 2 })).toBe('1 of 2 messages arrived.');
      expect(await summary({ count: 0 })).toBe('A message arrived although none was expected: "One".');
    });
  });
});

describe('the size of answers', () => {
  let http: TestHttp;
  let inbox: TestInbox;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox();
  });
  afterEach(() => http.stop());

  it('of a wait is bounded: what is too large says so, and is read by itself', async () => {
    const small = await http.deliver(inbox, { text: 'small' });
    const large = await http.deliver(inbox, { text: 'x'.repeat(3_000_000), subject: 'large' });
    for (let n = 0; n < 28; n++) await http.deliver(inbox, { text: 'y'.repeat(1_000_000) });
    const answer = await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { count: 30, timeoutSeconds: 0 },
    });
    expect(answer.bytes.length).toBeLessThan(10 * 1024 * 1024);
    const { matched, truncated, messages } = answer.body;
    expect([matched, truncated, messages.length]).toEqual([true, true, 30]);
    expect(messages[0]).toMatchObject({ id: small, text: 'small' });
    expect(messages[0]).not.toHaveProperty('truncated');
    expect(messages[1]).toMatchObject({ id: large, subject: 'large', text: null, truncated: true });
    const { body } = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${large}`);
    expect(body.text).toHaveLength(3_000_000);
  });

  it('with the contents of 998 attachments is bounded, and making it holds up nobody', async () => {
    const parts = Array.from(
      { length: 998 },
      (_, n) =>
        `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename="${n}.csv"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.alloc(15_000, n).toString('base64')}\r\n`,
    );
    const raw = `Subject: parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`;
    const id = await http.deliverRaw(inbox, raw);
    let turns = 0;
    let done = false;
    const watch = (async () => {
      for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const answer = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}?include=attachmentContent`);
    done = true;
    await watch;
    expect(answer.bytes.length).toBeLessThan(13 * 1024 * 1024);
    expect(answer.body.truncated).toBe(true);
    const [first, ...others] = answer.body.attachments;
    expect(Buffer.from(first.content, 'base64')).toEqual(Buffer.alloc(15_000, 0));
    expect(others.at(-1)).not.toHaveProperty('content');
    expect(turns).toBeGreaterThan(30);
  });
});
