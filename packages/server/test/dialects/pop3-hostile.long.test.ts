import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { Api, Mailbox } from '@mayfly/dialects';
import { beforeEach, describe, expect, it } from 'vitest';
import { Pop3Session } from '../../../dialects/src/pop3/session.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { appOfTest, startApp, type TestApp, useApp } from '../support/start-app.ts';
import { trustedCertificate } from '../support/tls/certificates.ts';
import { type Call, logIn, openSession, PopClient, popClient, poplib } from './pop3-clients.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

let app: TestApp;
const shared = useApp({ MAYFLY_POP3_PORT: '0' });
beforeEach(() => {
  app = shared;
});
/** Replaces the server of the test by one with other settings. */
const start = async (env: Record<string, string> = {}, clock?: FakeClock): Promise<void> => {
  app = await appOfTest({ MAYFLY_POP3_PORT: '0', ...env }, clock && { clock });
};

const ONE = 'Subject: One\r\n\r\nText\r\n';

/** Stores mails byte for byte, as no mail server would send them. */
async function withRaw(sources = [ONE], ttlMinutes = 60): Promise<Inbox> {
  const inbox = await app.createInbox({ ttlMinutes });
  for (const source of sources) {
    const { status } = await app.api('POST', `/v1/inboxes/${inbox.id}/messages`, {
      body: Buffer.from(source, 'latin1'),
      headers: { 'content-type': 'message/rfc822' },
    });
    expect(status).toBe(201);
  }
  return inbox;
}

const connected = () => popClient(app.pop3Port);
const sessionOf = ({ id, token }: Inbox) => openSession(app.pop3Port, id, token);
const WRONG = '-ERR [AUTH] The user name or the password is wrong.';
/** What a client reads of a message, without its header. */
const bodyIn = (read: string) => read.slice(read.indexOf('\r\n\r\n') + 4);

/** A session without a connection, by default with TLS. @returns sends a line, and returns the reply */
function detachedSession(options: Partial<ConstructorParameters<typeof Pop3Session>[0]>) {
  const session = new Pop3Session({
    ...{ mayLogIn: () => true, mayEncrypt: () => false, hasUnread: () => false },
    ...{ logIn: async () => undefined, ...options },
  });
  return async (line: string) => text(session.answer(line));
}

describe('mail that would end its own reply', () => {
  it.each([
    ['lines of one dot', 'a\r\n.\r\n..\r\n+OK 9 9\r\n', ['a', '..', '...', '+OK 9 9']],
    ['a dot behind a lone LF', 'a\n.\n+OK', ['a', '..', '+OK']],
    ['a dot behind a lone CR', 'a\r.\r+OK', ['a', '..', '+OK']],
    ['a dot between CR and LF', 'a\r.\r\n.\n\r.', ['a', '..', '..', '', '..']],
    ['no line end', '.', ['..']],
    ['a lone CR at its end', 'a\r', ['a']],
  ])('%s: each dot gets another one, each line ends with CRLF', async (_name, body, expected) => {
    const inbox = await withRaw([`Subject: Dots\r\n\r\n${body}`]);
    const client = await sessionOf(inbox);
    expect(await client.say('RETR 1')).toMatch(/^\+OK/);
    expect(bodyIn(await client.rest())).toBe(expected.map((line) => `${line}\r\n`).join(''));
    expect(await client.say('TOP 1 1')).toMatch(/^\+OK/);
    expect(bodyIn(await client.rest())).toBe(`${expected[0]}\r\n`);
    expect(await client.say('NOOP')).toBe('+OK');
  });

  it('a dot at each place of the pieces in which a large source is read', async () => {
    const lines = Array.from({ length: 300_000 }, (_, index) => (index % 3 === 0 ? '.' : `.${index % 10}`));
    const inbox = await withRaw([`Subject: Dots\r\n\r\n${lines.join('\r\n')}\r\n`]);
    const client = await sessionOf(inbox);
    await client.say('RETR 1');
    const read = bodyIn(await client.rest());
    expect(read === lines.map((line) => `.${line}\r\n`).join('')).toBe(true);
  });
});

describe('what a client may send', () => {
  it('answers commands that came at once, one after the other', async () => {
    const inbox = await withRaw();
    const client = await connected();
    const logIn = `USER ${inbox.address}\r\nPASS ${inbox.token}\r\n`;
    client.socket.end(`${logIn}stat\r\nDELE 1\r\nLIST\r\nRSET\r\nQUIT\r\nNOOP\r\n`);
    const replies = (await client.closed()).split('\r\n').map((line) => line.split(' ')[0]);
    expect(replies).toEqual(['+OK', '+OK', '+OK', '+OK', '+OK', '.', '+OK', '+OK', '']);
  });

  it('closes the connection at a line that is too long, also without its end', async () => {
    const client = await sessionOf(await withRaw());
    client.socket.write(`STAT ${'A'.repeat(2040)}\r\nSTAT ${'A'.repeat(2050)}\r\nSTAT\r\n`);
    expect(await client.line()).toMatch(/^\+OK 1 /);
    expect(await client.closed()).toBe('-ERR The line is too long.\r\n');
    const endless = await connected();
    endless.socket.write(Buffer.alloc(16 * 1024 * 1024, 'A'));
    expect(await endless.closed()).not.toContain('+OK');
  });

  it.each([
    ['a form of a page in a browser', 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
    ['TLS', '\x16\x03\x01\r\n'],
  ])('takes no commands out of %s', async (_name, beginning) => {
    await start({ MAYFLY_DEV_KEY: 'on' });
    const inbox = await withRaw();
    const client = await connected();
    client.socket.write(`${beginning}USER ${inbox.id}\r\nPASS dev\r\nDELE 1\r\nQUIT\r\n`);
    expect(await client.closed()).toBe('');
    expect(await app.messages(inbox)).toHaveLength(1);
  });

  it('closes the connection after five wrong passwords', async () => {
    const client = await connected();
    for (let tried = 0; tried < 5; tried++) {
      await client.say('USER nobody@mayfly.test');
      expect(await client.say('PASS mfk_wrong')).toBe(WRONG);
    }
    expect(await client.closed()).toBe('');
  });

  it('closes the connection after twenty commands that failed, and quotes none of them', async () => {
    const client = await connected();
    client.socket.write('__proto__ +OK injected\r\n'.repeat(30));
    expect(await client.closed()).toBe('-ERR There is no such command, or not now.\r\n'.repeat(20));
  });

  it('logs in with AUTH PLAIN, with and without an initial response', async () => {
    const inbox = await withRaw();
    const response = Buffer.from(`\0${inbox.address}\0${inbox.token}`).toString('base64');
    const one = await connected();
    expect(await one.say(`AUTH PLAIN ${response}`)).toMatch(/^\+OK 1 /);
    const two = await connected();
    expect(await two.say('AUTH PLAIN')).toBe('+');
    expect(await two.say('*')).toMatch(/^-ERR/);
    expect(await two.say('AUTH PLAIN')).toBe('+');
    expect(await two.say(response)).toMatch(/^\+OK 1 /);
  });

  it('knows "dev" only on a server that has the development key', async () => {
    await start({ MAYFLY_DEV_KEY: 'on' });
    const { id, address } = await withRaw();
    for (const user of [id, address]) {
      const [, , stat] = await poplib(app.pop3Port, [...logIn(user, 'dev'), ['stat']]);
      expect(stat).toEqual([1, expect.any(Number)]);
    }
    expect((await poplib(app.pop3Port, logIn('nobody@mayfly.test', 'dev')))[1]).toMatch(/^-ERR \[AUTH\]/);
    app = shared;
    const inbox = await withRaw();
    expect((await poplib(app.pop3Port, logIn(inbox.id, 'dev')))[1]).toMatch(/^-ERR \[AUTH\]/);
  });

  it('takes no password from another machine without TLS', async () => {
    let isEncrypted = false;
    const say = detachedSession({ mayLogIn: () => isEncrypted, mayEncrypt: () => !isEncrypted });
    for (const line of ['USER a', 'PASS b', 'AUTH PLAIN AGEAYg=='])
      expect(await say(line)).toMatch(/^-ERR Other machines log in with TLS only/);
    expect(await say('CAPA')).not.toMatch(/USER|SASL/);
    expect(await say('STLS')).toMatch(/^\+OK/);
    isEncrypted = true;
    expect(await say('CAPA')).toMatch(/USER\r\nSASL PLAIN\r\n/);
    expect(await say('AUTH PLAIN AGEAYg==')).toMatch(/^-ERR \[AUTH\] The user name/);
  });
});

describe('STLS', () => {
  const encrypted = async (client: PopClient, trust: object): Promise<PopClient> => {
    expect(await client.say('STLS')).toMatch(/^\+OK/);
    const socket = connectTls({ socket: client.socket, ...trust });
    await once(socket, 'secureConnect');
    return new PopClient(socket);
  };

  it('uses the certificate of SMTP, forgets the user name, and is offered once', async () => {
    const { tls, trust } = trustedCertificate();
    await start({ MAYFLY_SMTP_TLS_CERT: tls.cert, MAYFLY_SMTP_TLS_KEY: tls.key });
    const inbox = await withRaw();
    const plain = await connected();
    await plain.say(`USER ${inbox.id}`);
    const client = await encrypted(plain, trust);
    expect(await client.say(`PASS ${inbox.token}`)).toBe('-ERR Send USER first.');
    expect(await client.say('STLS')).toMatch(/^-ERR/);
    await client.say(`USER ${inbox.id}`);
    expect(await client.say(`PASS ${inbox.token}`)).toMatch(/^\+OK 1 /);
    expect(await client.say('RETR 1')).toMatch(/^\+OK/);
    expect(await client.rest()).toContain('Subject: One');
  });

  it('works with poplib and a generated certificate', async () => {
    await start({ MAYFLY_SMTP_STARTTLS: 'self-signed' });
    const inbox = await withRaw();
    const calls: Call[] = [['capa'], ['stls'], ['capa'], ...logIn(inbox.address, inbox.token), ['stat']];
    const [before, , after, ...others] = await poplib(app.pop3Port, calls);
    expect(before).toMatchObject({ STLS: [], USER: [], SASL: ['PLAIN'], UIDL: [], TOP: [] });
    expect(after).not.toHaveProperty('STLS');
    expect(others.at(-1)).toEqual([1, expect.any(Number)]);
  });

  it('refuses commands that came behind it in plain text', async () => {
    await start({ MAYFLY_SMTP_STARTTLS: 'self-signed' });
    const inbox = await withRaw();
    const client = await connected();
    client.socket.write(`STLS\r\nUSER ${inbox.id}\r\nPASS ${inbox.token}\r\n`);
    expect(await client.closed()).toBe('-ERR Commands came after STLS and before TLS.\r\n');
  });

  it('is not offered without a certificate', async () => {
    const client = await connected();
    expect(await client.say('STLS')).toMatch(/^-ERR TLS is not offered/);
  });
});

describe('limits', () => {
  /** Lets time pass until a promise resolves. */
  async function passUntil<T>(clock: FakeClock, what: Promise<T>, ms = 10 * SECOND): Promise<T> {
    let isDone = false;
    const done = what.finally(() => {
      isDone = true;
    });
    while (!isDone) await clock.leap(ms);
    return done;
  }

  it('closes a connection without a login after a minute, and an idle one after ten', async () => {
    const clock = new FakeClock();
    await start({}, clock);
    const inbox = await withRaw();
    const began = clock.monotonic();
    const silent = await connected();
    await passUntil(clock, silent.closed());
    expect(clock.monotonic() - began).toBeGreaterThan(MINUTE);
    const loggedIn = clock.monotonic();
    const idle = await sessionOf(inbox);
    expect(await passUntil(clock, idle.closed())).toBe('-ERR The session took too long.\r\n');
    expect(clock.monotonic() - loggedIn).toBeGreaterThan(10 * MINUTE);
  });

  it('answers a session whose inbox has expired', async () => {
    const clock = new FakeClock();
    await start({}, clock);
    const inbox = await withRaw([ONE], 5);
    const client = await sessionOf(inbox);
    expect(await client.say('DELE 1')).toMatch(/^\+OK/);
    expect(await client.say('RSET')).toMatch(/^\+OK/);
    await clock.leap(5 * MINUTE);
    expect(await client.say('RETR 1')).toMatch(/^-ERR/);
    expect(await client.say('DELE 1')).toMatch(/^\+OK/);
    expect(await client.say('QUIT')).toBe('+OK Goodbye.');
    const next = await connected();
    await next.say(`USER ${inbox.id}`);
    expect(await next.say(`PASS ${inbox.token}`)).toBe(WRONG);
  });

  it('closes the connection of a client that does not read its mail, and accepts others again', async () => {
    const clock = new FakeClock();
    await start({ MAYFLY_SMTP_MAX_CONNECTIONS: '1' }, clock);
    const inbox = await withRaw([`Subject: Large\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(300_000)}`]);
    const slow = await sessionOf(inbox);
    expect(await slow.say('RETR 1')).toMatch(/^\+OK/);
    slow.socket.pause();
    const greeting = () => new PopClient(connect(app.pop3Port, '127.0.0.1')).line();
    while (!(await greeting()).startsWith('+OK')) await clock.leap(10 * SECOND);
    expect(clock.monotonic()).toBeGreaterThan(MINUTE);
    slow.socket.resume();
    expect(await slow.rest()).toBe('');
  });

  it('has the newest 10,000 messages of an inbox with more, and asks for no others', async () => {
    let requests = 0;
    const page = async () => {
      const from = 200 * requests++;
      const messages = Array.from({ length: 200 }, (_, index) => ({
        ...{ id: `msg_${from + index}`, inboxId: 'inb_1', size: 1 },
      }));
      const body = Buffer.from(JSON.stringify({ messages, cursor: 'c', hasMore: true }));
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    };
    const mailbox = new Mailbox(new Api(page), 'inb_1');
    const say = detachedSession({ logIn: async () => ({ mailbox, raw: () => Readable.from([]) }) });
    await say('USER inb_1');
    expect(await say('PASS any')).toBe('+OK 10000 10000\r\n');
    expect(await say('UIDL 1')).toBe('+OK 1 msg_9999\r\n');
    expect(await say('UIDL 10000')).toBe('+OK 10000 msg_0\r\n');
    expect(requests).toBe(50);
  });

  it('replaces the connection that is idle for longest when there are too many', async () => {
    await start({ MAYFLY_SMTP_MAX_CONNECTIONS: '2' });
    const [first, second] = [await connected(), await connected()];
    const third = await connected();
    expect(await first.closed()).toBe('-ERR [SYS/TEMP] The server closes the connection.\r\n');
    for (const client of [second, third]) expect(await client.say('CAPA')).toMatch(/^\+OK/);
  });

  it('waits for the rate limit of the account instead of failing', async () => {
    const clock = new FakeClock();
    const plans = { unlimited: { requestsPerSecond: 2, burst: 8 } };
    await start({ MAYFLY_PLANS: JSON.stringify(plans) }, clock);
    const inbox = await withRaw([ONE, 'Subject: Two\r\n\r\nText\r\n']);
    const client = await sessionOf(inbox);
    const began = clock.monotonic();
    client.socket.write(`${'TOP 1 0\r\n'.repeat(20)}DELE 1\r\nDELE 2\r\nQUIT\r\n`);
    const all = await passUntil(clock, client.closed(), SECOND);
    expect(all.match(/^Subject: One$/gm)).toHaveLength(20);
    expect(all).toMatch(/\+OK Goodbye\.\r\n$/);
    expect(clock.monotonic() - began).toBeGreaterThan(5 * SECOND);
  });

  it('ends idle sessions when the server stops, and says so', async () => {
    await start();
    const client = await sessionOf(await withRaw());
    await app.stop();
    expect(await client.closed()).toBe('-ERR [SYS/TEMP] The server closes the connection.\r\n');
  });

  it('stops without waiting for a client that does not close its side of an ended session', async () => {
    const own = await startApp({ MAYFLY_POP3_PORT: '0' }, { clock: new FakeClock() });
    const client = new PopClient(connect({ port: own.pop3Port, host: '127.0.0.1', allowHalfOpen: true }));
    expect(await client.line()).toMatch(/^\+OK/);
    expect(await client.say('QUIT')).toBe('+OK Goodbye.');
    await own.stop();
  });
});

it('is off unless it has a port', async () => {
  await start({ MAYFLY_POP3_PORT: '' });
  expect(app.pop3Port).toBe(0);
});
