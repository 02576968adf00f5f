import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutcomeEvent, Posting } from '../../../providers/src/provider.ts';
import { RESEND } from '../../../providers/src/resend/index.ts';
import { SES } from '../../../providers/src/ses/index.ts';
import { selfSignedCertificate } from '../../src/smtp/tls.ts';
import { startApp, type TestApp } from '../support/start-app.ts';
import { pythonProgram } from './python/program.ts';

const python = await pythonProgram(
  'ses_and_resend.py',
  'anymail, aws_sns_verifier, boto3, resend, sns_message_validator, svix',
);

describe.skipIf(!python.isInstalled)('clients for Python, unchanged but for the address', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.stop());

  const sent = async (name: string) => {
    const { answer, messages } = await python.sent(app, name);
    const ids = messages.map(({ envelope }) => envelope.providerMessageId);
    expect(ids).toEqual(expect.arrayContaining(answer.ids));
    return { answer, messages };
  };

  it('boto3 with ses sends, keeps templates and understands errors', async () => {
    const { answer, messages } = await sent('boto3_ses');
    expect(answer).toMatchObject({ code: 'InvalidClientTokenId', quota: 14 });
    expect(messages.map(({ subject }) => subject)).toEqual(['Grüße', 'raw', 'Hi Ada']);
  });

  it('boto3 with sesv2 sends and understands errors', async () => {
    const { answer, messages } = await sent('boto3_sesv2');
    expect(answer).toMatchObject({ code: 'NotFoundException', enabled: true });
    expect(messages).toMatchObject([{ from: { name: 'Größe' }, codes: [{ value: '482913' }] }]);
  });

  it('resend sends once for a key, in batches and with attachments', async () => {
    const { answer, messages } = await sent('resend');
    expect(answer).toMatchObject({ again: answer.ids[0], subject: 'Grüße', code: [403, 'invalid_api_key'] });
    expect(messages).toMatchObject([{ attachments: [{ filename: 'a.txt', size: 8 }] }, { attachments: [] }]);
  });

  it.each(['anymail_ses', 'anymail_resend'])(
    'Django with %s sends with tags and attachments',
    async (name) => {
      const { answer, messages } = await sent(name);
      expect(answer.status).toEqual(['queued']);
      expect(messages).toMatchObject([
        { subject: 'Grüße', from: { name: 'Größe' }, attachments: [{ filename: 'a.txt' }] },
      ]);
      expect(messages[0].html).toContain('482913');
    },
  );
});

describe.skipIf(!python.isInstalled)('webhook views of anymail', () => {
  const outcome: OutcomeEvent = {
    ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11', outcome: 'bounce', recipient: 'ada@example.com' },
    at: Date.UTC(2026, 2, 4),
    sending: {
      ...{ providerId: 'id-1', mailFrom: 'shop@acme.example', subject: 'Hi', sentAt: Date.UTC(2026, 2, 4) },
      recipients: ['ada@example.com', 'bob@example.com'],
      given: {
        headers: [
          { name: 'X-Tag', value: 'welcome' },
          { name: 'X-Tags', value: '["welcome"]' },
        ],
      },
    },
  };
  const mail = {
    ...{ id: 'in-1', at: Date.UTC(2026, 2, 4), mailFrom: 'ada@example.com', rcptTo: 'help@acme.example' },
    raw: Buffer.from('From: ada@example.com\r\nSubject: Re: Hi\r\n\r\nThanks\r\n'),
    from: { name: 'Ada', address: 'ada@example.com' },
    ...{ to: [], cc: [], subject: 'Re: Hi', text: 'Thanks\n', html: '', reply: 'Thanks', messageId: '<m@x>' },
    ...{ headers: [], attachments: [] },
  };
  const signing = (secrets: Record<string, string>) => ({
    ...{
      secrets,
      now: Date.now(),
      baseUrl: 'https://mayfly.test/providers/ses',
      url: 'https://app.test/hook',
    },
  });
  const post = (name: string, posting: Posting | undefined, view: string, secret = '') => {
    if (!posting) throw new Error('no event');
    const input = { view, headers: posting.headers, body: Buffer.from(posting.body).toString() };
    return python.run(name, { SIGNING_SECRET: secret }, input);
  };

  it('take events of SES, and a reply', async () => {
    const secrets = await SES.makeSecrets();
    expect(await post('webhook_ses', SES.event(outcome, signing(secrets)), 'tracking')).toEqual({
      ...{ status: 200, seen: [['bounced', 'ada@example.com', 'id-1', ['welcome']]] },
    });
    expect(await post('webhook_ses', SES.inbound(mail, signing(secrets)), 'inbound')).toEqual({
      ...{ status: 200, seen: [['Re: Hi', 'Thanks\n']] },
    });
  });

  it('take events of Resend, verified by their signature', async () => {
    const secrets = await RESEND.makeSecrets();
    const secret = RESEND.shown(secrets).signingSecret ?? '';
    const posting = RESEND.event(outcome, signing(secrets));
    expect(await post('webhook_resend', posting, 'tracking', secret)).toEqual({
      ...{ status: 200, seen: [['bounced', 'ada@example.com', 'id-1', ['welcome']]] },
    });
    const other = await RESEND.makeSecrets();
    const wrong = await post('webhook_resend', posting, 'tracking', RESEND.shown(other).signingSecret);
    expect(wrong).toEqual({ status: 400, seen: [] });
  });

  describe('verifiers of SNS, which fetch its certificate by HTTPS', () => {
    let folder: string;
    let secrets: Record<string, string>;
    const site = createServer(({ url = '' }, response) =>
      response.end(SES.files?.(url.replace(/^\/ses/, ''), secrets)?.body),
    );
    beforeAll(async () => {
      secrets = await SES.makeSecrets();
      const pair = await selfSignedCertificate('localhost', Date.now());
      folder = mkdtempSync(join(tmpdir(), 'mayfly-sns-'));
      writeFileSync(join(folder, 'ca.pem'), pair.cert);
      site.setSecureContext(pair);
      await once(site.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(() => {
      site.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it.each(['1', '2'])('accept SignatureVersion %s, and nothing that was changed', async (version) => {
      const trusted = join(folder, 'ca.pem');
      const env = { SSL_CERT_FILE: trusted, REQUESTS_CA_BUNDLE: trusted };
      const how = {
        ...signing(secrets),
        baseUrl: `https://localhost:${(site.address() as AddressInfo).port}/ses`,
        url: `https://app.test/hook?SignatureVersion=${version}`,
      };
      const validated = (posting: Posting | undefined, change = (body: string) => body) => {
        const body = change(Buffer.from(posting?.body ?? '').toString());
        return python.run('validate_sns', env, { body });
      };
      expect(await validated(SES.handshake?.('one', how))).toEqual({ type: 'SubscriptionConfirmation' });
      const event = SES.event(outcome, how);
      expect(await validated(event)).toEqual({ type: 'Notification' });
      const changed = await validated(event, (body) => body.replaceAll('ada@', 'eve@'));
      expect(changed).toEqual({ error: expect.any(String) });
    });
  });
});
