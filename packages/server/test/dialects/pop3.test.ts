import { expect, it } from 'vitest';
import { inForm } from '../support/form.ts';
import { describeOnEngines, describeOnSqlite, useServers } from '../support/nodes.ts';
import { TEST_KEY, type TestApp } from '../support/start-app.ts';
import { type Call, logIn, openSession, popClient, poplib } from './pop3-clients.ts';

const WRONG = '-ERR [AUTH] The user name or the password is wrong.';
const GONE = '-ERR The message or its inbox does not exist any more.';
const mail = (to: string, subject: string, text = 'Hello.') => ({
  from: 'shop@example.com',
  ...{ to, subject, text },
});

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

// POP3 only sends requests to the API, which has tests on both engines.
inForm(describeOnSqlite, describeOnEngines)('poplib of Python', (engine) => {
  const app = useServers(engine, { MAYFLY_POP3_PORT: '0', MAYFLY_SIGNUP_PLAN: 'unlimited' }).first();

  const pop = async (inbox: Inbox, ...calls: Call[]) =>
    (await poplib(app.pop3Port, [...logIn(inbox.address, inbox.token), ...calls])).slice(2);
  const withMail = async (...subjects: string[]): Promise<Inbox> => {
    const inbox = await app.createInbox();
    for (const subject of subjects) await app.send(mail(inbox.address, subject));
    return inbox;
  };

  it('lists the mail of an inbox, the oldest first, with sizes and ids, and reads it as it was received', async () => {
    const inbox = await withMail('First', 'Second');
    const [second, first] = await app.messages(inbox);
    const raw = await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${first.id}/raw`);
    const total = first.size + second.size;
    const calls: Call[] = [['stat'], ['list'], ['uidl'], ['retr', 1], ['top', 2, 0], ['list', 2]];
    const [stat, list, uidl, read, top, size] = await pop(inbox, ...calls);
    expect(stat).toEqual([2, total]);
    const sizes = [`1 ${first.size}`, `2 ${second.size}`];
    expect(list).toEqual([expect.stringMatching(/^\+OK 2 /), sizes, expect.any(Number)]);
    const ids = [`1 ${first.id}`, `2 ${second.id}`];
    expect(uidl).toMatchObject([expect.any(String), ids, expect.any(Number)]);
    const [, lines] = read as [string, string[]];
    expect(lines.map((line) => `${line}\r\n`).join('')).toBe(raw.body);
    const [, head] = top as [string, string[]];
    expect(head).toContain('Subject: Second');
    expect(head.at(-1)).toBe('');
    expect(head).not.toContain('Hello.');
    expect(size).toBe(`+OK 2 ${second.size}`);
  });

  it.each<[string, (inbox: Inbox) => [string, string]]>([
    ['the id of an inbox and its read token', ({ id, token }) => [id, token]],
    ['the address and the read token', ({ address, token }) => [address, token]],
    ['the id and an API key', ({ id }) => [id, TEST_KEY]],
    ['the address and an API key', ({ address }) => [address, TEST_KEY]],
    ['the address in capitals', ({ address, token }) => [address.toUpperCase(), token]],
  ])('logs in with %s', async (_name, credentials) => {
    const inbox = await withMail('Hello');
    const [, , stat] = await poplib(app.pop3Port, [...logIn(...credentials(inbox)), ['stat']]);
    expect(stat).toEqual([1, expect.any(Number)]);
  });

  it('refuses all wrong credentials in the same words', async () => {
    const [inbox, other] = [await withMail(), await withMail()];
    const key = await app.newAccount();
    expect(key).toMatch(/^mfk_/);
    const wrong = [
      [inbox.address, other.token],
      [inbox.id, other.token],
      [inbox.id, key],
      [inbox.address, key],
      [inbox.id, inbox.token.slice(0, -1)],
      [inbox.id, 'dev'],
      ['nobody@mayfly.test', TEST_KEY],
      ['__proto__', TEST_KEY],
    ];
    for (const [user, password] of wrong) {
      const client = await popClient(app.pop3Port);
      await client.say(`USER ${user}`);
      expect(await client.say(`PASS ${password}`)).toBe(WRONG);
    }
  });

  it('deletes at QUIT, and only what was not reset, with a read token too', async () => {
    const inbox = await withMail('First', 'Second', 'Third');
    expect(await pop(inbox, ['dele', 1], ['stat'], ['retr', 1], ['dele', 1], ['rset'], ['stat'])).toEqual([
      expect.stringMatching(/^\+OK/),
      [2, expect.any(Number)],
      '-ERR There is no such message.',
      '-ERR There is no such message.',
      expect.stringMatching(/^\+OK/),
      [3, expect.any(Number)],
    ]);
    // The connection ended without QUIT.
    await pop(inbox, ['dele', 2]);
    expect(await app.messages(inbox)).toHaveLength(3);
    const results = await pop(inbox, ['dele', 1], ['rset'], ['dele', 2], ['dele', 3], ['quit']);
    expect(results[4]).toBe('+OK Goodbye.');
    expect((await app.messages(inbox)).map(({ subject }) => subject)).toEqual(['First']);
  });

  it('shows mail that comes during a session to the next one, and what others delete is gone', async () => {
    const inbox = await withMail('First', 'Second');
    const [, second] = (await app.messages(inbox)).toReversed();
    const session = await openSession(app.pop3Port, inbox.address, inbox.token);
    await app.send(mail(inbox.address, 'Third'));
    await app.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${second.id}`);
    expect(await session.say('STAT')).toMatch(/^\+OK 2 /);
    expect(await session.say('RETR 2')).toBe(GONE);
    expect(await session.say('RETR 3')).toBe('-ERR There is no such message.');
    expect(await session.say('DELE 2')).toMatch(/^\+OK/);
    expect(await session.say('QUIT')).toBe('+OK Goodbye.');
    expect((await pop(inbox, ['stat']))[0]).toEqual([2, expect.any(Number)]);
  });

  it('serves two sessions of one inbox at once, which may delete the same mail', async () => {
    const inbox = await withMail('First', 'Second');
    const open = () => openSession(app.pop3Port, inbox.id, inbox.token);
    const [one, two] = [await open(), await open()];
    for (const session of [one, two]) {
      expect(await session.say('DELE 1')).toMatch(/^\+OK/);
      expect(await session.say('QUIT')).toBe('+OK Goodbye.');
    }
    expect((await app.messages(inbox)).map(({ subject }) => subject)).toEqual(['Second']);
  });

  it('answers a session whose inbox was deleted', async () => {
    const inbox = await withMail('First');
    const session = await openSession(app.pop3Port, inbox.address, TEST_KEY);
    await app.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect(await session.say('RETR 1')).toBe(GONE);
    expect(await session.say('DELE 1')).toMatch(/^\+OK/);
    expect(await session.say('QUIT')).toBe('+OK Goodbye.');
    expect((await poplib(app.pop3Port, logIn(inbox.address, TEST_KEY)))[1]).toBe(WRONG);
  });

  it('reads a mail of 3 MB whole', async () => {
    const inbox = await app.createInbox();
    const raw = `Subject: Large\r\n\r\n${'.line of a large mail\r\n'.repeat(140_000)}`;
    await app.send({ ...mail(inbox.address, 'Large'), raw });
    const [message] = await app.messages(inbox);
    const { body } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${message.id}/raw`);
    const [read] = await pop(inbox, ['retr', 1]);
    const [, lines, size] = read as [string, string[], number];
    expect(lines.map((line) => `${line}\r\n`).join('') === body).toBe(true);
    expect(size).toBeGreaterThan(3_000_000);
  });
});
