import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestInbox } from '../http/start-http.ts';

const CODES = [{ value: '482913', context: 'Your code is 482913.' }];

describe('what a summary says', () => {
  let http: TestHttp;
  let inbox: TestInbox;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox({ address: 'checkout-4711@mayfly.test' });
  });
  afterEach(() => http.stop());

  const explain = async (body: object = {}) =>
    (await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 0, ...body } })).body
      .explanation;
  const refuse = (changes: object) =>
    http.store.refusals.add([
      {
        ...{ at: http.clock.now(), address: inbox.address, reply: '452 4.2.2 Inbox is full' },
        ...{ mailFrom: 'app@example.org', helo: 'app', remoteAddress: '127.0.0.1', ...changes },
      },
    ]);

  it('holds for all messages, also for those that it does not show', async () => {
    const match = { subject: 'confirm', code: true };
    await http.deliver(inbox, { subject: 'Confirm your account', codes: [] });
    for (let n = 0; n < 25; n++) await http.deliver(inbox, { subject: `Code ${n}`, codes: CODES });
    const { summary, seen } = await explain({ match });
    expect(seen).toHaveLength(20);
    expect(summary).toMatch(/^26 messages arrived; none meets all conditions\./);
  });

  it('tells apart what was deleted while the wait was held', async () => {
    const id = await http.deliver(inbox, { subject: 'Secret words' });
    await http.deliver(inbox, { subject: 'Welcome' });
    const held = http.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'confirm' }, timeoutSeconds: 5 },
    });
    await http.clock.untilSleeping();
    await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${id}`);
    await http.clock.advance(5_000);
    const { explanation } = (await held).body;
    expect(JSON.stringify(explanation)).not.toContain('Secret');
    expect(explanation).toMatchObject({ seenCount: 1, seen: [{ message: { subject: 'Welcome' } }] });
    expect(explanation.summary).toBe(
      '1 message arrived; none has "confirm" in its subject. Closest: "Welcome". 1 message of this inbox was deleted.',
    );
  });

  it('tells a request whose inbox was deleted while it was held from one for an unknown inbox', async () => {
    const short = await http.createInbox();
    const path = `/v1/inboxes/${short.id}`;
    const held = http.api('POST', `${path}/wait`, { body: { timeoutSeconds: 5 } });
    await http.clock.untilSleeping();
    await http.api('DELETE', path);
    await http.clock.advance(5_000);
    const { status, body } = await held;
    expect(status).toBe(404);
    expect(body.detail).toBe(
      `The inbox "${short.id}" was deleted while this request waited: keep it until the test has its messages.`,
    );
  });

  it('names no mail of an inbox that has ended a moment ago', async () => {
    await http.clock.advance(500);
    const other = await http.createInbox({ address: 'checkout-471@mayfly.test', ttlMinutes: 1 });
    await http.deliver(other, { rcptTo: ['checkout-471@mayfly.test'] });
    await http.clock.advance(59_900);
    expect((await explain()).nearMisses).toMatchObject([{ inboxId: other.id }]);
    await http.clock.advance(200);
    expect((await explain()).nearMisses).toEqual([]);
  });

  it('does not claim that mail without a recipient was for this address', async () => {
    await refuse({ address: '', reply: '552 5.3.4 Message too large' });
    expect((await explain()).summary).toBe(
      'No message arrived. Mail that named no recipient yet was refused: "552 5.3.4 Message too large". Send a smaller message, or raise "maxMessageBytes" of the plan.',
    );
  });

  it('names a similar address also where mail for this one was refused or delayed', async () => {
    await refuse({ address: 'checkout-471@mayfly.test', reply: '550 5.1.1 No such inbox here' });
    await refuse({ reply: '', fault: { rule: 2, at: 'data', delayMs: 3_000, disconnect: false } });
    expect((await explain()).summary).toBe(
      'No message arrived. Fault rule 2 delayed the reply to DATA by 3 s. Mail for the similar address "checkout-471@mayfly.test" was refused.',
    );
    await refuse({});
    expect((await explain()).summary).toBe(
      'No message arrived. Mail for this address was refused: "452 4.2.2 Inbox is full". Delete messages of this inbox, or raise "maxMessagesPerInbox" of the plan. Its sender has not tried again yet. Mail for the similar address "checkout-471@mayfly.test" was refused.',
    );
  });
});
