import { beforeEach, describe, expect, it } from 'vitest';
import { sendmail } from '../../src/cli/sendmail.ts';
import { appOfTest, TEST_KEY, useApp } from '../support/start-app.ts';

const NOW = Date.UTC(2026, 10, 23, 12);

const app = useApp({ MAYFLY_SINK: 'on', MAYFLY_SMTP_BARE_LINE_ENDINGS: 'refuse' });
beforeEach(async () => {
  const { body } = await app.api('GET', '/v1/inboxes');
  for (const { id } of body.inboxes) await app.api('DELETE', `/v1/inboxes/${id}/messages`);
});

const send = (args: string[], mail: string | Buffer, env: Record<string, string> = {}) =>
  sendmail(args, {
    input: async () => Buffer.from(mail),
    env: { USER: 'www-data', MAYFLY_SMTP_PORT: String(app.smtp.port), ...env },
    now: NOW,
  });
const SENT = { code: 0, text: '' };

async function received() {
  const { body } = await app.api('GET', '/v1/messages');
  const [first] = body.messages;
  const path = `/v1/inboxes/${first.inboxId}/messages/${first.id}`;
  const message = (await app.api('GET', path)).body;
  const raw: string = (await app.api('GET', `${path}/raw`)).body;
  return { message, raw };
}

describe('mayfly sendmail', () => {
  it('sends to everyone in To, Cc and Bcc, and hides Bcc', async () => {
    const mail = [
      'To: "Ada, the first" <ada@example.org>, root',
      'Cc: team: bob@example.org, =?utf-8?Q?C=C3=A4rl?= <carl@example.org>;',
      'Bcc: eve@example.net,',
      ' mallory@example.net',
      'From: Shop <shop@example.com>',
      'Subject: Hello',
      '',
      'Text',
      '.',
      '..dots',
      '',
    ].join('\n');
    expect(await send(['-t', '-i'], mail)).toEqual(SENT);
    const { message, raw } = await received();
    const [from, envelope] = [{ address: 'shop@example.com' }, { mailFrom: 'shop@example.com' }];
    expect(message).toMatchObject({ from, envelope, subject: 'Hello', date: '2026-11-23T12:00:00.000Z' });
    expect(message.rcptTo).toEqual([
      ...['ada@example.org', 'root@localhost', 'bob@example.org', 'carl@example.org'],
      ...['eve@example.net', 'mallory@example.net'],
    ]);
    expect(raw).not.toContain('mallory');
    expect(raw).toMatch(/\r\n\r\nText\r\n\.\r\n\.\.dots\r\n$/);
  });

  it.each([
    [['-i', '-f', 'bounce@example.com', 'a@example.org'], 'bounce@example.com'],
    [['-oi', '-fbounce@example.com', '--', 'a@example.org'], 'bounce@example.com'],
    [['-ti', '-r', '<bounce@example.com>', 'a@example.org'], 'bounce@example.com'],
    [['-f', '', 'a@example.org'], ''],
    [['-bm', '-oem', '-odi', '-N', 'never', '-v', '-B8BITMIME', 'a@example.org'], 'www-data@localhost'],
  ])('takes the sender of the envelope from %j', async (args, sender) => {
    expect(await send(args, 'Subject: x\n\ny\n')).toEqual(SENT);
    const { message } = await received();
    expect([message.envelope.mailFrom, message.rcptTo]).toEqual([sender, ['a@example.org']]);
  });

  it('adds a sender with a name, a date and an id to a mail that has none, and an empty line to text alone', async () => {
    expect(await send(['-F', 'Grüße', 'a@example.org'], 'only text\nand more')).toEqual(SENT);
    const { message, raw } = await received();
    expect(message.from).toEqual({ name: 'Grüße', address: 'www-data@localhost' });
    expect(raw).toMatch(/^Message-ID: <\S+@localhost>\r\n\r\nonly text\r\nand more\r\n$/m);
  });

  it.each([
    ['with CRLF', ['-i'], 'Subject: x\r\n\r\none\r\n'],
    ['behind a From line of a mailbox', ['-i'], 'From shop@example.com Mon Nov 23\nSubject: x\n\none\n'],
    ['up to a line with a dot alone, unless -i says otherwise', [], 'Subject: x\n\none\n.\ntwo\n'],
  ])('sends a mail %s', async (_what, options, mail) => {
    expect(await send([...options, 'a@example.org'], mail)).toEqual(SENT);
    const { message, raw } = await received();
    expect(message.subject).toBe('x');
    expect(raw).toMatch(/\r\n\r\none\r\n$/);
  });

  it('sends eight-bit bytes and addresses in any script as they are', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0xe9, 0x0a]);
    const mail = Buffer.concat([Buffer.from('To: Grüße <grüße@bücher.example>\n\n'), bytes]);
    expect(await send(['-t'], mail)).toEqual(SENT);
    const { body } = await app.api('GET', '/v1/messages');
    const [{ inboxId, id, rcptTo }] = body.messages;
    expect(rcptTo).toEqual(['grüße@bücher.example']);
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    const raw = await fetch(`${app.url}/v1/inboxes/${inboxId}/messages/${id}/raw`, { headers });
    expect([...(await raw.bytes()).subarray(-5)]).toEqual([0xff, 0xfe, 0xe9, 0x0d, 0x0a]);
  });

  it('sends to more recipients than one transaction has', async () => {
    const many = Array.from({ length: 250 }, (_, index) => `a${index}@example.org`);
    expect(await send(many, 'Subject: x\n\n')).toEqual(SENT);
    const { body } = await app.api('GET', '/v1/messages');
    const recipients: string[] = body.messages.flatMap(({ rcptTo }: { rcptTo: string[] }) => rcptTo);
    expect(recipients.toSorted()).toEqual(many.toSorted());
  });

  it('sends to the server that an option or a variable of Mailpit names', async () => {
    const server = `127.0.0.1:${app.smtp.port}`;
    const env = { MAYFLY_SMTP_PORT: '1' };
    for (const option of [[`--server=${server}`], ['--smtp-addr', server], [`-S${server}`]])
      expect(await send([...option, 'a@example.org'], 'x', env)).toEqual(SENT);
    const variables = { ...env, MP_SENDMAIL_SMTP_ADDR: server };
    expect(await send(['a@example.org'], 'x', variables)).toEqual(SENT);
  });

  it.each([
    [64, [], 'x', /A recipient is missing.* -t /],
    [64, ['-t'], 'Subject: x\n\n', /no recipient in To, Cc or Bcc/],
    [64, ['-bs'], '', /-bs is not offered/],
    [64, ['-t', '-f'], '', /'-f.*' argument missing\. Use -t/],
    [64, ['-x', 'a@example.org'], '', /Unknown option '-x'\. Use -t/],
    [64, ['--server', 'a:b:c', 'a@example.org'], '', /"a:b:c" is not a server/],
    [75, ['--server', '127.0.0.1:1', 'a@example.org'], 'x', /127\.0\.0\.1:1 .*ECONNREFUSED.*mayfly dev/],
  ])('ends with %i for %j, and says why', async (code, args, mail, text) => {
    expect(await send(args, mail)).toEqual({ code, text: expect.stringMatching(text) });
  });

  it('sends to the others where one recipient is refused, and ends with 67', async () => {
    const strict = await appOfTest();
    const inbox = await strict.createInbox();
    const env = { MAYFLY_SMTP_PORT: String(strict.smtp.port) };
    const text = expect.stringMatching(/^Not sent to nobody@mayfly\.test: 550 5\.1\.1 /);
    const result = await send([inbox.address, 'nobody@mayfly.test'], 'Subject: x\n\n', env);
    expect(result).toEqual({ code: 67, text });
    expect(await strict.messages(inbox)).toHaveLength(1);
  });
});
