import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mayfly } from '@mayfly/client';
import { start } from '../app.js';

const mayfly = new Mayfly();
let server;
let url;

/** A request to the application. */
const ask = async (path, body) => {
  const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

/** Asks the application again until it has noticed. */
const until = async (path, body, isDone) => {
  for (let i = 0; i < 100; i++) {
    const answer = await ask(path, body);
    if (isDone(answer)) return answer;
    await sleep(100);
  }
  assert.fail(`${path} did not change`);
};

before(async () => {
  let secret = '';
  server = await start({ apiKey: process.env.MAYFLY_API_KEY ?? 'dev', webhookSecret: () => secret });
  url = `http://127.0.0.1:${server.address().port}`;
  // What the dashboard of Resend is for: where events and replies are posted, and the secret that signs them.
  const hook = `${url}/webhooks/resend`;
  const { verification } = await mayfly.setProvider('resend', { webhookUrl: hook, inboundUrl: hook });
  secret = verification.signingSecret;
});
after(() => server.close());

test('a new customer confirms the account with a code', async () => {
  const inbox = await mayfly.createInbox();
  await ask('/signup', { email: inbox.address });
  const code = await inbox.waitForCode({ subject: 'confirm' });
  assert.partialDeepStrictEqual(await ask('/confirm', { email: inbox.address, code }), { isConfirmed: true });
});

test('the reply of a customer is a comment of the ticket', async () => {
  const inbox = await mayfly.createInbox();
  const { number } = await ask('/tickets', { email: inbox.address, question: 'Where is my parcel?' });
  const mail = await inbox.waitForMessage({ subject: `[#${number}]` });
  await mail.reply('It has just come.');
  const { comments } = await until('/ticket', { number }, (ticket) => ticket.comments.length === 2);
  assert.deepEqual(comments, ['Where is my parcel?', 'It has just come.']);
});

test('an address that bounces is not reachable', async () => {
  const inbox = await mayfly.createInbox();
  await inbox.bounceNext();
  await ask('/signup', { email: inbox.address });
  await until('/account', { email: inbox.address }, ({ isReachable }) => !isReachable);
});
