import { expect, it } from 'vitest';
import { TEST_KEY, useApp } from '../support/start-app.ts';
import refusals from './refusals.json' with { type: 'json' };
import { newInbox, SDKS, type SdkName } from './sdks.ts';

const app = useApp({ MAYFLY_DOMAINS: 'mayfly.test' });

/** What the application sees of the error that an SDK throws for a mail with something wrong. */
const refusalOf = async (sdk: SdkName, wrong: Record<string, unknown>, key = TEST_KEY) => {
  const error = await SDKS[sdk].send(app.url, key, wrong).then(
    () => expect.fail('was accepted'),
    (thrown) => thrown,
  );
  return SDKS[sdk].seen(error);
};

type Row<Refusal extends unknown[]> = [what: string, wrong: Record<string, unknown>, ...refusal: Refusal];
const CASES = refusals as unknown as {
  sendgrid: Row<[field: string, message: string]>[];
  postmark: Row<[code: number, message: string]>[];
  mailgun: Row<[message: string]>[];
};
const says = (message: string) => ({ message: expect.stringContaining(message) });

it.each(CASES.sendgrid)(
  'SendGrid answers 400 with the field for %s',
  async (_what, wrong, field, message) => {
    const refusal = { status: 400, field: expect.stringContaining(field), ...says(message) };
    expect(await refusalOf('sendgrid', wrong)).toMatchObject(refusal);
  },
);

it.each(CASES.postmark)('Postmark answers 422 with a code for %s', async (_what, wrong, code, message) => {
  expect(await refusalOf('postmark', wrong)).toMatchObject({ status: 422, code, ...says(message) });
});

it.each(CASES.mailgun)('Mailgun answers 400 with a message for %s', async (_what, wrong, message) => {
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
