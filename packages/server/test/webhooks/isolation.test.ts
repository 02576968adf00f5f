import { expect, it } from 'vitest';
import { ofTest } from '../support/started.ts';
import { startHttp, startTcp } from './receivers.ts';
import { startWebhookApp } from './start-webhooks.ts';

const DEAD = 120;
const MAILS = 10;

it('a healthy webhook among many that are dead or slow gets every event without waiting for their timeouts', async () => {
  const app = await ofTest(startWebhookApp());
  const healthy = await startHttp();
  // Accepts and never answers.
  const silent = await startTcp(() => undefined);
  const refusing = await startTcp();
  await refusing.close();
  for (let i = 0; i < DEAD; i++) await app.register((i % 2 === 0 ? silent : refusing).port);
  const webhook = await app.register(healthy.port);
  const inbox = await app.createInbox();
  const before = app.clock.now();
  for (let i = 0; i < MAILS; i++) await app.mail(inbox.address, `mail ${i}`);
  const isDelivered = ({ state }: { state: string }) => state === 'delivered';
  await app.untilDeliveries(webhook.id, (log) => log.length === MAILS && log.every(isDelivered));
  expect(app.clock.now()).toBe(before);
  // The silent ones hold one connection each, all the while.
  await expect.poll(() => silent.connections()).toBe(DEAD / 2);
  expect(healthy.requests).toHaveLength(MAILS);
  await silent.close();
  await healthy.close();
});

/** Where strangers may sign up, the error does not name the address. */
it.each([
  [{}, / has the address 10\.20\.0\.5, .* MAYFLY_WEBHOOK_ALLOW, .* 10\.20\.0\.5\/32\.$/],
  [
    { MAYFLY_SIGNUP_PLAN: 'free' },
    /^The host name "hook\.test" has an address that is not public\.(?!.*10\.20)/,
  ],
])('a name with a private address is refused by a server with the settings %o', async (env, sentence) => {
  // Stands for a public address; nothing is sent while the name has it.
  let addresses = ['93.184.215.14'];
  const settings = { MAYFLY_WEBHOOK_ALLOW: '', ...env };
  const app = await ofTest(startWebhookApp(settings, { resolve: async () => addresses }));
  const register = () => app.api('POST', '/v1/webhooks', { body: { url: 'http://hook.test:8080/' } });
  const { body: webhook } = await register();
  addresses = ['10.20.0.5'];
  expect((await register()).body.detail).toMatch(sentence);
  await app.api('POST', `/v1/webhooks/${webhook.id}/test`);
  const log = await app.untilDeliveries(webhook.id, ([one]) => one?.attempts.length === 1);
  expect(log[0]?.attempts).toMatchObject([{ status: null, error: { code: 'address_refused' } }]);
  expect(JSON.stringify(log)).not.toContain('10.20.0.5');
});
