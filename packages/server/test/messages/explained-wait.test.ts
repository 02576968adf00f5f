import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playSmtp } from '../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';

/** A sender's dialogue up to the refusal of its recipient. */
const refusedAt = (app: TestApp, address: string, reply: string) =>
  playSmtp(app.smtp.port, [
    { expect: 220 },
    { send: 'EHLO app.example.org', expect: 250 },
    { send: 'MAIL FROM:<app@example.org>', expect: 250 },
    { send: `RCPT TO:<${address}>`, expect: reply },
    { send: 'QUIT', expect: 221 },
  ]);

describe('a test that waits in vain is told why', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test,second.test' });
  });
  afterAll(() => app.stop());

  const wait = async (inbox: { id: string; token: string }, body: object, as = inbox.token) =>
    (await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as, body })).body;

  it('the mail came and said something else', async () => {
    const inbox = await app.createInbox();
    await app.send({
      from: 'Shop <no-reply@shop.example>',
      to: inbox.address,
      subject: 'Welcome',
      text: 'Your code is 482913.',
      html: '<p>Your code is 482913. <a href="https://shop.example/terms">Terms</a></p>',
    });
    const match = { subject: 'Confirm', code: true, link: { kind: 'verify' } };
    const { matched, explanation } = await wait(inbox, { match, timeoutSeconds: 0 });
    expect(matched).toBe(false);
    expect(explanation.seen).toMatchObject([
      {
        message: { subject: 'Welcome', codes: [{ value: '482913' }] },
        failed: [
          { condition: 'subject', expected: 'Confirm', got: 'Welcome' },
          {
            condition: 'link',
            expected: 'a link of kind verify',
            got: expect.stringContaining('shop.example/terms'),
          },
        ],
      },
    ]);
  });

  it('the mail went to an address alike: a slip, another domain, a tag without a plus', async () => {
    const inbox = await app.createInbox({ localPart: 'signup-test' });
    const alike = ['singup-test@mayfly.test', 'signup-test@second.test', 'signup-test-1@mayfly.test'];
    for (const address of [...alike, 'nobody@mayfly.test', 'signup-test@elsewhere.test']) {
      await refusedAt(app, address, '550 5.1.1');
    }
    const { explanation } = await wait(inbox, { timeoutSeconds: 0 });
    const missed = explanation.nearMisses.map(({ address }: { address: string }) => address);
    expect(missed.toSorted()).toEqual(alike.toSorted());
    expect(explanation.nearMisses[0]).toMatchObject({ outcome: 'refused', times: 1, inboxId: null });
  });

  it('the mail went to another inbox of the account, with an address alike', async () => {
    const [inbox, other] = [
      await app.createInbox({ localPart: 'ada.lovelace' }),
      await app.createInbox({ localPart: 'ada.lovelac' }),
    ];
    await app.send({ from: 'a@example.org', to: 'Ada.Lovelac+tag@MAYFLY.test', subject: 'x', text: 'x' });
    const { explanation } = await wait(inbox, { timeoutSeconds: 0 }, TEST_KEY);
    expect(explanation.nearMisses).toMatchObject([
      { address: 'ada.lovelac@mayfly.test', outcome: 'received', inboxId: other.id },
    ]);
  });

  it('the mail was sent before the inbox was there', async () => {
    await refusedAt(app, 'Too.Early+tag@mayfly.test', '550 5.1.1');
    const inbox = await app.createInbox({ localPart: 'too.early' });
    const { explanation } = await wait(inbox, { since: inbox.cursor, timeoutSeconds: 0 });
    expect(explanation.refused).toMatchObject([
      { address: 'too.early@mayfly.test', mailFrom: 'app@example.org', helo: 'app.example.org' },
    ]);
    expect(explanation.refused[0].reply).toMatch(/^550 5\.1\.1 /);
    expect(explanation.refused[0].remoteAddress).toMatch(/127\.0\.0\.1$/);
  });

  it('the refusal was given in the last moment of the wait', async () => {
    const inbox = await app.createInbox({ localPart: 'last.moment' });
    for (let i = 10; i < 30; i++) {
      const address = `last.moment${i}@mayfly.test`;
      await refusedAt(app, address, '550 5.1.1');
      const { explanation } = await wait(inbox, { timeoutSeconds: 0 });
      expect(explanation.nearMisses[0].address).toBe(address);
    }
  });

  it('the mail was refused at its end', async () => {
    const inbox = await app.createInbox();
    await playSmtp(app.smtp.port, [
      { expect: 220 },
      { send: 'EHLO app.example.org', expect: 250 },
      { send: 'MAIL FROM:<>', expect: 250 },
      { send: `RCPT TO:<${inbox.address}>`, expect: 250 },
      { send: 'DATA', expect: 354 },
      { send: 'Subject: x\r\n\r\na bare\nline feed\r\n.', expect: '550 5.6.11' },
    ]);
    const { explanation } = await wait(inbox, { timeoutSeconds: 0 });
    expect(explanation.refused).toMatchObject([{ address: inbox.address, mailFrom: '' }]);
    expect(explanation.refused[0].reply).toMatch(/^550 5\.6\.11 /);
  });
});
