import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROVIDERS, type Provider } from '@mayfly/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InboundMail, OutcomeEvent, Posting } from '../../../providers/src/provider.ts';
import { SES } from '../../../providers/src/ses/index.ts';
import { TWILIO } from '../../../providers/src/twilio/index.ts';
import { AREA_CODES, newPhoneLocalPart } from '../../src/mail/local-part.ts';
import { selfSignedCertificate } from '../../src/smtp/tls.ts';
import type { Body } from '../support/api-client.ts';
import { findProgramWith } from '../support/find-program.ts';
import { useFolder } from '../support/folder.ts';
import { TEST_KEY, useApp } from '../support/start-app.ts';
import { newInbox } from './sdks.ts';

/** What .ci/python-tests installed. */
const VENV = join(import.meta.dirname, '../../../../node_modules/.cache/python-tests/bin/python');
const PROGRAM = join(import.meta.dirname, 'python/clients.py');
const MODULES =
  'anymail, aws_sns_verifier, boto3, cryptography, phonenumbers, resend, sendgrid, sns_message_validator, svix, twilio';

const python = await findProgramWith([VENV, 'python3'], ['-c', `import ${MODULES}`]);
if (!python)
  process.stderr.write(`Skipped: ${MODULES} are not installed (.ci/python-tests installs them).\n`);

/** Runs a case of the program. @returns what it prints, as JSON */
async function run(name: string, env: Record<string, string> = {}, input: unknown = {}) {
  const child = spawn(python ?? '', ['-W', 'ignore', PROGRAM, name], { env: { ...process.env, ...env } });
  child.stdin.end(JSON.stringify(input));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (output === '') throw new Error(errors);
  return JSON.parse(output);
}

const AT = Date.UTC(2026, 2, 4);
const signingOf = (secrets: Record<string, string>, baseUrl = 'https://mayfly.test', path = '/hook') => ({
  ...{ secrets, now: Date.now(), baseUrl, url: `https://app.test${path}` },
});
const OUTCOME: OutcomeEvent = {
  ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11', outcome: 'bounce', recipient: 'ada@example.com', at: AT },
  sending: {
    ...{ providerId: '<id-1@acme.example>', mailFrom: 'shop@acme.example', subject: 'Hi', sentAt: AT },
    recipients: ['ada@example.com', 'bob@example.com'],
    given: {
      ...{ tags: ['welcome'], variables: { order: '7' }, tag: 'welcome', metadata: { order: '7' } },
      ...{ categories: ['welcome'], customArgs: { order: '7' }, messageId: '<id-1@acme.example>' },
      headers: [
        { name: 'X-Tag', value: 'welcome' },
        { name: 'X-Tags', value: '["welcome"]' },
        { name: 'X-Metadata', value: '{"order": "7"}' },
      ],
    },
  },
};
const MAIL: InboundMail = {
  ...{ id: 'in-1', at: AT, mailFrom: 'ada@example.com', rcptTo: 'help@acme.example' },
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

describe.skipIf(!python)('clients for Python, unchanged but for the address', () => {
  const app = useApp();

  /** Runs a case that sends to a new inbox. @returns what it prints, and the messages, oldest first */
  async function sent(name: string): Promise<{ answer: Body; messages: Body[] }> {
    const inbox = await newInbox(app, { sms: name === 'twilio' });
    const env = { PROVIDERS_URL: `${app.url}/providers`, MAYFLY_KEY: TEST_KEY };
    const answer = await run(name, { ...env, RECIPIENT: inbox.phoneNumber ?? inbox.address });
    return { answer, messages: (await inbox.messages()).toReversed() };
  }
  const FIRST = {
    ...{ subject: 'Grüße', from: { name: 'Größe', address: 'shop@acme.example' } },
    ...{ codes: [{ value: '482913' }], attachments: [{ filename: 'a.txt', size: 8 }] },
  };
  const REFUSALS_OF_TWILIO = [
    [401, 20003],
    [400, 21608],
    [400, 21211],
  ];

  it.each<[string, unknown, object[]]>([
    ['sendgrid', 'The provided authorization grant is invalid, expired, or revoked', [FIRST]],
    ['boto3_ses', 'InvalidClientTokenId', [{ subject: 'Grüße' }, { subject: 'raw' }, { subject: 'Hi Ada' }]],
    ['boto3_sesv2', 'NotFoundException', [{ ...FIRST, attachments: [] }]],
    // It sends once for a key.
    ['resend', 'invalid_api_key', [FIRST, { ...FIRST, attachments: [] }]],
    ['twilio', REFUSALS_OF_TWILIO, [{ text: 'Your code is 482913\nhttps://shop.example/a.png' }]],
  ])('%s sends and understands errors', async (name, error, mails) => {
    const { answer, messages } = await sent(name);
    expect(messages).toMatchObject(mails);
    expect(answer.error).toEqual(error);
    const ids = messages.map(({ envelope }) => envelope.providerMessageId);
    expect(ids).toEqual(expect.arrayContaining(answer.ids));
    if (name === 'twilio')
      expect(answer).toMatchObject({
        statuses: ['queued', 'delivered', 'scheduled', 'canceled'],
        created: expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:]{8}\+00:00$/),
      });
  });

  it.each([
    ['sendgrid', 'queued', 401],
    ['postmark', 'sent', 401],
    ['mailgun', 'queued', 401],
    ['resend', 'queued', 403],
    ['amazon_ses', 'queued', undefined],
  ])('Django with anymail and %s sends one by one and merged, and understands errors', async (...row) => {
    const [backend, status, refused] = row;
    const { answer, messages } = await sent(`anymail:${backend}`);
    expect(answer).toEqual({ status: [status], id: expect.any(String), ...(refused && { refused }) });
    expect(messages).toMatchObject(refused ? [FIRST, { subject: 'Hi' }] : [FIRST]);
    if (backend !== 'sendgrid') expect(answer.id).toBe(messages.at(-1)?.envelope.providerMessageId);
  });
});

describe.skipIf(!python)('webhook views of anymail', () => {
  const post = (name: string, posting: Posting | undefined, view: string, secret = '') => {
    if (!posting) throw new Error('no event');
    const input = { view, headers: posting.headers, body: Buffer.from(posting.body).toString('base64') };
    const backend = name === 'ses' ? 'amazon_ses' : name;
    return run(`webhook:${backend}`, { SIGNING_SECRET: secret }, input);
  };
  const secretOf = (provider: Provider, secrets: Record<string, string>): string => {
    const { publicKey, signingKey, signingSecret, username, password } = provider.shown(secrets);
    return publicKey ?? signingKey ?? signingSecret ?? `${username}:${password}`;
  };
  const ofMail = PROVIDERS.filter(({ name }) => name !== 'twilio');

  it.each(ofMail)('take events of $title with its signature, and none with another', async (provider) => {
    const secrets = await provider.makeSecrets();
    const posting = provider.event(OUTCOME, signingOf(secrets));
    const { recipient, sending } = OUTCOME;
    const metadata = expect.objectContaining({ order: '7' });
    const seen = ['bounced', recipient, sending.providerId, ['welcome'], metadata];
    const answer = await post(provider.name, posting, 'tracking', secretOf(provider, secrets));
    expect(answer).toEqual({ status: 200, seen: [seen] });
    // It does not verify signatures of SNS.
    if (provider === SES) return;
    const others = secretOf(provider, await provider.makeSecrets());
    expect(await post(provider.name, posting, 'tracking', others)).toEqual({ status: 400, seen: [] });
  });

  // A reply of Resend has no text: the application fetches it.
  it.each(ofMail.filter(({ name }) => name !== 'resend'))(
    'take replies in the format of $title',
    async (provider) => {
      const secrets = await provider.makeSecrets();
      const posting = provider.inbound(MAIL, signingOf(secrets));
      const text = expect.stringMatching(/^Thanks\s*$/);
      const files = [['a.txt', 'attached']];
      const seen = ['Re: Grüße', text, 'help@acme.example', '<id-1@acme.example>', files];
      const answer = await post(provider.name, posting, 'inbound', secretOf(provider, secrets));
      expect(answer).toEqual({ status: 200, seen: [seen] });
    },
  );
});

describe.skipIf(!python)('verifiers of SNS, which fetch its certificate by HTTPS', () => {
  const folder = useFolder();
  let secrets: Record<string, string>;
  const site = createServer(({ url = '' }, response) =>
    response.end(SES.files?.(url.replace(/^\/ses/, ''), secrets)?.body),
  );
  beforeAll(async () => {
    secrets = await SES.makeSecrets();
    const pair = selfSignedCertificate('localhost', Date.now());
    writeFileSync(join(folder(), 'ca.pem'), pair.cert);
    site.setSecureContext(pair);
    await once(site.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => void site.close());

  it.each(['1', '2'])('accept SignatureVersion %s, and nothing that was changed', async (version) => {
    const trusted = join(folder(), 'ca.pem');
    const env = { SSL_CERT_FILE: trusted, REQUESTS_CA_BUNDLE: trusted };
    const baseUrl = `https://localhost:${(site.address() as AddressInfo).port}/ses`;
    const how = signingOf(secrets, baseUrl, `/hook?SignatureVersion=${version}`);
    const validated = (posting: Posting | undefined, change = (body: string) => body) => {
      const body = change(Buffer.from(posting?.body ?? '').toString());
      return run('validate_sns', env, { body });
    };
    expect(await validated(SES.handshake?.('one', how))).toEqual({ type: 'SubscriptionConfirmation' });
    const event = SES.event(OUTCOME, how);
    expect(await validated(event)).toEqual({ type: 'Notification' });
    const changed = await validated(event, (body) => body.replaceAll('ada@', 'eve@'));
    expect(changed).toEqual({ error: expect.any(String) });
  });
});

describe.skipIf(!python)("Twilio's library, and Google's rules of telephone numbers", () => {
  const given = { accountSid: `AC${'0a'.repeat(16)}`, from: '+15005550006', to: '+15125550123' };
  const outcome = { ...OUTCOME, sending: { ...OUTCOME.sending, given } };
  const reply = { ...MAIL, attachments: [], reply: 'Grüße +&=%\r\n😀 ' };

  it.each(['https://app.test/sms?a=b%20c&d=1', 'https://app.test:8443/sms', 'http://127.0.0.1:3000/'])(
    'validates our signatures of requests to %s, and no others',
    async (url) => {
      const secrets = await TWILIO.makeSecrets();
      const signing = { ...signingOf(secrets), url };
      const token = TWILIO.shown(secrets).authToken;
      const validated = ({ headers, body }: Posting, by = token) =>
        run('validate_twilio', {}, { url, headers, body: Buffer.from(body).toString('base64'), token: by });
      for (const posting of [TWILIO.event(outcome, signing), TWILIO.inbound(reply, signing)]) {
        if (!posting) throw new Error('no event');
        expect(await validated(posting)).toEqual([true, false]);
        expect(await validated(posting, 'another')).toEqual([false, false]);
      }
    },
  );

  it('inboxes get valid numbers', async () => {
    const drawn = Array.from({ length: 2_000 }, () => `+${newPhoneLocalPart()}`);
    const ofAreas = AREA_CODES.map((area) => `+1${area}5550123`);
    const invalid = '+11115550123';
    expect(await run('invalid_numbers', {}, [...drawn, ...ofAreas, invalid])).toEqual([invalid]);
  });
});
