import { describe, expect, it } from 'vitest';
import type { InboundMail, OutcomeEvent, Posting } from '../../../providers/src/provider.ts';
import { TWILIO } from '../../../providers/src/twilio/index.ts';
import { AREA_CODES, newPhoneLocalPart } from '../../src/mail/phone-number.ts';
import type { Body } from '../support/api-client.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { pythonProgram } from './python/program.ts';

const python = await pythonProgram('twilio_sms.py', 'phonenumbers, twilio');

describe.skipIf(!python.isInstalled)("Twilio's library for Python", () => {
  it('sends, shows, schedules and cancels, unchanged but for its address, and understands errors', async () => {
    const app = await startApp();
    const inbox = (await app.createInbox({ sms: true })) as Body;
    const env = { PROVIDERS_URL: `${app.url}/providers`, MAYFLY_KEY: TEST_KEY, RECIPIENT: inbox.phoneNumber };
    const answer = await python.run('send', env);
    expect(answer).toEqual({
      sid: expect.stringMatching(/^SM[0-9a-f]{32}$/),
      statuses: ['queued', 'delivered', 'scheduled', 'canceled'],
      created: expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:]{8}\+00:00$/),
      refused: [
        [401, 20003],
        [400, 21608],
        [400, 21211],
      ],
    });
    const { body: list } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    expect(list.messages).toMatchObject([{ codes: [{ value: '482913' }] }]);
    const { body: message } = await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${list.messages[0].id}`);
    expect(message).toMatchObject({
      text: 'Grüße, your code is 482913\nhttps://shop.example/a.png',
      envelope: { providerMessageId: answer.sid },
    });
    await app.stop();
  });

  const outcome: OutcomeEvent = {
    ...{ id: '6f0f7a34-6a0e-4b0e-9d0c-3f1f8f8c1a11', outcome: 'bounce', at: Date.UTC(2026, 2, 4) },
    recipient: '15125550123@mayfly.test',
    sending: {
      ...{ providerId: `SM${'0a'.repeat(16)}`, mailFrom: '15005550006@sms.invalid', subject: '' },
      ...{ recipients: [], sentAt: 0 },
      given: { accountSid: `AC${'0a'.repeat(16)}`, from: '+15005550006', to: '+15125550123' },
    },
  };
  const reply: InboundMail = {
    ...{ id: 'in-1', at: Date.UTC(2026, 2, 4), mailFrom: '15125550123@mayfly.test', raw: Buffer.from('') },
    ...{ rcptTo: '15005550006@sms.invalid', from: { name: '', address: '15125550123@mayfly.test' } },
    to: [{ name: '+15005550006', address: '15005550006@sms.invalid' }],
    ...{ cc: [], subject: 'Re: ', text: '', html: '', messageId: '<m@x>', headers: [], attachments: [] },
    reply: 'Grüße +&=%\r\n😀 ',
  };

  it.each(['https://app.test/sms?a=b%20c&d=1', 'https://app.test:8443/sms', 'http://127.0.0.1:3000/'])(
    'validates our signatures of requests to %s, and no others',
    async (url) => {
      const secrets = await TWILIO.makeSecrets();
      const signing = { secrets, now: 0, baseUrl: 'https://mayfly.test', url };
      const token = TWILIO.shown(secrets).authToken;
      const validated = ({ headers, body }: Posting, by = token) =>
        python.run('validate', {}, { url, headers, body: Buffer.from(body).toString('base64'), token: by });
      for (const posting of [TWILIO.event(outcome, signing), TWILIO.inbound(reply, signing)]) {
        if (!posting) throw new Error('no event');
        expect(await validated(posting)).toEqual([true, false]);
        expect(await validated(posting, 'another')).toEqual([false, false]);
      }
    },
  );

  it('gives valid numbers to inboxes, by the rules of libphonenumber', async () => {
    const drawn = Array.from({ length: 2_000 }, () => `+${newPhoneLocalPart()}`);
    const ofAreas = AREA_CODES.map((area) => `+1${area}5550123`);
    expect(await python.run('numbers', {}, [...drawn, ...ofAreas, '+11115550123'])).toEqual(['+11115550123']);
  });
});
