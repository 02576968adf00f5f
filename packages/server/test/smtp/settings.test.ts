import { expect, it, onTestFinished } from 'vitest';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { plainResponse, type SmtpClient, type Step, smtpClient } from '../support/smtp-script.ts';
import { appOfTest, TEST_KEY, type TestApp } from '../support/start-app.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A client, and what EHLO offers it. @param from another machine's address, as a proxy tells it */
async function connected(app: TestApp, from?: string): Promise<{ client: SmtpClient; offer: string }> {
  const client = await smtpClient(app.smtp.port);
  onTestFinished(() => client.close());
  if (from) await client.send(`PROXY TCP4 ${from} 192.0.2.1 40000 25\r\n`);
  await client.play(['→ 220']);
  return { client, offer: await client.say('EHLO app.example.org') };
}

const LOGIN = /^250-AUTH PLAIN LOGIN$/m;
const NO_AUTH = /^(?!.*AUTH)/s;
const PROXY = { MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32' };
const ELSEWHERE = '198.51.100.7';

it.each<[string, Record<string, string>, string | undefined, RegExp, Step[]]>([
  [
    'MAYFLY_SMTP_STARTTLS=self-signed offers STARTTLS',
    { MAYFLY_SMTP_STARTTLS: 'self-signed' },
    undefined,
    /^250-STARTTLS$/m,
    ['STARTTLS → 220 2.0.0'],
  ],
  [
    'MAYFLY_SMTP_STARTTLS=off and MAYFLY_SMTP_AUTH=off offer neither',
    { MAYFLY_SMTP_STARTTLS: 'off', MAYFLY_SMTP_AUTH: 'off' },
    undefined,
    /^(?!.*(?:STARTTLS|AUTH))/s,
    ['STARTTLS → 502 5.5.1', `AUTH PLAIN ${plainResponse('a', 'b')} → 502 5.5.1`],
  ],
  ['AUTH without TLS is offered to this machine', PROXY, '127.0.0.1', LOGIN, []],
  ['but not to others', PROXY, ELSEWHERE, NO_AUTH, [`AUTH PLAIN ${plainResponse('a', 'b')} → 538 5.7.11`]],
  [
    'unless MAYFLY_SMTP_AUTH_PLAINTEXT=on',
    { ...PROXY, MAYFLY_SMTP_AUTH_PLAINTEXT: 'on' },
    ELSEWHERE,
    LOGIN,
    [],
  ],
])('%s', async (_name, settings, from, offered, steps) => {
  const app = await appOfTest(settings);
  const { client, offer } = await connected(app, from);
  expect(offer).toMatch(offered);
  await client.play(steps);
});

describeOnEngines('AUTH on several servers', (engine) => {
  const { first, last } = useServers(engine, { MAYFLY_SMTP_AUTH: 'inbox' });

  it('an inbox that one server made captures the mail of a session with another', async () => {
    const inbox = await first().createInbox();
    const dialogues = [
      [`AUTH PLAIN ${plainResponse(inbox.id, inbox.token)} → 235 2.7.0`],
      [`AUTH PLAIN ${plainResponse(inbox.address, TEST_KEY)} → 235 2.7.0`],
      ['AUTH LOGIN → 334', `${base64(inbox.address)} → 334`, `${base64(inbox.token)} → 235 2.7.0`],
    ];
    for (const dialogue of dialogues) {
      const { client } = await connected(last());
      await client.play([
        ...dialogue,
        'MAIL FROM:<a@b.test> → 250',
        'RCPT TO:<customer@shop.example> → 250',
        'DATA → 354',
        'Subject: x\r\n\r\nx\r\n. → 250',
      ]);
    }
    const { body } = await last().api('GET', `/v1/inboxes/${inbox.id}`, { as: inbox.token });
    expect(body.messageCount).toBe(dialogues.length);
    const { client } = await connected(last());
    await client.play([`AUTH PLAIN ${plainResponse(inbox.id, 'mft_wrong')} → 535 5.7.8`]);
    // The login of an inbox that has ended is wrong, on every server.
    await first().api('DELETE', `/v1/inboxes/${inbox.id}`);
    await client.play([`AUTH PLAIN ${plainResponse(inbox.id, inbox.token)} → 535 5.7.8`]);
  });
});
