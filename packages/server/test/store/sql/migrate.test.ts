import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { afterEach, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import * as init from '../../../src/store/sql/migrations/0001-init.ts';
import * as webhooks from '../../../src/store/sql/migrations/0002-webhooks.ts';
import { openWriter } from '../../../src/store/sqlite/connection.ts';
import { kyselyOn, sqliteDialect } from '../../../src/store/sqlite/kysely.ts';
import { openSqlite } from '../../../src/store/sqlite/open.ts';
import { inboxAt, T } from '../builders.ts';
import { temporaryPath } from '../sqlite/open-sqlite.ts';

const { path, remove } = temporaryPath();
afterEach(remove);

it('a database from before there were many accounts is brought up to date with all that is in it', async () => {
  const db = kyselyOn(openWriter({ path, busyTimeoutMs: 1000 }));
  const migrations: Record<string, Migration> = {};
  for (const [name, { up }] of Object.entries({ '0001-init': init, '0002-webhooks': webhooks }))
    migrations[name] = { up: (tx) => up(tx, sqliteDialect) };
  const old = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  expect((await old.migrateToLatest()).error).toBeUndefined();
  const account = { id: newId('acc', T), name: 'first', plan: 'free', createdAt: T };
  const { createdAt: created_at, ...columns } = account;
  await db
    .insertInto('accounts')
    .values({ ...columns, name: '"first"', created_at })
    .execute();
  const key = { id: newId('key', T), name: 'k', scope: 'full' as const, prefix: 'mfk_' };
  await db
    .insertInto('keys')
    .values({ ...key, hash: 'h', name: '"k"', account_id: account.id, created_at, expires_at: null })
    .execute();
  // As it was written then: without a domain of its own.
  const rest = { mailFrom: '', helo: 'x', remoteAddress: '127.0.0.1', reply: '550 5.1.1 no' };
  const refused = { address: '"q@other.test"@mine-1.test', at: T };
  const row = [JSON.stringify(refused.address), T, JSON.stringify(rest)];
  await sql`insert into refusals (address, at, details) values (${sql.join(row)})`.execute(db);
  const inbox = inboxAt({ expiresAt: T + 1000 });
  const times = [T, inbox.expiresAt, inbox.maxExpiresAt, 0, 0, 1, 0];
  const values = [inbox.id, account.id, inbox.address, '{}', 'hash', 60, ...times];
  await sql`insert into inboxes (id, account_id, address, labels, token_hash, ttl_minutes, created_at, expires_at,
    max_expires_at, message_count, last_received_at, version, freed) values (${sql.join(values)})`.execute(
    db,
  );
  await sql`insert into addresses (address, account_id, inbox_id, busy_until, reserved_until)
    values (${sql.join([inbox.address, account.id, inbox.id, inbox.expiresAt, inbox.expiresAt])})`.execute(
    db,
  );
  await db.destroy();

  const store = await openSqlite({ path });
  const record = { ...key, accountId: account.id, createdAt: T, expiresAt: null };
  expect(await store.keys.findByHash('h', T)).toEqual({ key: record, account });
  await store.keys.used([{ keyId: key.id, at: T + 1 }]);
  expect(await store.keys.list(account.id)).toEqual([{ ...record, lastUsedAt: T + 1 }]);
  expect(await store.usage.lease(account.id, '2027-01', { want: 5, limit: 9 }, T)).toMatchObject({
    granted: 5,
  });
  expect(await store.inboxes.find(account.id, inbox.id, T)).toMatchObject({ kind: 'address' });
  expect(await store.inboxes.findByAddress(inbox.address, T)).toMatchObject({ kind: 'address' });
  expect(await store.refusals.list(refused.address, 9, T)).toEqual([{ ...refused, ...rest }]);
  const shown = () => store.refusals.listAddresses('acc_another', { after: 0, limit: 9 }, T);
  expect(await shown()).toEqual([{ ...refused, times: 1 }]);
  await store.domains.add({ domain: 'mine-1.test', accountId: account.id, createdAt: T });
  expect(await shown()).toEqual([]);
  await store.close();
});
