import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY, type TestApp } from '../support/start-app.ts';
import { useReceiver } from '../webhooks/receivers.ts';

const ACCOUNT = `AC${'0a'.repeat(16)}`;
const FROM = '+15005550006';
const SERVICE = `MG${'1b'.repeat(16)}`;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

type Fields = Record<string, string | string[] | undefined>;

/** One request as the SDKs make it: basic authentication and a form. */
function ask(app: TestApp, method: string, path: string, fields: Fields = {}, key = TEST_KEY) {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value].flat()) if (one !== undefined) form.append(name, one);
  const authorization = `Basic ${btoa(`${ACCOUNT}:${key}`)}`;
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return app.api(method, `/providers/twilio/2010-04-01/Accounts/${ACCOUNT}${path}`, {
    ...{ as: null, headers: { authorization, ...(method === 'POST' && type) } },
    ...(method === 'POST' && { body: form.toString() }),
  });
}

const send = (app: TestApp, fields: Fields, key?: string) =>
  ask(app, 'POST', '/Messages.json', { From: FROM, Body: 'Your code is 482913', ...fields }, key);

describeOnEngines('SMS through the interface of Twilio', (engine) => {
  /** For what no database has to do with. */
  const isOnce = engine.nodes === 1;
  const servers = useServers(engine, {
    ...{ MAYFLY_SIGNUP_PLAN: 'developer', MAYFLY_DOMAINS: 'mayfly.test,second.test' },
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
  });
  const app = servers.first();
  const receiver = useReceiver();
  let foreign: string;
  let inbox: Body;
  beforeAll(async () => {
    foreign = await app.newAccount();
  });
  beforeEach(async () => {
    inbox = await app.createInbox({ sms: true });
  });

  const at = (path: string, { id } = inbox) => `/v1/inboxes/${id}${path}`;
  const newest = async ({ id } = inbox): Promise<Body> => {
    const [message] = await app.messages({ id }, '?wait=10');
    return (await app.api('GET', `/v1/inboxes/${id}/messages/${message.id}`)).body;
  };

  describe('an inbox with a telephone number', () => {
    it('is made by {"sms": true}, and shows a number that nobody has', async () => {
      const { phoneNumber, address, token } = inbox;
      expect(phoneNumber).toMatch(/^\+1[2-9]\d\d555\d{4}$/);
      expect(phoneNumber).not.toMatch(/(?:1212|4334)$/);
      expect(address).toBe(`${phoneNumber.slice(1)}@mayfly.test`);
      for (const as of [TEST_KEY, token])
        expect((await servers.last().api('GET', at(''), { as })).body).toMatchObject({ phoneNumber });
      const { body: list } = await app.api('GET', `/v1/inboxes?address=${address}`);
      expect(list.inboxes).toMatchObject([{ phoneNumber }]);
    });

    it('can have a number of your choice as its local part; other inboxes have none', async () => {
      const number = `44770090${String(Math.floor(performance.now())).slice(-4).padStart(4, '0')}`;
      expect(await app.createInbox({ localPart: number })).toMatchObject({ phoneNumber: `+${number}` });
      for (const body of [
        {},
        { sms: false },
        { localPart: number, domain: 'second.test' },
        { catchAll: true },
        { localPart: `0${number}` },
        { localPart: '12345' },
      ])
        expect(await app.createInbox(body)).toMatchObject({ phoneNumber: null });
    });

    it.each([
      ['localPart', 'ada'],
      ['address', 'ada@mayfly.test'],
      ['domain', 'mayfly.test'],
      ['catchAll', true],
    ])('takes no "%s" beside "sms"', async (field, value) => {
      const refused = await app.api('POST', '/v1/inboxes', { body: { sms: true, [field]: value } });
      const detail = expect.stringContaining(`"${field}" cannot be given together with "sms"`);
      const body = { code: 'invalid_request', errors: [{ path: `/${field}` }], detail };
      expect(refused).toMatchObject({ status: 400, body });
    });

    it('has one number for requests that are repeated', async () => {
      const headers = { 'idempotency-key': `sms-${inbox.id}` };
      const made = () => app.api('POST', '/v1/inboxes', { body: { sms: true, catchAll: false }, headers });
      const [one, two] = await Promise.all([made(), made()]);
      const numbers = [one, two].flatMap(({ body }) => body.phoneNumber ?? []);
      expect(new Set(numbers).size).toBe(1);
      expect((await made()).body.phoneNumber).toBe(numbers[0]);
    });
  });

  describe('sending', () => {
    it('answers as Twilio does, and the text is a message of the inbox with its code and link', async () => {
      const Body = 'Your code is 482913. Or follow https://shop.example/verify?t=abc';
      const sent = await send(app, { To: inbox.phoneNumber, Body });
      expect(sent.status).toBe(201);
      expect(sent.headers.get('content-type')).toMatch(/^application\/json/);
      const { sid } = sent.body;
      expect(sent.body).toEqual({
        sid: expect.stringMatching(/^SM[0-9a-f]{32}$/),
        ...{ account_sid: ACCOUNT, api_version: '2010-04-01' },
        ...{ from: FROM, to: inbox.phoneNumber, body: Body, status: 'queued', direction: 'outbound-api' },
        ...{ num_segments: '1', num_media: '0', messaging_service_sid: null, price: null, price_unit: 'USD' },
        ...{ error_code: null, error_message: null, date_sent: null },
        date_created: expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/),
        date_updated: sent.body.date_created,
        uri: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}.json`,
        subresource_uris: { media: `/2010-04-01/Accounts/${ACCOUNT}/Messages/${sid}/Media.json` },
      });
      const message = await newest();
      expect(message).toMatchObject({
        ...{ text: Body, html: null, subject: '', codes: [{ value: '482913' }] },
        links: [{ href: 'https://shop.example/verify?t=abc' }],
        from: { name: FROM, address: `${FROM.slice(1)}@sms.invalid` },
        to: [{ name: inbox.phoneNumber, address: inbox.address }],
        envelope: { via: 'twilio', providerMessageId: sid, rcptTo: [inbox.address] },
      });
      const { body: timeline } = await app.api('GET', at(`/messages/${message.id}/timeline`));
      expect(JSON.stringify(timeline.events)).toContain('Sent through the interface of Twilio');
      const { body: lint } = await app.api('GET', at(`/messages/${message.id}/lint`));
      expect(lint.findings).toEqual([]);
      const match = { text: 'your code', from: FROM.slice(1) };
      const found = await app.api('POST', at('/wait'), { body: { timeoutSeconds: 5, match } });
      expect(found.body.messages).toMatchObject([{ id: message.id }]);
      const { body: hits } = await app.api('GET', at('/messages?q=482913'));
      expect(JSON.stringify(hits)).toContain(message.id);
    });

    if (isOnce)
      it.each([
        ['letters of the world', 'Grüße, 世界! 😀 ‏עברית'],
        ['lines, spaces and dots at their ends', ' a \n.\n..\n\n-- \n> b\nFrom me '],
        ['a line of 1,600 letters', 'x'.repeat(1600)],
        ['the header of a mail', 'Subject: you won\n\nBcc: a@b.example'],
        ['markup', '<script>alert(1)</script> & =?utf-8?q?a?= =3D'],
        ['form letters', 'a+b & c=d %20 100%'],
      ])('leaves the text as it is: %s', async (_what, Body) => {
        expect((await send(app, { To: inbox.phoneNumber, Body })).body).toMatchObject({ body: Body });
        expect((await newest()).text).toBe(Body);
      });

    if (isOnce)
      it.each([
        ['160 letters of GSM', 'a'.repeat(160), '1'],
        ['161 letters of GSM', 'a'.repeat(161), '2'],
        ['letters that count twice', '€'.repeat(81), '2'],
        ['70 other letters', 'ж'.repeat(70), '1'],
        ['71 other letters', 'ж'.repeat(71), '2'],
        ['emoji', '😀'.repeat(36), '2'],
      ])('counts segments as Twilio does: %s', async (_what, Body, count) => {
        expect((await send(app, { To: inbox.phoneNumber, Body })).body.num_segments).toBe(count);
      });

    it('puts the addresses of pictures after the text and fetches none', async () => {
      const MediaUrl = [`http://127.0.0.1:${receiver.port}/a.png`, 'https://shop.example/b.png'];
      const sent = await send(app, { To: inbox.phoneNumber, Body: 'Look', MediaUrl });
      expect(sent.body).toMatchObject({ num_media: '2', body: 'Look' });
      expect((await newest()).text).toBe(`Look\n${MediaUrl.join('\n')}`);
      const bare = await send(app, { To: inbox.phoneNumber, Body: undefined, MediaUrl: MediaUrl[1] });
      expect(bare.status).toBe(201);
      expect((await newest()).text).toBe(MediaUrl[1]);
      expect(receiver.requests).toEqual([]);
    });

    it('takes numbers as people write them, sender names, short codes and messaging services', async () => {
      const [, area, line] = /^\+1(\d{3})555(\d{4})$/.exec(inbox.phoneNumber) ?? [];
      expect((await send(app, { To: `+1 (${area}) 555-${line}` })).body.to).toBe(inbox.phoneNumber);
      for (const From of ['My Shop', '12345']) {
        expect((await send(app, { To: inbox.phoneNumber, From })).status).toBe(201);
        expect((await newest()).from.name).toBe(From);
      }
      const fields = { To: inbox.phoneNumber, From: undefined, MessagingServiceSid: SERVICE };
      const sent = await send(app, { ...fields, StatusCallback: 'https://shop.example/status' });
      const accepted = { status: 'accepted', from: null, messaging_service_sid: SERVICE };
      expect(sent.body).toMatchObject(accepted);
      expect((await newest()).from.name).toMatch(/^\+1\d{10}$/);
    });

    it('shows a message that was sent to its sender alone', async () => {
      const { body: sent } = await send(app, { To: inbox.phoneNumber });
      const shown = await ask(servers.last(), 'GET', `/Messages/${sent.sid}.json`);
      const delivered = { sid: sent.sid, status: 'delivered', to: inbox.phoneNumber };
      expect(shown).toMatchObject({ status: 200, body: delivered });
      expect(shown.body.date_sent).toBe(sent.date_created);
      for (const key of [foreign, inbox.token]) {
        const hidden = await ask(app, 'GET', `/Messages/${sent.sid}.json`, {}, key);
        expect(hidden).toMatchObject({ status: 404, body: { code: 20404, status: 404 } });
      }
    });
  });

  describe("errors in Twilio's shape", () => {
    it('is 401 and 20003 for a wrong key', async () => {
      const more_info = 'https://www.twilio.com/docs/errors/20003';
      const body = { code: 20003, status: 401, message: expect.any(String), more_info };
      for (const key of ['', 'mfk_wrong', 'dev'])
        expect(await send(app, { To: inbox.phoneNumber }, key)).toMatchObject({ status: 401, body });
    });

    const SCHEDULED = { MessagingServiceSid: SERVICE, ScheduleType: 'fixed' };
    const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
    if (isOnce)
      it.each<[string, Fields, number, string]>([
        ['no recipient', { To: undefined }, 21604, "'To'"],
        ['a recipient that is no number', { To: 'ada@mayfly.test' }, 21211, 'ada@mayfly.test'],
        ['a number without its country', { To: '5125550123' }, 21211, '+'],
        ['WhatsApp', { To: 'whatsapp:+15125550123' }, 21211, 'whatsapp:'],
        ['a number with a line end', { To: '+15125550123\r\nBcc: a@b.example' }, 21211, 'phone number'],
        ['a number of endless length', { To: `+1${'5'.repeat(100_000)}` }, 21211, 'phone number'],
        ['no sender', { From: undefined }, 21603, "'From'"],
        ['a sender that is none', { From: '<script>' }, 21212, '<script>'],
        ['a sender with a line end', { From: 'a\nb' }, 21212, 'From'],
        ['a service that is none', { MessagingServiceSid: 'MG1' }, 21701, 'MG1'],
        ['no text', { Body: undefined }, 21602, 'required'],
        ['an empty text', { Body: '' }, 21602, 'required'],
        ['a text that is too long', { Body: 'x'.repeat(1601) }, 21617, '1600'],
        ['a picture that is no URL', { MediaUrl: 'file:///etc/passwd' }, 21620, 'file:///etc/passwd'],
        ['eleven pictures', { MediaUrl: Array(11).fill('https://a.example/') }, 21623, '10'],
        ['a content template', { ContentSid: `HX${'0'.repeat(32)}` }, 21655, 'Body'],
        ['a time that is none', { ...SCHEDULED, SendAt: 'soon' }, 35114, 'soon'],
        ['a time that is too near', { ...SCHEDULED, SendAt: inMs(14 * MINUTE) }, 35114, '15 minutes'],
        ['a time that is too far', { ...SCHEDULED, SendAt: inMs(36 * DAY) }, 35114, '35 days'],
        ['a time without ScheduleType', { MessagingServiceSid: SERVICE, SendAt: inMs(DAY) }, 20001, 'fixed'],
        [
          'a time without a service',
          { ScheduleType: 'fixed', SendAt: inMs(DAY) },
          20001,
          'MessagingServiceSid',
        ],
      ])('is 400 for %s', async (_what, wrong, code, message) => {
        const answer = await send(app, { To: inbox.phoneNumber, ...wrong });
        expect(answer).toMatchObject({ status: 400, body: { code, status: 400 } });
        expect(answer.body.message).toContain(message);
        expect(answer.body.message.length).toBeLessThan(500);
        expect(await app.messages(inbox)).toEqual([]);
      });

    it('is 21608 for a number that no inbox has, the same for one of another account, and a wait explains it', async () => {
      const theirs = await app.api('POST', '/v1/inboxes', { as: foreign, body: { sms: true } });
      const known = theirs.body.phoneNumber as string;
      const none = inbox.phoneNumber.replace(/\d$/, (digit: string) => String((Number(digit) + 1) % 10));
      const [one, two] = [await send(app, { To: known }), await send(app, { To: none })];
      expect(two).toMatchObject({ status: 400, body: { code: 21608 } });
      expect(two.body.message).toContain('No inbox of this account');
      expect(two.body.message).toContain('"sms": true');
      expect(JSON.stringify(one.body).replaceAll(known, none)).toBe(JSON.stringify(two.body));
      expect(await app.messages(theirs.body, '', foreign)).toEqual([]);
      const { body: waited } = await app.api('POST', at('/wait'), { body: { timeoutSeconds: 0 } });
      expect(JSON.stringify(waited.explanation)).toContain(none.slice(1));
    });

    it('is what a fault rule says, with any code of Twilio', async () => {
      const rules = [
        { at: 'api', reply: { code: 429, text: 'Too many requests' } },
        { at: 'api', reply: { code: 400, text: '21610 Attempt to send to unsubscribed recipient' } },
        { at: 'api', reply: { code: 503, text: 'Down' } },
      ];
      await app.api('PUT', at('/faults'), { body: { rules } });
      const answers = [];
      for (let n = 0; n < 4; n++) answers.push(await send(app, { To: inbox.phoneNumber }));
      expect(answers.map(({ status, body }) => [status, body.code, body.message ?? body.status])).toEqual([
        [429, 20429, 'Too many requests'],
        [400, 21610, 'Attempt to send to unsubscribed recipient'],
        [503, 20503, 'Down'],
        [201, undefined, 'queued'],
      ]);
      expect(await app.messages(inbox)).toHaveLength(1);
    });

    it('is 20404 for what Mayfly does not have', async () => {
      for (const [method, path] of [
        ['POST', '/Calls.json'],
        ['GET', '/Messages/SM1.json'],
        ['POST', '/Messages/__proto__.json'],
      ] as const)
        expect(await ask(app, method, path)).toMatchObject({ status: 404, body: { code: 20404 } });
    });
  });

  describe('scheduled', () => {
    const later = (minutes: number) => ({
      ...{ To: inbox.phoneNumber, MessagingServiceSid: SERVICE, ScheduleType: 'fixed' },
      SendAt: new Date(Date.now() + minutes * MINUTE).toISOString(),
    });
    const statusOf = async (sid: string) =>
      (await ask(servers.last(), 'GET', `/Messages/${sid}.json`)).body.status;
    const cancel = (sid: string, key?: string) =>
      ask(servers.last(), 'POST', `/Messages/${sid}.json`, { Status: 'canceled' }, key);

    it('messages are held until their time or an advance', async () => {
      const { status, body } = await send(app, later(60));
      expect([status, body.status]).toEqual([201, 'scheduled']);
      expect([await app.messages(inbox), await statusOf(body.sid)]).toEqual([[], 'scheduled']);
      await app.api('POST', at('/advance'), { body: { minutes: 61 } });
      expect((await newest()).text).toBe('Your code is 482913');
    });

    it('messages are cancelled by their sender, once, and never come', async () => {
      const { body } = await send(app, later(60));
      expect((await cancel(body.sid, foreign)).status).toBe(404);
      const answers = await Promise.all([cancel(body.sid), cancel(body.sid)]);
      expect(answers.toSorted((one, two) => one.status - two.status)).toMatchObject([
        { status: 200, body: { status: 'canceled' } },
        { status: 400, body: { code: 30409 } },
      ]);
      expect(await statusOf(body.sid)).toBe('canceled');
      const advanced = await app.api('POST', at('/advance'), { body: { minutes: 120 } });
      expect(advanced.body).toEqual({ released: 0 });
      const { body: now } = await send(app, { To: inbox.phoneNumber });
      expect(await cancel(now.sid)).toMatchObject({ status: 400, body: { code: 30409 } });
      expect(await app.messages(inbox)).toHaveLength(1);
    });

    it('messages can only be cancelled, not changed', async () => {
      const { body } = await send(app, later(60));
      const changed = await ask(app, 'POST', `/Messages/${body.sid}.json`, { Body: '' });
      expect(changed).toMatchObject({ status: 400, body: { code: 20001 } });
      expect(await statusOf(body.sid)).toBe('scheduled');
    });
  });

  describe('what comes back', () => {
    let verification: Record<string, string>;
    const hook = (path: string) => `http://127.0.0.1:${receiver.port}${path}`;
    const setUrls = async (body: object) => {
      ({ verification } = (await app.api('PUT', '/v1/providers/twilio', { body })).body);
    };
    beforeEach(() => setUrls({ webhookUrl: hook('/status?app=1'), inboundUrl: hook('/sms') }));
    const sentBack = async (): Promise<Body[]> => (await app.api('GET', at('/sent'))).body.sent;

    /** The next request, whose signature is checked as https://www.twilio.com/docs/usage/security says. */
    async function posted(path: string): Promise<Record<string, string>> {
      await expect.poll(() => receiver.requests).toHaveLength(1);
      const [request] = receiver.requests;
      expect(request?.path).toBe(path);
      expect(request?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
      const form = Object.fromEntries(new URLSearchParams(request?.body.toString()));
      const fields = Object.entries(form).toSorted(([one], [two]) => (one < two ? -1 : 1));
      const hmac = createHmac('sha1', verification.authToken ?? '').update(
        hook(path) + fields.flat().join(''),
      );
      expect(request?.headers['x-twilio-signature']).toBe(hmac.digest('base64'));
      return form;
    }

    it.each([
      ['bounce', 'undelivered', '30005'],
      ['soft-bounce', 'undelivered', '30003'],
    ])('is a signed status callback for the outcome %s', async (outcome, status, code) => {
      await app.api('PUT', at('/outcomes'), { body: { rules: [{ outcome }] } });
      const { body: sent } = await send(app, { To: inbox.phoneNumber, From: 'Grose' });
      await send(app, { To: inbox.phoneNumber });
      expect(await posted('/status?app=1')).toEqual({
        ...{ MessageSid: sent.sid, SmsSid: sent.sid, AccountSid: ACCOUNT, ApiVersion: '2010-04-01' },
        ...{ From: 'Grose', To: inbox.phoneNumber, MessageStatus: status, SmsStatus: status },
        ErrorCode: code,
      });
    });

    it.each(['complaint', 'delay', 'unsubscribe'])(
      'is nothing for the outcome %s, of which Twilio has no event',
      async (outcome) => {
        await app.api('PUT', at('/outcomes'), { body: { rules: [{ outcome }] } });
        await send(app, { To: inbox.phoneNumber });
        const error = `Twilio has no event for the outcome ${outcome}.`;
        await expect.poll(sentBack).toMatchObject([{ state: 'cancelled', error }]);
        expect(receiver.requests).toEqual([]);
      },
    );

    const reply = async (body: object, of = inbox) => {
      const [message] = await app.messages(of);
      return app.api('POST', at(`/messages/${message.id}/reply`, of), { body });
    };

    it('is a signed inbound message for a reply', async () => {
      await send(app, { To: inbox.phoneNumber });
      const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: btoa('attached') }];
      expect((await reply({ text: 'STOP 😀 &+', attachments })).status).toBe(201);
      const form = await posted('/sms');
      expect(form).toEqual({
        ...{ From: inbox.phoneNumber, To: FROM, Body: 'STOP 😀 &+', NumMedia: '1', NumSegments: '1' },
        ...{ MessageSid: expect.stringMatching(/^SM[0-9a-f]{32}$/), ApiVersion: '2010-04-01' },
        ...{ SmsSid: form.MessageSid, SmsMessageSid: form.MessageSid, SmsStatus: 'received' },
        AccountSid: verification.accountSid,
        MediaContentType0: 'text/plain',
        MediaUrl0: `data:text/plain;base64,${btoa('attached')}`,
      });
      expect(await sentBack()).toMatchObject([{ type: 'reply', via: 'twilio', text: 'STOP 😀 &+' }]);
    });

    it('comes from the number that the application knows, also for the inbox of a read token', async () => {
      const own = (await app.createInbox()) as Body;
      await send(app, { To: '+4915112345678', From: 'My Shop' }, own.token);
      await reply({ text: 'Hi' }, own);
      expect(await posted('/sms')).toMatchObject({ From: '+4915112345678', To: 'My Shop', Body: 'Hi' });
    });

    it('says which setting is missing', async () => {
      await setUrls({});
      await send(app, { To: inbox.phoneNumber });
      await reply({ text: 'Hi' });
      const error = 'There is no "inboundUrl" for Twilio. Set it with PUT /v1/providers/twilio.';
      await expect.poll(sentBack).toMatchObject([{ state: 'failed', error }]);
    });
  });

  it('is in an export, and an import of it', async () => {
    await send(app, { To: inbox.phoneNumber });
    const { text } = await newest();
    const { bytes: archive } = await app.api('GET', at('/export'));
    const upload = { body: archive, headers: { 'content-type': 'application/zip' } };
    const imported = await app.api('POST', '/v1/inboxes/import', upload);
    expect(imported.body).toMatchObject({ phoneNumber: null, recordedMessages: 1 });
    expect(await newest(imported.body)).toMatchObject({ text, envelope: { via: 'twilio' } });
  });
});
