import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { inForm } from '../../support/form.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { startHttp } from '../../webhooks/receivers.ts';
import { createDatabase, queryPostgres } from './open-postgres.ts';

/** How often everything is used before an upgrade and after it. */
const USES = inForm(5, 15);

describe.skipIf(!(await hasPostgres()))('an upgrade of the tables in PostgreSQL', () => {
  /** What the next version may do to every table (the test of additive migrations holds it to that). */
  async function upgradeByNextVersion(url: string): Promise<void> {
    const all = "select tablename as name from pg_tables where schemaname = 'public'";
    const tables = await queryPostgres(url, `${all} and tablename <> 'schema_versions'`);
    for (const { name } of tables) {
      const columns = 'add column next_a text, add column next_b bigint default 0 not null';
      await queryPostgres(url, `alter table ${name} ${columns}`);
      await queryPostgres(url, `create index ${name}_next on ${name} (next_b)`);
    }
    await queryPostgres(url, 'create table next_things (id text primary key)');
    await queryPostgres(url, 'insert into schema_versions values (9999, 1)');
  }

  async function useEverything(app: TestApp, webhookUrl: string): Promise<void> {
    const inbox = await app.createInbox({ labels: { a: 'b' }, webhookUrl });
    const get = async (path: string) => {
      const { status, body } = await app.api('GET', path);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    await app.send({ from: 'a@example.org', to: inbox.address, subject: 'One', text: 'Hello.' });
    await expect(app.send({ from: 'a@example.org', to: 'nobody@mayfly.test' })).rejects.toThrow(/550/);
    const { messages } = await get(`/v1/inboxes/${inbox.id}/messages`);
    expect(messages).toHaveLength(1);
    await get(`/v1/inboxes/${inbox.id}/messages/${messages[0].id}`);
    await get(`/v1/inboxes/${inbox.id}/messages/${messages[0].id}/raw`);
    for (const path of ['inboxes', 'messages', 'keys', 'usage', 'domains', 'refusals'])
      await get(`/v1/${path}`);
    const { webhooks } = await get('/v1/webhooks');
    await get(`/v1/webhooks/${webhooks[0].id}/deliveries`);
    const key = await app.api('POST', '/v1/keys', { body: { name: 'k' } });
    expect(key.status).toBe(201);
    expect((await app.api('DELETE', `/v1/keys/${key.body.id}`)).status).toBe(204);
    expect((await app.api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
  }

  it('creates them once, however many servers start at the same time', async () => {
    const url = await createDatabase(await sharedPostgres());
    const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres({ url })));
    await Promise.all(stores.map((store) => store.close()));
    expect(await queryPostgres(url, 'select schema from schema_versions')).toEqual([{ schema: 1 }]);
  });

  it('leaves servers of the previous version working', async () => {
    const url = await createDatabase(await sharedPostgres());
    const receiver = await startHttp();
    const hook = `http://127.0.0.1:${receiver.port}/`;
    const app = await startApp({ MAYFLY_DATABASE_URL: url, MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
    const own = await app.api('POST', '/v1/webhooks', { body: { url: hook } });
    // PostgreSQL has planned each statement on each connection by then.
    for (let n = 0; n < USES; n++) await Promise.all([useEverything(app, hook), useEverything(app, hook)]);
    await upgradeByNextVersion(url);
    for (let n = 0; n < USES; n++) await Promise.all([useEverything(app, hook), useEverything(app, hook)]);
    const path = `/v1/webhooks/${own.body.id}/deliveries?limit=100`;
    const states = async () =>
      (await app.api('GET', path)).body.deliveries.map(({ state }: { state: string }) => state);
    // The inboxes were deleted: what was not delivered by then is cancelled.
    await expect.poll(states).not.toContain('pending');
    await app.send({ from: 'a@example.org', to: (await app.createInbox()).address, subject: 'Last' });
    await expect.poll(states).toContain('delivered');
    await app.stop();
    await receiver.close();
  });
});
