import { afterAll, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { newInbox, SDKS, type SdkName } from './sdks.ts';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
afterAll(() => app.stop());

const TO = 'ada@mayfly.test';

/** What the application sees of the error that an SDK throws for a mail with something wrong. */
const refusalOf = async (sdk: SdkName, wrong: Record<string, unknown>, key = TEST_KEY) => {
  const error = await SDKS[sdk].send(app.url, key, wrong).then(
    () => expect.fail('was accepted'),
    (thrown) => thrown,
  );
  return SDKS[sdk].seen(error);
};

const says = (message: string) => ({ message: expect.stringContaining(message) });
const LINE_BREAK = 'b\r\nBcc: c@d.example';
const BAD_FILE = { content: '§', filename: 'a' };
const NOBODY = 'nobody@mayfly.test';

it.each([
  ['an invalid address', { to: 'ada@@example' }, 'personalizations.0.to.0.email', 'a valid address.'],
  ['an address of no inbox', { to: NOBODY }, 'personalizations.0.to', 'No inbox of this account'],
  ['a recipient twice', { cc: 'Ada@mayfly.test' }, 'personalizations.0', 'should be unique'],
  ['a reserved header', { headers: { Subject: 'x' } }, 'headers', 'reserved'],
  ['a header with a line break', { headers: { 'X-A': LINE_BREAK } }, 'headers', 'line breaks'],
  ['an attachment not in base64', { attachments: [BAD_FILE] }, 'attachments.0.content', 'base64'],
  ['a time too far ahead', { sendAt: 4_000_000_000 }, 'send_at', '72 hours'],
  ['a template that is not there', { templateId: 'd-no' }, 'template_id', 'POST /v3/templates'],
])('SendGrid answers 400 with the field for %s', async (_what, wrong, field, message) => {
  const refusal = { status: 400, field: expect.stringContaining(field), ...says(message) };
  expect(await refusalOf('sendgrid', wrong)).toMatchObject(refusal);
});

it.each([
  ['an invalid recipient', { To: 'ada@@example' }, 300, "Invalid 'To' address"],
  ['an invalid sender', { From: 'shop' }, 300, "Invalid 'From' address"],
  ['no recipient', { To: '' }, 300, 'Zero recipients specified'],
  ['no body', { TextBody: '' }, 300, 'Provide either email TextBody or HtmlBody or both.'],
  ['51 recipients', { To: Array(51).fill(TO).join(',') }, 300, 'limited to 50'],
  ['an address of no inbox', { To: NOBODY }, 412, 'No inbox of this account'],
  ['a program as attachment', { Attachments: [{ Name: 'a.exe', Content: '' }] }, 411, 'a.exe'],
  ['an attachment not in base64', { Attachments: [{ Name: 'a', Content: '§' }] }, 300, 'base64'],
  ['a header with a line break', { Headers: [{ Name: 'X-A', Value: LINE_BREAK }] }, 300, 'X-A'],
])('Postmark answers 422 with a code for %s', async (_what, wrong, code, message) => {
  expect(await refusalOf('postmark', wrong)).toMatchObject({ status: 422, code, ...says(message) });
});

it.each([
  ['an invalid recipient', { to: 'ada@@example' }, "'to' parameter is not a valid address. please check"],
  ['no sender', { from: '' }, "'from' parameter is missing"],
  ['no body', { text: '' }, "Need at least one of 'text', 'html', 'amp-html' or 'template' parameters"],
  ['an address of no inbox', { to: NOBODY }, 'No inbox of this account'],
  ['an unknown template', { template: 'unknown' }, 'POST /v3/mg.example.com/templates'],
  ['a time that is none', { 'o:deliverytime': 'soon' }, 'o:deliverytime'],
  ['variables that are no JSON', { 'recipient-variables': '{' }, 'recipient-variables'],
  ['a header with a line break', { 'h:X-A': LINE_BREAK }, 'h:X-A'],
])('Mailgun answers 400 with a message for %s', async (_what, wrong, message) => {
  expect(await refusalOf('mailgun', wrong)).toMatchObject({ status: 400, ...says(message) });
});

const KEY_IS_INVALID = /^API key is invalid\. .*the key "dev"/;
it.each<[SdkName, object]>([
  ['sendgrid', { status: 401, field: null, ...says('grant is invalid, expired, or revoked') }],
  ['postmark', { status: 401, name: 'InvalidAPIKeyError', code: 10 }],
  ['mailgun', { status: 401, message: expect.stringMatching(/^Forbidden\. .*the key "dev"/) }],
  ['resend', { status: 403, name: 'invalid_api_key', message: expect.stringMatching(KEY_IS_INVALID) }],
  ['ses', { status: 403, name: 'InvalidClientTokenId', ...says('The security token included in') }],
  ['sesv2', { status: 403, name: 'UnrecognizedClientException' }],
])('%s is told about a wrong key', async (sdk, refusal) => {
  const ofProvider = { mailgun: 'key-wrong', resend: 're_wrong' };
  const key = sdk === 'mailgun' || sdk === 'resend' ? ofProvider[sdk] : 'mfk_wrong';
  expect(await refusalOf(sdk, {}, key)).toMatchObject(refusal);
});

it.each<[SdkName, object]>([
  ['sendgrid', { status: 429, message: 'Slow down' }],
  ['postmark', { name: 'RateLimitExceededError', code: 429 }],
  ['mailgun', { status: 429, message: 'Slow down' }],
  ['resend', { status: 429, name: 'rate_limit_exceeded', message: 'Slow down' }],
  ['ses', { status: 400, name: 'Throttling', message: 'Slow down' }],
  ['sesv2', { status: 429, name: 'TooManyRequestsException' }],
])('%s meets the rate limit of a fault rule exactly as often as it says', async (sdk, refusal) => {
  const inbox = await newInbox(app);
  await inbox.limitOnce('Slow down');
  const mail = { [SDKS[sdk].to]: inbox.address };
  expect(await refusalOf(sdk, mail)).toMatchObject(refusal);
  expect(await inbox.messages()).toEqual([]);
  await SDKS[sdk].send(app.url, TEST_KEY, mail);
  await inbox.only();
});
