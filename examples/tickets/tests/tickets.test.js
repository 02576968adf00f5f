import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Mayfly } from '@mayfly/client';
import { start } from '../app.js';

const mayfly = new Mayfly();
let server;
let url;

const ask = async (path, body) => {
  const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

before(async () => {
  server = await start({ apiKey: process.env.MAYFLY_API_KEY ?? 'dev', webhookSecret: () => '' });
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

test('a new customer confirms the account with a code', async () => {
  const inbox = await mayfly.createInbox();
  await ask('/signup', { email: inbox.address });
  const code = await inbox.waitForCode({ subject: 'confirm' });
  assert.partialDeepStrictEqual(await ask('/confirm', { email: inbox.address, code }), { isConfirmed: true });
});
