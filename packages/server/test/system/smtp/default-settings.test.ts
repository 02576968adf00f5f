import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { playSmtp } from '../../support/smtp-script.ts';

/*
 * The commands as a user starts them, with nothing configured: what a mail program meets.
 */

describe.each(['dev', 'serve'] as const)('mayfly %s without any setting', (command) => {
  let server: ServerProcess;
  const folder = useFolder();
  beforeAll(async () => {
    server = await startServer({ command, dataDir: folder() });
  });
  afterAll(() => server.end('SIGTERM'));

  const rawOf = async (inbox: Inbox): Promise<string> => {
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const { messages } = await server.getJson<{ messages: { id: string }[] }>(path);
    expect(messages).toHaveLength(1);
    return (await server.getBytes(`${path}/${messages[0]?.id}/raw`)).toString('latin1');
  };

  test('accepts a mail from nodemailer with its default options', async () => {
    const inbox = await server.createInbox();
    const transport = createTransport({ host: '127.0.0.1', port: server.smtpPort });
    const mail = { from: 'a@shop.example', to: inbox.address, subject: 'Default options', text: 'Hello' };
    expect((await transport.sendMail(mail)).response).toMatch(/^250 2\.0\.0 /);
    transport.close();
    expect(await rawOf(inbox)).toContain('Subject: Default options\r\n');
  });

  test(`has ${command === 'dev' ? 'a' : 'no'} sink for mail that no inbox takes`, async () => {
    const reply = command === 'dev' ? '250 2.1.5' : '550 5.1.1';
    const mail = ['→ 220', 'EHLO c → 250', 'MAIL FROM:<a@shop.example> → 250'];
    await playSmtp(server.smtpPort, [...mail, `RCPT TO:<customer@example.com> → ${reply}`]);
  });

  test('offers no STARTTLS', async () => {
    await playSmtp(server.smtpPort, ['→ 220', { send: 'EHLO c', expect: /^(?!.*STARTTLS)250-/s }]);
  });

  test(`${command === 'dev' ? 'accepts' : 'rejects'} an SMTP user name and password of no inbox`, async () => {
    const credentials = Buffer.from('\0app\0password').toString('base64');
    await playSmtp(server.smtpPort, [
      '→ 220',
      { send: 'EHLO c', expect: /^250-AUTH PLAIN LOGIN$/m },
      { send: `AUTH PLAIN ${credentials}`, expect: command === 'dev' ? '235 2.7.0' : '535 5.7.8' },
    ]);
  });

  const withBareLineFeeds = ({ address }: Inbox, reply: string) => [
    '→ 220',
    'EHLO c → 250',
    'MAIL FROM:<a@shop.example> → 250',
    `RCPT TO:<${address}> → 250`,
    'DATA → 354',
    { send: Buffer.from('Subject: LF\n\nfirst\n.\nlast\n\r\n.\r\n'), expect: reply },
  ];

  if (command === 'dev') {
    test('stores a message with bare line feeds, each as CRLF', async () => {
      const inbox = await server.createInbox();
      await playSmtp(server.smtpPort, withBareLineFeeds(inbox, '250 2.0.0'));
      expect(await rawOf(inbox)).toMatch(/Subject: LF\r\n\r\nfirst\r\n\.\r\nlast\r\n\r\n$/);
    });
  } else {
    test('rejects a message with bare line feeds', async () => {
      await playSmtp(server.smtpPort, withBareLineFeeds(await server.createInbox(), '550 5.6.11'));
    });
  }
});
