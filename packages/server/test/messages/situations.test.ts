import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnEngines } from '../support/nodes.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

const encoded = (text: string): string => `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
/** A message with some headers of its own. */
const mail = (headers: Record<string, string>, body = 'Hello'): string => {
  const all = { From: 'Shop <app@shop.example>', Subject: 'Hi', 'MIME-Version': '1.0', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
};
const page = (subject: string, body: string): string =>
  mail({ Subject: subject, 'Content-Type': 'text/html; charset=utf-8' }, body);
const mixed = (...parts: string[]): string =>
  mail(
    { 'Content-Type': 'multipart/mixed; boundary=b' },
    [...parts.map((part) => `--b\r\n${part}\r\n`), '--b--'].join(''),
  );
const auth = (user: string, password: string): string =>
  `AUTH PLAIN ${Buffer.from(`\0${user}\0${password}`).toString('base64')}`;

describeOnEngines('the summary of a wait in vain, as an engineer reads it', (engine) => {
  const apps: TestApp[] = [];
  let app: TestApp;
  let sinkApp: TestApp;
  let stopEngine: () => Promise<void>;
  beforeAll(async () => {
    const { env, stop } = await engine.start();
    stopEngine = stop;
    const plans = JSON.stringify({ unlimited: { maxMessagesPerInbox: 30, maxMessageBytes: 20_000 } });
    app = await startApp({ ...(await env()), MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_PLANS: plans });
    sinkApp = await startApp({ ...(await env()), MAYFLY_SINK: 'on' });
    apps.push(app, sinkApp);
  });
  afterAll(async () => {
    for (const one of apps) await one.stop();
    await stopEngine();
  });

  /** Sends until a command is refused. @returns the last reply */
  async function send(
    to: string,
    message: string,
    commands: string[] = [],
    at: TestApp = app,
  ): Promise<string> {
    const client = await smtpClient(at.smtp.port);
    try {
      let reply = await client.reply();
      const all = [
        'EHLO app.example.org',
        ...commands,
        'MAIL FROM:<app@shop.example>',
        `RCPT TO:<${to}>`,
        'DATA',
      ];
      for (const command of all) {
        reply = await client.say(command);
        if (/^[45]/.test(reply)) return reply;
      }
      await client.send(`${message}\r\n.\r\n`);
      return await client.reply();
    } finally {
      client.close();
    }
  }
  /** @param as the credential; by default the API key */
  async function summary(inbox: Inbox, body: object, as = TEST_KEY, at: TestApp = app): Promise<string> {
    const answer = await at.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      as,
      body: { timeoutSeconds: 0, ...body },
    });
    return answer.body.matched ? 'matched' : answer.body.explanation.summary;
  }
  /** The summary of a wait for a condition after one mail. */
  async function after(message: string, match: object): Promise<string> {
    const inbox = await app.createInbox();
    expect(await send(inbox.address, message)).toMatch(/^250/);
    return summary(inbox, { match });
  }

  it('conditions ignore how a mail program wraps lines and sets spaces, quotation marks and hyphens', async () => {
    expect(await after(mail({ Subject: encoded('Your\u00a0code') }), { subject: 'Your code' })).toBe(
      'matched',
    );
    expect(await after(mail({ Subject: 'Your  code\r\n\tis here' }), { subject: 'code is here' })).toBe(
      'matched',
    );
    expect(await after(mail({ Subject: encoded('Con\u00adfirm') }), { subject: 'confirm' })).toBe('matched');
    expect(await after(mail({ Subject: encoded('You’re in – now') }), { subject: "you're in - now" })).toBe(
      'matched',
    );
    expect(await after(mail({}, 'Please confirm your\r\naddress'), { text: 'confirm your address' })).toBe(
      'matched',
    );
    const inbox = await app.createInbox();
    await send(inbox.address, mail({ 'Content-Type': 'text/plain; charset=utf-8' }, 'Your e‑mail zebracode'));
    const { body } = await app.api('GET', '/v1/messages?text=e-mail%20zebracode');
    expect(body.messages).toHaveLength(1);
  });

  it.each<[string, string, object, string]>([
    [
      'another subject',
      mail({ Subject: 'Confirm your adress' }),
      { subject: 'Confirm your address' },
      '1 message arrived; none has "Confirm your address" in its subject. Closest: "Confirm your adress".',
    ],
    [
      'accents',
      mail({ Subject: encoded('Bestätigen') }),
      { subject: 'Bestatigen' },
      'Closest: "Bestätigen". It differs only in accents, punctuation or spaces.',
    ],
    [
      'another sender',
      mail({ From: 'noreply@shop.example' }),
      { from: 'bank@' },
      'Closest: "Hi" is from "noreply@shop.example".',
    ],
    [
      'a hyphen more',
      mail({ From: 'noreply@shop.example' }),
      { from: 'no-reply@shop.example' },
      'Closest: "Hi" is from "noreply@shop.example". It differs only in accents, punctuation or spaces.',
    ],
    [
      'the words in the text',
      mail({}, 'Confirm your address'),
      { subject: 'Confirm your address' },
      'Closest: "Hi". Its text contains that: use the condition "text".',
    ],
    [
      'the words in the subject',
      mail({ Subject: 'Confirm' }),
      { text: 'confirm' },
      'Closest: "Confirm" begins with "Hello". Its subject contains that: use the condition "subject".',
    ],
    [
      'a pattern',
      mail({ Subject: 'Confirm' }),
      { subject: '^Confirm.*' },
      'The condition "subject" looks like a pattern, but conditions are plain text that must be contained.',
    ],
    [
      'an encoded word',
      mail({ Subject: encoded('Bestätigen') }),
      { subject: encoded('Bestätigen') },
      'The condition "subject" is an encoded word; messages are compared after decoding, so write plain text.',
    ],
    [
      'a space too much',
      mail({ Subject: 'Confirm' }),
      { subject: 'Confirm ' },
      'The condition "subject" begins or ends with white space.',
    ],
    [
      'a link of another kind',
      page('Welcome', '<a href="https://shop.example/start">Get started</a>'),
      { link: { kind: 'verify' } },
      'Closest: "Welcome" has "other https://shop.example/start (Get started)".',
    ],
    [
      'a link in an attachment',
      mixed(
        'Content-Type: text/plain\r\n\r\nSee it',
        'Content-Type: text/html\r\nContent-Disposition: attachment; filename=a.html\r\n\r\n<a href="https://shop.example/verify">Verify</a>',
      ),
      { link: true },
      '1 message arrived; none has a link. Closest: "Hi". Attachments are not searched; it has 1.',
    ],
    [
      'a code in place of a link',
      mail({ Subject: 'Verify' }, 'Your code is 482913.'),
      { link: { kind: 'verify' } },
      'Closest: "Verify". It has a code: use the condition "code".',
    ],
    [
      'an order number, no code',
      mail({ Subject: 'Your order' }, 'Order number: 123456'),
      { code: true },
      'Closest: "Your order" begins with "Order number: 123456".',
    ],
    [
      'one condition of two',
      mail({ Subject: 'Confirm' }),
      { subject: 'confirm', from: 'bank@' },
      'Closest: "Confirm" meets all conditions but "from": it is from "Shop <app@shop.example>".',
    ],
    [
      'both conditions',
      mail({ Subject: 'News' }),
      { subject: 'confirm', from: 'bank@' },
      'Closest: "News" does not meet "from" and "subject".',
    ],
  ])('%s', async (_, message, match, said) => {
    expect(await after(message, match)).toContain(said);
  });

  it('is not needed for words of the HTML that the plain text part lacks: the wait finds them', async () => {
    const message = mail(
      { 'Content-Type': 'multipart/alternative; boundary=b' },
      [
        '--b\r\nContent-Type: text/plain\r\n\r\nView this mail in a browser\r\n',
        '--b\r\nContent-Type: text/html\r\n\r\n<p>Confirm your <b>address</b></p>\r\n--b--',
      ].join(''),
    );
    const said = 'Closest: "Hi" begins with "View this mail in a browser".';
    expect(await after(message, { text: 'reset' })).toContain(said);
    const inbox = await app.createInbox();
    await send(inbox.address, message);
    const body = { match: { text: 'confirm your address' }, timeoutSeconds: 0 };
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: inbox.token, body });
    expect(waited.body).toMatchObject({ matched: true });
  });

  it('names the recipient with its tag', async () => {
    const inbox = await app.createInbox({ localPart: 'tagged.otter' });
    await send('tagged.otter+news@mayfly.test', mail({}));
    expect(await summary(inbox, { match: { rcptTo: inbox.address } })).toContain(
      'Closest: "Hi" was sent to "tagged.otter+news@mayfly.test".',
    );
  });

  it('says that messages were deleted, and nothing of what they said', async () => {
    const inbox = await app.createInbox();
    await send(inbox.address, mail({ Subject: 'Confirm secret' }));
    await app.api('DELETE', `/v1/inboxes/${inbox.id}/messages`);
    expect(await summary(inbox, {})).toBe('The only message that this inbox has received was deleted.');
    await send(inbox.address, mail({ Subject: 'News' }));
    expect(await summary(inbox, { match: { subject: 'confirm' } })).toBe(
      '1 message arrived; none has "confirm" in its subject. Closest: "News". 1 message of this inbox was deleted.',
    );
  });

  it('says when since is the message itself, and when it is in the future', async () => {
    const inbox = await app.createInbox();
    await send(inbox.address, mail({ Subject: 'Confirm' }));
    const { cursor } = (await app.api('GET', `/v1/inboxes/${inbox.id}/messages`)).body;
    expect(await summary(inbox, { since: cursor })).toBe(
      'No message arrived after this wait\'s since. Closest: "Confirm" is the message of this wait\'s since, after which it begins.',
    );
    const since = '2999-01-01T00:00:00.000Z';
    expect(await summary(inbox, { since })).toMatch(
      /This wait's since is \d+ h in the future: pass a cursor rather than a time of another clock\.$/,
    );
  });

  it('names mail for another inbox of the account that meets all conditions, to its owner only', async () => {
    const inbox = await app.createInbox();
    const other = await app.createInbox();
    await send(other.address, mail({ Subject: 'Confirm badger 4711' }, 'Your code is 482913.'));
    const match = { subject: 'badger 4711', code: true };
    expect(await summary(inbox, { match })).toBe(
      `No message arrived. Mail that meets all conditions arrived for "${other.address}", in another inbox of this account.`,
    );
    expect(await summary(inbox, { match }, inbox.token)).not.toContain(other.address);
    expect(await summary(inbox, { match: { ...match, code: false } })).not.toContain(other.address);
    await app.api('DELETE', `/v1/inboxes/${other.id}`);
    expect(await summary(inbox, { match })).not.toContain('meets all conditions');
  });

  it('names the inbox for which the sender had authenticated', async () => {
    const inbox = await app.createInbox();
    const other = await app.createInbox();
    await send(inbox.address, mail({}), [auth(other.address, other.token)]);
    expect(await summary(inbox, {})).toBe(
      `No message arrived. Mail for this address was stored in the inbox "${other.id}": its sender had authenticated for that one.`,
    );
  });

  it('says that a sender failed to authenticate', async () => {
    const inbox = await app.createInbox();
    expect(await send(inbox.address, mail({}), [auth(inbox.address, 'wrong')])).toMatch(/^535/);
    expect(await summary(inbox, {}, inbox.token)).toBe(
      'No message arrived. A sender failed to authenticate (535): its user name or password is wrong.',
    );
    const another = await app.createInbox();
    expect(await summary(another, {}, another.token)).not.toContain('535');
    for (const user of ['admin', 'root', 'inb_unknown'])
      await send(inbox.address, mail({}), [auth(user, 'guess')]);
    const { body } = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 0 } });
    const refused: { address: string; reply: string }[] = body.explanation.refused;
    const names = refused.filter(({ reply }) => reply.startsWith('535 ')).map(({ address }) => address);
    expect(names).toEqual(['', inbox.address]);
  });

  it('says that a connection ended in the middle of a message', async () => {
    const inbox = await app.createInbox();
    const client = await smtpClient(app.smtp.port);
    await client.play([
      { expect: 220 },
      { send: 'EHLO app.example.org', expect: 250 },
      { send: 'MAIL FROM:<app@shop.example>', expect: 250 },
      { send: `RCPT TO:<${inbox.address}>`, expect: 250 },
      { send: 'DATA', expect: 354 },
      { send: 'Subject: half' },
    ]);
    client.close();
    await expect
      .poll(() => summary(inbox, {}))
      .toBe(
        'No message arrived. The connection of a sender ended in the middle of a message for this address.',
      );
  });

  it('says what was refused, how often, and whether it was before the inbox existed', async () => {
    expect(await send('early.bird@mayfly.test', mail({}))).toMatch(/^550/);
    const early = await app.createInbox({ localPart: 'early.bird' });
    expect(await summary(early, {})).toMatch(
      /^No message arrived\. Mail for this address was refused, \d+ m?s before this inbox was created: "550 5\.1\.1 /,
    );
    const large = await app.createInbox();
    expect(await send(large.address, mail({}, 'x'.repeat(30_000)))).toMatch(/^552/);
    expect(await summary(large, {})).toBe(
      'No message arrived. Mail for this address was refused: "552 5.3.4 Message too large". Send a smaller message, or raise "maxMessageBytes" of the plan.',
    );
    const greylisted = await app.createInbox();
    const rules = [{ at: 'rcpt', reply: { code: 451, text: '4.7.1 Greylisted' } }];
    await app.api('PUT', `/v1/inboxes/${greylisted.id}/faults`, { body: { rules } });
    await send(greylisted.address, mail({}));
    expect(await summary(greylisted, {})).toBe(
      'No message arrived. Fault rule 1 answered RCPT with "451 4.7.1 Greylisted". Its sender has not tried again yet.',
    );
  });

  it('names similar addresses, also on a mistyped domain, and other refused ones when nothing else is known', async () => {
    const inbox = await app.createInbox({ localPart: 'paul.meier' });
    for (let n = 0; n < 2; n++) await send('paul.meier@mayfly.tets', mail({}));
    expect(await summary(inbox, {})).toBe(
      'No message arrived. Mail for the similar address "paul.meier@mayfly.tets" was refused 2 times.',
    );
    const another = await app.createInbox();
    await send('no.such.badger@mayfly.test', mail({}));
    expect(await summary(another, {})).toBe(
      'No message arrived. Mail for another address was refused meanwhile: "no.such.badger@mayfly.test".',
    );
    expect(await summary(another, {}, another.token)).toBe(
      `No message arrived. No mail for "${another.address}" was refused either: check that the application has sent it, to this address and to this SMTP server.`,
    );
  });

  it('names the sink where it took the mail', async () => {
    await send('before.hand@mayfly.test', mail({ Subject: 'Early' }), [], sinkApp);
    const early = await sinkApp.createInbox({ localPart: 'before.hand' });
    expect(await summary(early, {}, TEST_KEY, sinkApp)).toMatch(
      /^No message arrived\. Mail for this address arrived \d+ m?s before this inbox was created, and went to the sink\.$/,
    );
    const inbox = await sinkApp.createInbox({ localPart: 'maria.schmidt' });
    await send('maria.schmitd@mayfly.test', mail({}), [], sinkApp);
    expect(await summary(inbox, {}, TEST_KEY, sinkApp)).toBe(
      'No message arrived. Mail for the similar address "maria.schmitd@mayfly.test" went to the sink, because no inbox has that address.',
    );
  });
});
