import { expect, it } from 'vitest';
import { TEST_KEY, useApp } from '../support/start-app.ts';

const app = useApp({ MAYFLY_DOMAINS: 'mayfly.test' });

const TEXT = expect.any(String);
const BEARER = { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' };
const BASIC = { authorization: `Basic ${btoa(`api:${TEST_KEY}`)}` };
const AWS = { authorization: `AWS4-HMAC-SHA256 Credential=${TEST_KEY}/20260101/us-east-1/ses/aws4_request` };
const FORM = 'application/x-www-form-urlencoded';
const PARTS = 'multipart/form-data; boundary=x';
const HALF_A_FORM = '--x\r\nContent-Disposition: form-data; name="to"\r\n\r\n';

type Refusing = [headers: Record<string, string>, statuses: number[], refusal: unknown, bodies: string[]];

/** By path: the header fields of a request, what a refusal looks like, and the bodies that are refused. */
const OF_JSON: Record<string, Refusing> = {
  'sendgrid/v3/mail/send': [
    BEARER,
    [400, 413],
    { errors: expect.arrayContaining([expect.objectContaining({ message: TEXT, help: null })]) },
    [
      ...['not json', '[]', '{"__proto__":{"from":{"email":"a@b.example"}}}'],
      '{"personalizations":"x","from":5,"content":{"type":[]},"headers":7,"attachments":[null]}',
      '{"personalizations":[null],"from":{"email":"a@b.example"},"subject":"x","content":[null]}',
      // Substitutions that explode.
      `{"from":{"email":"a@b.example"},"subject":"x","content":[{"type":"text/plain","value":"${'a'.repeat(900_000)}"}],"personalizations":[{"to":[{"email":"a@mayfly.test"}],"substitutions":{"a":"${'b'.repeat(9_000)}"}}]}`,
    ],
  ],
  'postmark/email': [
    { 'x-postmark-server-token': TEST_KEY, 'content-type': 'application/json' },
    [422],
    { ErrorCode: expect.any(Number), Message: TEXT },
    ['', 'not json', '7', '[]', 'null', '{"From":7,"To":{},"Headers":[1],"Attachments":"x"}'],
  ],
  ...Object.fromEntries(
    ['resend/emails', 'resend/emails/batch', 'resend/templates'].map((path) => [
      path,
      [
        BEARER,
        [422],
        expect.objectContaining({ statusCode: 422, message: TEXT }),
        ['', '{', '[]', '"x"', 'null', '{"to":{}}', '{"from":1,"to":[[]],"subject":{},"text":[]}'],
      ],
    ]),
  ),
  'ses/v2/email/outbound-emails': [
    AWS,
    [400],
    expect.objectContaining({ message: TEXT }),
    ['[]', '{', '1', '{"Content":{"Simple":[]}}', '{"Content":{"Raw":{"Data":5}}}', '{"Content":1}'],
  ],
};

const ask = (path: string, headers: Record<string, string>, body: string) =>
  app.api('POST', `/providers/${path}`, { as: null, headers, body });

it.each(
  Object.entries(OF_JSON).flatMap(([path, [headers, statuses, refusal, bodies]]) =>
    bodies.map((body) => [path, body, { headers, statuses, refusal }] as const),
  ),
)(
  '%s refuses the body %.60s in the shape of the provider',
  async (path, body, { headers, statuses, refusal }) => {
    const answer = await ask(path, headers, body);
    expect(statuses).toContain(answer.status);
    expect(answer.body).toEqual(refusal);
  },
);

const TWILIO = 'twilio/2010-04-01/Accounts/AC1/Messages.json';
const MAILGUN = 'mailgun/v3/mg.example.com/messages';
/** The recipient's variables that are put into each other. */
const EXPLOSION = new URLSearchParams({
  ...{ from: 'a@b.example', to: 'a@mayfly.test', text: '%recipient.a%'.repeat(60_000) },
  'recipient-variables': JSON.stringify({ 'a@mayfly.test': { a: '%recipient.b%'.repeat(20_000) } }),
}).toString();

it.each([
  [MAILGUN, 'nothing', PARTS, ''],
  [MAILGUN, 'no form', PARTS, 'not a form'],
  [MAILGUN, 'JSON', 'application/json', '{"from":"a@b.example"}'],
  [MAILGUN, 'more parts than a form has', PARTS, '--x\r\n'.repeat(500_000)],
  [MAILGUN, 'more fields than a form has', FORM, 'a=b&'.repeat(500_000)],
  [MAILGUN, 'an encoded form that is too large', FORM, 'a=%20'.repeat(1_000_000)],
  [MAILGUN, 'half a form', PARTS, HALF_A_FORM],
  [MAILGUN, 'substitutions that explode', FORM, EXPLOSION],
  [TWILIO, 'nothing', FORM, ''],
  [TWILIO, 'JSON', 'application/json', '{"To":"+15125550123"}'],
  [TWILIO, 'more fields than a form has', FORM, 'a=b&'.repeat(500_000)],
  [TWILIO, 'half a form', PARTS, HALF_A_FORM],
])('%s refuses %s with a message', async (path, _what, type, body) => {
  const answer = await ask(path, { ...BASIC, 'content-type': type }, body);
  expect([400, 413]).toContain(answer.status);
  expect(answer.body).toMatchObject({
    message: TEXT,
    ...(path === TWILIO && { code: expect.any(Number) }),
  });
});

it.each([
  '',
  'Action=constructor',
  'Action=__proto__',
  'Action=SendEmail&Source.member.1=x',
  'Action=SendEmail&__proto__.a=b&Source=a@b.c&Destination=x',
  `Action=SendEmail&${'a.'.repeat(1_000)}=b`,
  `Action=SendRawEmail&RawMessage.Data=${'a=b&'.repeat(5_000)}`,
  'Action=SendRawEmail&RawMessage.Data=%25',
  `Action=GetTemplate&TemplateName=${encodeURIComponent('</x>\u0000<![CDATA[')}`,
])('Amazon SES answers the form %.60s with 400 and well-formed XML', async (body) => {
  const { status, body: text } = await ask('ses/', AWS, body);
  expect([status, text]).toEqual([400, expect.not.stringContaining('<!')]);
  expect(text).toMatch(/^<ErrorResponse xmlns="[^"]+"><Error><Type>Sender<\/Type><Code>\w+<\/Code>/);
});
