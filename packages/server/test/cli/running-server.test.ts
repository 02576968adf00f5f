import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databasePath } from '../../src/config/config.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useFolder } from '../support/folder.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';
import { makeAccount, type Operator, openOperator } from './operator.ts';

const PLANS = JSON.stringify({ free: { maxTtlMinutes: 30 } });

const folder = useFolder();
let clock: FakeClock;
let app: TestApp;
let operator: Operator;

/** The server on that folder, and an operator beside it. */
async function start(): Promise<void> {
  app = await startApp({ MAYFLY_PLANS: PLANS }, { clock }, folder());
  operator = await openOperator({ MAYFLY_PLANS: PLANS }, databasePath(folder()));
  // Later than the account of the first start: of one moment, chance says which is the first.
  operator.now = clock.now() + 1;
}

async function stop(): Promise<void> {
  await operator.close();
  await app.stop();
}

beforeAll(async () => {
  clock = new FakeClock();
  await start();
});
afterAll(() => stop());

const createInbox = (as: string, body: object = {}) => app.api('POST', '/v1/inboxes', { as, body });

describe('what the operator does beside a running server', () => {
  it('a leaked key is dead one second after it was revoked, and its account goes on with another', async () => {
    const { id, key } = await makeAccount(operator);
    const other = await operator.run('key', 'create', '--account', id);
    expect((await createInbox(key)).status).toBe(201);
    await operator.runWith(key, 'key', 'revoke', '-');
    await clock.advance(1000);
    expect((await createInbox(key)).status).toBe(401);
    expect((await createInbox(other)).status).toBe(201);
  });

  it('a new plan is in force one second after it was set', async () => {
    const { id, key } = await makeAccount(operator);
    expect((await createInbox(key, { ttlMinutes: 31 })).status).toBe(201);
    await operator.run('account', 'set-plan', id, 'free');
    await clock.advance(1000);
    expect((await createInbox(key, { ttlMinutes: 31 })).status).toBe(400);
    expect((await createInbox(key, { ttlMinutes: 30 })).status).toBe(201);
  });

  it("a domain takes its account's mail as soon as it is given, and none when it is taken away", async () => {
    const [owner, stranger] = [await makeAccount(operator), await makeAccount(operator)];
    await operator.run('domain', 'add', 'web.example', '--account', owner.id);
    const { body: inbox } = await createInbox(owner.key, { domain: 'web.example' });
    expect(inbox.address).toMatch(/@web\.example$/);
    expect((await createInbox(stranger.key, { domain: 'web.example' })).status).toBe(400);
    const mail = { from: 'a@b.example', to: inbox.address, subject: 'x', text: 'y' };
    expect(await app.send(mail)).toMatch(/^250/);

    await operator.run('domain', 'remove', 'web.example');
    await clock.advance(1000);
    await expect(app.send(mail)).rejects.toThrow(/550/);
  });

  it('a deleted account is refused within half a second, with its read tokens and its mail; what it holds open ends', async () => {
    const other = await app.createInbox();
    const { id, key } = await makeAccount(operator);
    const { body: inbox } = await app.api('POST', '/v1/inboxes', { as: key });
    const path = `/v1/inboxes/${inbox.id}`;
    const mail = { from: 'a@b.example', to: inbox.address, subject: 'x', text: 'y' };
    expect(await app.send(mail)).toMatch(/^250/);

    const before = clock.sleepers;
    const waits = [key, inbox.token].map((as) =>
      app.api('POST', `${path}/wait`, { as, body: { match: { subject: 'never' }, timeoutSeconds: 60 } }),
    );
    const stream = await fetch(`${app.url}/v1/events`, { headers: { authorization: `Bearer ${key}` } });
    await clock.untilSleeping(before + 3);
    operator.now = clock.now();
    await operator.run('account', 'delete', id, '--yes');

    await expect(app.send(mail)).rejects.toThrow(/550 5\.1\.1/);
    await clock.advance(500);
    for (const as of [key, inbox.token]) expect((await app.api('GET', path, { as })).status).toBe(401);
    await clock.advance(500);
    // A wait that is ended looks once more, and may find that there is no inbox.
    for (const { status } of await Promise.all(waits)) expect([401, 404]).toContain(status);
    expect(await stream.text()).toContain('The API key or token is unknown, revoked or expired');

    expect(await app.send({ ...mail, to: other.address })).toMatch(/^250/);
    expect((await app.api('GET', `/v1/inboxes/${other.id}`)).body.messageCount).toBe(1);
  });

  it('a deleted first account does not keep the server from starting again, nor comes back by its setting', async () => {
    const [first] = await operator.json('account', 'list');
    operator.now = clock.now() + 1;
    const next = await makeAccount(operator);
    await operator.run('account', 'delete', first.id, '--yes');
    await stop();
    await start();
    expect((await app.api('GET', '/v1/usage', { as: TEST_KEY })).status).toBe(401);
    expect((await app.api('GET', '/v1/usage', { as: next.key })).status).toBe(200);
  });
});
