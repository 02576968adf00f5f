import { describe, expect, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { sendMail } from '../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { plainResponse, type SmtpClient } from '../support/smtp-script.ts';
import { appOfTest, TEST_KEY, type TestApp, useApp } from '../support/start-app.ts';
import { clientOfTest, hello } from './start-smtp.ts';

/*
 * Sending with the user name and password of an inbox: the whole application, HTTP for the inboxes, SMTP for
 * the mail.
 */

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

const PLANS = JSON.stringify({
  unlimited: { maxMessagesPerInbox: 3, maxMessageBytes: 2_000_000 },
  free: { maxMessagesPerInbox: 50 },
});

const app = useApp({ MAYFLY_PLANS: PLANS, MAYFLY_SIGNUP_PLAN: 'free' });

const newKey = async (scope: string): Promise<{ id: string; key: string }> =>
  (await app.api('POST', '/v1/keys', { body: { name: 'k', scope } })).body;

async function connected(to: TestApp = app): Promise<SmtpClient> {
  const client = await clientOfTest(to.smtp.port);
  await client.play(hello);
  return client;
}

/** The reply to AUTH with that user name and password, on a connection of its own. */
const authReply = async (user: string, password: string, to?: TestApp): Promise<string> =>
  (await connected(to)).say(`AUTH PLAIN ${plainResponse(user, password)}`);

/** A connection that is logged in for an inbox. */
async function loggedIn({ id, token }: Inbox, to?: TestApp): Promise<SmtpClient> {
  const client = await connected(to);
  await client.play([`AUTH PLAIN ${plainResponse(id, token)} → 235 2.7.0`]);
  return client;
}

/** As far as the data of a mail to anyone. */
const sending = ['MAIL FROM:<app@example.org> → 250', 'RCPT TO:<anyone@example.org> → 250', 'DATA → 354'];

/** Sends a mail; the reply to RCPT where that is an error, else the reply to the end of the data. */
async function deliver(client: SmtpClient, recipient: string, subject = 'Hello'): Promise<string> {
  expect(await client.say('MAIL FROM:<app@example.org>')).toMatch(/^250 /);
  const rcpt = await client.say(`RCPT TO:<${recipient}>`);
  if (!rcpt.startsWith('250 ')) {
    await client.say('RSET');
    return rcpt;
  }
  expect(await client.say('DATA')).toMatch(/^354/);
  return client.say(`Subject: ${subject}\r\n\r\nText\r\n.`);
}

test('a mail to inboxes of two plans is refused as a whole if it is larger than one of them allows', async () => {
  const { body } = await app.api('POST', '/v1/accounts', { body: { name: 'other' }, as: '' });
  const other = await app.api('POST', '/v1/inboxes', { body: {}, as: body.key });
  const own = await app.createInbox();
  const large = `Subject: large\n\n${'x'.repeat(70).concat('\n').repeat(30_000)}`;
  const { replies, end } = await sendMail(app.smtp.port, [own.address, other.body.address], large);
  expect([...replies, end].map((reply) => reply?.slice(0, 3))).toEqual(['250', '250', '552']);
  for (const inbox of [own, other.body]) expect(await app.messages(inbox, '', inbox.token)).toEqual([]);
});

describe('SMTP user name and password', () => {
  const tagged = (address: string) => address.toUpperCase().replace('@', '+App@');
  test.each<[string, (inbox: Inbox) => [user: string, password: string]]>([
    ['the inbox id and its read token', ({ id, token }) => [id, token]],
    ['the address and the read token', ({ address, token }) => [address, token]],
    ['the inbox id and an API key', ({ id }) => [id, TEST_KEY]],
    ['the address and an API key', ({ address }) => [address, TEST_KEY]],
    ['an address with a tag and in capitals', ({ address, token }) => [tagged(address), token]],
    ['the same with an API key', ({ address }) => [tagged(address), TEST_KEY]],
  ])('%s capture all mail of the session', async (_name, credentials) => {
    const inbox = await app.createInbox();
    const client = await connected();
    await client.play([`AUTH PLAIN ${plainResponse(...credentials(inbox))} → 235 2.7.0`]);
    expect(await deliver(client, 'Customer@Shop.example')).toMatch(/^250 2\.0\.0 /);
    const [message] = await app.messages(inbox, '', inbox.token);
    const full = await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${message?.id}`);
    expect(full.body.envelope.rcptTo).toEqual(['Customer@Shop.example']);
  });

  test('of a catch-all inbox: its address is a user name, another address of its domain is not', async () => {
    const inbox = await app.createInbox({ catchAll: true });
    const elsewhere = inbox.address.replace(/^[^@]+/, 'someone');
    for (const password of [inbox.token, TEST_KEY]) {
      for (const user of [inbox.address, inbox.id]) expect(await authReply(user, password)).toMatch(/^235 /);
      expect(await authReply(elsewhere, password)).toMatch(/^535 /);
    }
    expect(await deliver(await loggedIn(inbox), 'customer@shop.example')).toMatch(/^250 /);
    expect(await app.messages(inbox, '', inbox.token)).toHaveLength(1);
  });

  test('an API key of scope read is enough', async () => {
    const inbox = await app.createInbox();
    const { key } = await newKey('read');
    expect(await authReply(inbox.id, key)).toMatch(/^235 /);
  });

  test('two sessions at once go to their own inboxes, and one without a login by its recipients', async () => {
    const [first, second] = [await app.createInbox(), await app.createInbox()];
    const third = await app.createInbox();
    const clients = await Promise.all([loggedIn(first), loggedIn(second), connected()]);
    const deliveries = clients.map((client, n) => deliver(client, third.address, `mail ${n}`));
    for (const reply of await Promise.all(deliveries)) expect(reply).toMatch(/^250 /);
    const lists = await Promise.all(
      [first, second, third].map((inbox) => app.messages(inbox, '', inbox.token)),
    );
    expect(lists).toMatchObject([0, 1, 2].map((n) => [{ subject: `mail ${n}` }]));
  });
});

describe('wrong credentials get 535, always with the same text', () => {
  test('whatever is wrong', async () => {
    const inbox = await app.createInbox();
    const other = await app.createInbox();
    const strangerKey = await app.newAccount();
    const revoked = await newKey('full');
    await app.api('DELETE', `/v1/keys/${revoked.id}`);
    const deleted = await app.createInbox();
    await app.api('DELETE', `/v1/inboxes/${deleted.id}`);
    const mistyped = `${inbox.token.slice(0, -1)}${inbox.token.endsWith('x') ? 'y' : 'x'}`;
    const wrong: [string, string][] = [
      ['app', 'password'],
      [inbox.id, 'password'],
      [inbox.id, mistyped],
      [inbox.id, other.token],
      [inbox.address, other.token],
      [other.address, inbox.token],
      ['inb_01jd000000000000000000000', inbox.token],
      ['inb_01jd000000000000000000000', TEST_KEY],
      ['nobody@mayfly.test', TEST_KEY],
      [inbox.id, strangerKey],
      [inbox.address, strangerKey],
      [inbox.id, revoked.key],
      [deleted.id, deleted.token],
      [deleted.id, TEST_KEY],
      [deleted.address, TEST_KEY],
      [inbox.address.split('@')[0] ?? '', inbox.token],
      [`${inbox.id}' OR '1'='1`, inbox.token],
      ['x'.repeat(600), inbox.token],
      [inbox.id, 'x'.repeat(600)],
      [inbox.id, '\u{1F511}'],
    ];
    const replies = await Promise.all(wrong.map(([user, password]) => authReply(user, password)));
    expect(new Set(replies).size).toBe(1);
    expect(replies[0]).toMatch(/^535 5\.7\.8 /);
    expect(await authReply(inbox.id, inbox.token)).toMatch(/^235 /);
  });

  test('five times at most on a connection; other connections are not held up', async () => {
    const inbox = await app.createInbox();
    const flood = await Promise.all(Array.from({ length: 20 }, () => connected()));
    for (const client of flood) {
      await client.send(`AUTH PLAIN ${plainResponse(inbox.id, 'guess')}\r\n`.repeat(200));
    }
    expect(await deliver(await loggedIn(inbox), 'anyone@example.org')).toMatch(/^250 /);
    const replies = await Promise.all(flood.map((one) => one.closed()));
    expect(replies.map((text) => text.match(/535 5\.7\.8/g)?.length)).toEqual(Array(20).fill(5));
  });
});

describe('the inbox of a session', () => {
  test('that is full rejects RCPT with 452, and its explained wait shows the rejection under its own address', async () => {
    const inbox = await app.createInbox();
    const client = await loggedIn(inbox);
    for (let n = 0; n < 3; n++) expect(await deliver(client, 'anyone@example.org')).toMatch(/^250 /);
    expect(await deliver(client, 'anyone@example.org')).toMatch(/^452 4\.2\.2 /);
    const body = { match: { subject: 'the fourth' }, timeoutSeconds: 0 };
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: inbox.token, body });
    expect(waited.body.explanation.refused).toMatchObject([
      { address: inbox.address, reply: '452 4.2.2 Inbox is full' },
    ]);
  });

  test('that is deleted in mid-session refuses at RCPT, and at the end of data that had begun', async () => {
    const inbox = await app.createInbox();
    const [client, other] = [await loggedIn(inbox), await loggedIn(inbox)];
    expect(await deliver(client, 'anyone@example.org')).toMatch(/^250 /);
    await other.play(sending);
    await app.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect(await deliver(client, 'anyone@example.org')).toMatch(/^550 5\.1\.1 /);
    expect(await other.say('Subject: late\r\n\r\nText\r\n.')).toMatch(/^550 5\.1\.1 /);
  });

  test('that expires in mid-session refuses at RCPT and at the end of the data, and lets no one in', async () => {
    const clock = new FakeClock();
    const timed = await appOfTest({}, { clock });
    const inbox = await timed.createInbox({ ttlMinutes: 1 });
    const [early, late] = [await loggedIn(inbox, timed), await loggedIn(inbox, timed)];
    // Two halves: a mail whose data pauses for a minute is ended for that.
    await clock.advance(31_000);
    await early.play(sending);
    await clock.advance(30_000);
    expect(await early.say('Subject: late\r\n\r\nText\r\n.')).toMatch(/^550 5\.1\.1 /);
    expect(await deliver(late, 'anyone@example.org')).toMatch(/^550 5\.1\.1 /);
    for (const password of [inbox.token, TEST_KEY])
      expect(await authReply(inbox.id, password, timed)).toMatch(/^535 5\.7\.8 /);
  });
});

describeOnEngines('a session with another server than created its inbox', (engine) => {
  const { first, last } = useServers(engine, { MAYFLY_SMTP_AUTH: 'inbox' });

  test('is captured, by either name, key and mechanism, until the inbox is deleted', async () => {
    const inbox = await first().createInbox();
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const logins = [
      [`AUTH PLAIN ${plainResponse(inbox.id, inbox.token)} → 235 2.7.0`],
      [`AUTH PLAIN ${plainResponse(inbox.address, TEST_KEY)} → 235 2.7.0`],
      ['AUTH LOGIN → 334', `${base64(inbox.address)} → 334`, `${base64(inbox.token)} → 235 2.7.0`],
    ];
    for (const login of logins)
      await (await connected(last())).play([...login, ...sending, 'Subject: x\r\n\r\nx\r\n. → 250']);
    const { body } = await last().api('GET', `/v1/inboxes/${inbox.id}`, { as: inbox.token });
    expect(body.messageCount).toBe(logins.length);
    expect(await authReply(inbox.id, 'mft_wrong', last())).toMatch(/^535 5\.7\.8 /);
    await first().api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect(await authReply(inbox.id, inbox.token, last())).toMatch(/^535 5\.7\.8 /);
  });
});
