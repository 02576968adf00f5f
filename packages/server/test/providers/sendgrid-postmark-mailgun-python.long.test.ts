import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAILGUN } from '../../../providers/src/mailgun/index.ts';
import { POSTMARK } from '../../../providers/src/postmark/index.ts';
import type { InboundMail, OutcomeEvent, Posting, Provider } from '../../../providers/src/provider.ts';
import { SENDGRID } from '../../../providers/src/sendgrid/index.ts';
import { startApp, type TestApp } from '../support/start-app.ts';
import { pythonProgram } from './python/program.ts';

const python = await pythonProgram('sendgrid_postmark_mailgun.py', 'anymail, cryptography, sendgrid');

describe.skipIf(!python.isInstalled)('clients for Python, unchanged but for the address', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());

  const FIRST = {
    ...{ subject: 'Grüße', from: { name: 'Größe', address: 'shop@acme.example' } },
    ...{ codes: [{ value: '482913' }], attachments: [{ filename: 'a.txt', size: 8 }] },
  };

  it('sendgrid sends and understands errors', async () => {
    const { answer, messages } = await python.sent(app, 'sendgrid');
    expect(answer).toMatchObject({
      ...{ status: 202, ids: [messages[0].envelope.providerMessageId] },
      message: 'The provided authorization grant is invalid, expired, or revoked',
    });
    expect(messages).toMatchObject([FIRST]);
  });

  it.each([
    ['sendgrid', 'queued'],
    ['postmark', 'sent'],
    ['mailgun', 'queued'],
  ])(
    'Django with anymail and %s sends one by one and merged, and understands errors',
    async (backend, status) => {
      const { answer, messages } = await python.sent(app, `anymail:${backend}`);
      expect(answer).toMatchObject({ status: [status], refused: 401 });
      expect(messages).toMatchObject([FIRST, { subject: 'Hi' }]);
      if (backend !== 'sendgrid') expect(answer.id).toBe(messages[1].envelope.providerMessageId);
    },
  );
});

describe.skipIf(!python.isInstalled)('webhook views of anymail', () => {
  const outcome: OutcomeEvent = {
    ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11', outcome: 'bounce', recipient: 'ada@example.com' },
    at: Date.UTC(2026, 2, 4),
    sending: {
      ...{
        providerId: '<id-1@acme.example>',
        mailFrom: 'shop@acme.example',
        subject: 'Hi',
        recipients: [],
        sentAt: 0,
      },
      given: {
        ...{ tags: ['welcome'], variables: { order: '7' }, tag: 'welcome', metadata: { order: '7' } },
        ...{ categories: ['welcome'], customArgs: { order: '7' }, messageId: '<id-1@acme.example>' },
      },
    },
  };
  const mail: InboundMail = {
    ...{ id: 'in-1', at: Date.UTC(2026, 2, 4), mailFrom: 'ada@example.com', rcptTo: 'help@acme.example' },
    raw: Buffer.from(
      [
        'From: ada@example.com',
        'Subject: =?utf-8?q?Re=3A_Gr=C3=BC=C3=9Fe?=',
        'In-Reply-To: <id-1@acme.example>',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b\r\n\r\nThanks\r\n--b',
        'Content-Disposition: attachment; filename=a.txt\r\n\r\nattached\r\n--b--\r\n',
      ].join('\r\n'),
    ),
    from: { name: 'Ada', address: 'ada@example.com' },
    to: [{ name: '', address: 'help@acme.example' }],
    ...{ cc: [], subject: 'Re: Grüße', text: 'Thanks', html: '', reply: 'Thanks', messageId: '<m@x>' },
    headers: [
      { name: 'From', value: 'ada@example.com' },
      { name: 'Subject', value: 'Re: Grüße' },
      { name: 'In-Reply-To', value: '<id-1@acme.example>' },
    ],
    attachments: [
      { filename: 'a.txt', contentType: 'text/plain', contentId: '', content: Buffer.from('attached') },
    ],
  };
  const signing = (secrets: Record<string, string>) => ({
    ...{ secrets, now: Date.now(), baseUrl: 'https://mayfly.test', url: 'https://app.test/hook' },
  });
  const post = (name: string, posting: Posting | undefined, view: string, secret: string) => {
    if (!posting) throw new Error('no event');
    const input = { view, headers: posting.headers, body: Buffer.from(posting.body).toString('base64') };
    return python.run(`webhook:${name}`, { SIGNING_SECRET: secret }, input);
  };
  const secretOf = (provider: Provider, secrets: Record<string, string>): string => {
    const { publicKey, signingKey, username, password } = provider.shown(secrets);
    return publicKey ?? signingKey ?? `${username}:${password}`;
  };

  it.each([SENDGRID, POSTMARK, MAILGUN])(
    'take events of $title with its signature, and none with another',
    async (provider) => {
      const secrets = await provider.makeSecrets();
      const posting = provider.event(outcome, signing(secrets));
      expect(await post(provider.name, posting, 'tracking', secretOf(provider, secrets))).toEqual({
        status: 200,
        seen: [
          [
            'bounced',
            'ada@example.com',
            '<id-1@acme.example>',
            ['welcome'],
            expect.objectContaining({ order: '7' }),
          ],
        ],
      });
      const others = secretOf(provider, await provider.makeSecrets());
      expect(await post(provider.name, posting, 'tracking', others)).toEqual({ status: 400, seen: [] });
    },
  );

  it.each([SENDGRID, POSTMARK, MAILGUN])('take replies in the format of $title', async (provider) => {
    const secrets = await provider.makeSecrets();
    const posting = provider.inbound(mail, signing(secrets));
    const taken = await post(provider.name, posting, 'inbound', secretOf(provider, secrets));
    expect(taken).toEqual({
      status: 200,
      seen: [
        [
          'Re: Grüße',
          expect.stringMatching(/^Thanks\s*$/),
          'help@acme.example',
          '<id-1@acme.example>',
          [['a.txt', 'attached']],
        ],
      ],
    });
  });
});
