import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mayfly } from '@mayfly/client';
import { start } from '../app.js';

const mayfly = new Mayfly();
let publicKey = '';
let server;
let url;

const ask = async (path, body) => {
  const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

/** Until the event has come. */
const becomes = async (email, state) => {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const guest = await ask('/guest', { email });
    if (guest.state === state) return;
    assert.ok(Date.now() < deadline, `${email} is ${guest.state} and not ${state}`);
    await sleep(50);
  }
};

before(async () => {
  server = await start({ apiKey: `SG.${process.env.MAYFLY_API_KEY ?? 'dev'}`, publicKey: () => publicKey });
  url = `http://127.0.0.1:${server.address().port}`;
  const settings = await mayfly.setProvider('sendgrid', { webhookUrl: `${url}/webhooks/sendgrid` });
  publicKey = settings.verification.publicKey;
});
after(() => server.close());

test('a guest whose mailbox does not exist is not invited again', async () => {
  const inbox = await mayfly.createInbox();
  await inbox.bounceNext();
  assert.deepEqual(await ask('/invite', { email: inbox.address }), { sent: true, state: 'invited' });
  await becomes(inbox.address, 'unreachable');
  assert.deepEqual(await ask('/invite', { email: inbox.address }), { sent: false, state: 'unreachable' });
});

test('a guest whose mailbox is full is invited again', async () => {
  const inbox = await mayfly.createInbox();
  await inbox.setOutcomes([{ outcome: 'soft-bounce' }]);
  await ask('/invite', { email: inbox.address });
  await becomes(inbox.address, 'retrying');
  assert.equal((await ask('/invite', { email: inbox.address })).sent, true);
});

test('a guest who reports the invitation as spam gets no other', async () => {
  const inbox = await mayfly.createInbox();
  await inbox.setOutcomes([{ outcome: 'complaint' }]);
  await ask('/invite', { email: inbox.address });
  await becomes(inbox.address, 'unwilling');
  assert.equal((await ask('/invite', { email: inbox.address })).sent, false);
});
