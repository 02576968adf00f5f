import { describe, expect, test } from 'vitest';
import { DEV_DEFAULTS } from '../../src/config/settings.ts';
import { plainResponse, playSmtp, type Step } from '../support/smtp-script.ts';
import { type TestApp, useApp } from '../support/start-app.ts';
import { withSender } from './start-smtp.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;
const DEV = { ...DEV_DEFAULTS, MAYFLY_METRICS_PORT: '0', MAYFLY_LOG_LEVEL: 'silent' };

/** What a mail program meets where nothing is configured. */
describe.each([
  ['dev', DEV],
  ['serve', {}],
] as const)('the settings of mayfly %s without any of the user', (command, env) => {
  const app = useApp(env);
  const play = (steps: Step[]) => playSmtp(app.smtp.port, steps);

  const rawOf = async (inbox: Inbox): Promise<string> => {
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const { messages } = (await app.api('GET', path)).body;
    expect(messages).toHaveLength(1);
    const { bytes } = await app.api('GET', `${path}/${messages[0].id}/raw`);
    return Buffer.from(bytes).toString('latin1');
  };

  test('accept a mail from nodemailer with its default options', async () => {
    const inbox = await app.createInbox();
    const mail = { from: 'a@shop.example', to: inbox.address, subject: 'Default options', text: 'Hello' };
    expect(await app.send(mail)).toMatch(/^250 2\.0\.0 /);
    expect(await rawOf(inbox)).toContain('Subject: Default options\r\n');
  });

  test(`have ${command === 'dev' ? 'a' : 'no'} sink for mail that no inbox takes`, async () => {
    const reply = command === 'dev' ? '250 2.1.5' : '550 5.1.1';
    await play([...withSender, `RCPT TO:<customer@example.com> → ${reply}`]);
  });

  test(`offer no STARTTLS, and ${command === 'dev' ? 'accept' : 'reject'} credentials of no inbox`, async () => {
    const reply = command === 'dev' ? '235 2.7.0' : '535 5.7.8';
    await play([
      ...['→ 220', { send: 'EHLO c', expect: /^(?!.*STARTTLS)250-.*^250-AUTH PLAIN LOGIN$/ms }],
      `AUTH PLAIN ${plainResponse('app', 'password')} → ${reply}`,
    ]);
  });

  test(`${command === 'dev' ? 'store' : 'reject'} a message with bare line feeds`, async () => {
    const inbox = await app.createInbox();
    const reply = command === 'dev' ? '250 2.0.0' : '550 5.6.11';
    const text = `Subject: LF\n\nfirst\n.\nlast\n\r\n. → ${reply}`;
    await play([...withSender, `RCPT TO:<${inbox.address}> → 250`, 'DATA → 354', text]);
    if (command === 'dev')
      expect(await rawOf(inbox)).toMatch(/Subject: LF\r\n\r\nfirst\r\n\.\r\nlast\r\n\r\n$/);
  });
});
