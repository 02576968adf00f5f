import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { databasePath } from '../../src/config/config.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';
import { makeAccount, NOW, type Operator, openOperator } from './operator.ts';

describe('mayfly account delete', () => {
  let operator: Operator;
  beforeAll(async () => {
    operator = await openOperator();
  });
  afterAll(() => operator.close());

  it('without --yes only says what would go', async () => {
    const { id, name } = await makeAccount(operator);
    await operator.run('domain', 'add', 'web.example', '--account', id);
    const refused = operator.run('account', 'delete', id);
    await expect(refused).rejects.toThrow(ArgumentError);
    await expect(refused).rejects.toThrow(
      `This deletes account ${id} ("${name}") permanently: its 1 API key, its domains (web.example), its webhooks, its inboxes and all their messages. To delete it, run: mayfly account delete ${id} --yes`,
    );
    expect(await operator.store.accounts.find(id)).toBeDefined();
    expect(await operator.store.keys.list(id)).toHaveLength(1);
  });

  it('leaves the only account, which a server needs', async () => {
    const [only, ...others] = await operator.json('account', 'list');
    for (const { id } of others) await operator.run('account', 'delete', id, '--yes');
    await expect(operator.run('account', 'delete', only.id, '--yes')).rejects.toThrow('is the only one');
    expect(await operator.json('account', 'list')).toEqual([only]);
  });

  it('with --yes deletes it, by id or by name, and says so', async () => {
    // Later than the account that is left: of one moment, chance says which is the first.
    operator.now += 1;
    const [one, two] = [await makeAccount(operator), await makeAccount(operator)];
    expect(await operator.run('account', 'delete', one.name, '--yes')).toBe(
      `Deleted account ${one.id} ("${one.name}").\nA running server rejects its keys within a second.`,
    );
    await operator.run('account', 'delete', two.id, '--yes');
    const listed: { id: string }[] = await operator.json('account', 'list');
    expect(listed.map(({ id }) => id)).not.toContain(one.id);
    await expect(operator.run('account', 'delete', two.id, '--yes')).rejects.toThrow('No account has the id');
  });

  it('of the first account says which one MAYFLY_API_KEY opens now', async () => {
    const [first] = await operator.json('account', 'list');
    operator.now += 1;
    const next = await makeAccount(operator);
    await operator.store.keys.create({
      ...{ id: 'key_chosen', hash: 'h', accountId: first.id, name: 'x', scope: 'full', prefix: 'chos' },
      ...{ createdAt: NOW, expiresAt: null },
    });
    const said = await operator.run('account', 'delete', first.id, '--yes');
    expect(said).toContain('One of its keys was set by MAYFLY_API_KEY.');
    expect(said).toContain(
      `Now ${next.id} ("${next.name}") is the first, and a new MAYFLY_API_KEY is a key of that one.`,
    );
  });
});

describe('an account that the operator deletes beside a running server', () => {
  let folder: string;
  let clock: FakeClock;
  let app: TestApp;
  let operator: Operator;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mayfly-operator-'));
    clock = new FakeClock();
    app = await startApp({}, { clock }, folder);
    operator = await openOperator({}, databasePath(folder));
  });
  afterAll(async () => {
    await operator.close();
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is refused within half a second, with its read tokens and its mail; what it holds open ends', async () => {
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
    for (const as of [key, inbox.token]) {
      expect(await app.api('GET', path, { as })).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      });
    }
    expect((await app.api('POST', '/v1/inboxes', { as: key })).status).toBe(401);
    await clock.advance(500);
    // A wait that is ended looks once more, and may find that there is no inbox.
    for (const { status } of await Promise.all(waits)) expect([401, 404]).toContain(status);
    expect(await stream.text()).toContain('The API key or token is unknown, revoked or expired');

    expect(await app.send({ ...mail, to: other.address })).toMatch(/^250/);
    expect((await app.api('GET', `/v1/inboxes/${other.id}`)).body.messageCount).toBe(1);
  });

  it('does not keep the server from starting again, nor comes back by its setting', async () => {
    const [first] = await operator.json('account', 'list');
    operator.now = clock.now() + 1;
    const next = await makeAccount(operator);
    await operator.run('account', 'delete', first.id, '--yes');
    await app.stop();
    app = await startApp({}, { clock }, folder);
    expect((await app.api('GET', '/v1/usage', { as: TEST_KEY })).status).toBe(401);
    expect((await app.api('GET', '/v1/usage', { as: next.key })).status).toBe(200);
  });
});
