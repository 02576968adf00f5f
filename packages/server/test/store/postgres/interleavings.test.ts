import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createPool, postgresEngine } from '../../../src/database/postgres/connection.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { queue } from '../../../src/webhooks/sql/queue.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { withReadings } from '../../support/store-on.ts';
import { accountAt, inboxAt, mailsTo, mailTo, refusalOf, sweepAll, T, ttl, webhookAt } from '../builders.ts';
import { brokenInvariants } from '../invariants.ts';
import { createDatabase } from './open-postgres.ts';

const limits = { prompt: 100, other: 100, leaseMs: 60_000 };

/*
 * Each case stops one transaction in the middle by a lock that a third connection holds, lets another one run
 * until it ends or waits, and then goes on.
 */
describe.skipIf(!(await hasPostgres()))('two nodes on PostgreSQL that change the same things at once', () => {
  const owner = newId('acc', T);
  const another = newId('acc', T);
  let cluster: PostgresCluster;
  let url: string;
  let one: Store;
  let other: Store;
  let admin: Client;
  let inbox: InboxRecord;
  beforeAll(async () => {
    cluster = await startPostgres();
  });
  afterAll(() => cluster.remove());
  beforeEach(async () => {
    url = await createDatabase(cluster);
    one = withReadings(await openPostgres({ url }));
    other = withReadings(await openPostgres({ url }));
    admin = new Client(url);
    await admin.connect();
    for (const id of [owner, another]) await one.accounts.create({ ...accountAt(), id }, null);
    inbox = await inboxOf(owner);
  });
  afterEach(async () => {
    await admin.query('rollback');
    const select = async (sql: string) => (await admin.query(sql)).rows;
    const broken = await brokenInvariants(select, T + 1_000, false);
    await admin.end();
    await one.close();
    await other.close();
    expect(broken, 'invariants').toEqual([]);
  });

  const inboxOf = async (accountId: string, changes: Parameters<typeof inboxAt>[0] = {}) =>
    (await one.inboxes.create(accountId, inboxAt(changes), 10, null)).inbox;

  async function webhookOf(inboxId: string | null): Promise<string> {
    return (await one.webhooks.create(owner, webhookAt({ inboxId }), 9)).id;
  }

  /** How many statements wait for a lock. */
  async function waiting(): Promise<number> {
    // Not `pg_stat_activity`, which shows one state for the whole of a transaction.
    const { rows } = await admin.query('select count(*)::int as n from pg_locks where not granted');
    return rows[0].n;
  }

  /** Resolves when so many statements wait, or before, when the call ends. @returns whether it ended */
  async function untilWaits(call: Promise<unknown>, count: number): Promise<boolean> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    call.then(end, end);
    while (!isOver && (await waiting()) < count) await pause(1);
    return isOver;
  }

  /** Stops one call where it writes to a table, runs another one until it ends or waits, and lets both go on. */
  async function during<A, B>(
    table: 'messages' | 'inbox_labels',
    stopped: () => Promise<A>,
    other: () => Promise<B>,
  ): Promise<[A, B]> {
    await admin.query(`begin; lock table ${table} in share mode`);
    const first = stopped();
    await untilWaits(first, 1);
    const second = other();
    await untilWaits(second, 2);
    await admin.query('commit');
    return Promise.all([first, second]);
  }

  it('deletes an account to which a domain is being added', async () => {
    await admin.query(`begin; insert into domains values ('d.example', '${another}', ${T})`);
    const adding = one.domains.add({ domain: 'd.example', accountId: owner, createdAt: T });
    await untilWaits(adding, 1);
    const deleting = other.accounts.delete(owner, T);
    await untilWaits(deleting, 2);
    await admin.query('rollback');
    expect(await adding).toBe(true);
    expect(await deleting).toBe('deleted');
    expect(await one.domains.list(null)).toEqual([]);
  });

  it('takes no mail for an inbox of an account that is being deleted', async () => {
    // Its id is behind that of the other: the deletion has not locked it yet.
    const second = await inboxOf(owner, { createdAt: T + 1 });
    await admin.query(`begin; select id from inboxes where id = '${inbox.id}' for update`);
    const deleting = other.accounts.delete(owner, T);
    await untilWaits(deleting, 1);
    const [placed] = await one.messages.addBatch([mailTo([second])], T);
    expect(placed).toEqual([{ inboxId: second.id, accountId: owner, refused: 'gone' }]);
    await admin.query('commit');
    expect(await deleting).toBe('deleted');
    expect((await admin.query('select last::int from account_orders')).rows).toEqual([{ last: 0 }]);
  });

  it('deletes all of an account whose first mail is for an inbox that has ended, while that is being stored', async () => {
    const kept = await inboxOf(another);
    await one.inboxes.delete(owner, inbox.id, T);
    const adding = () => one.messages.addBatch([mailTo([inbox, kept])], T);
    const [added, deleted] = await during('messages', adding, () => other.accounts.delete(owner, T));
    expect(added.flat()).toMatchObject([{ refused: 'gone' }, { messageId: expect.any(String) }]);
    expect(deleted).toBe('deleted');
  });

  it('keeps the address of an inbox that is created while the sweeper removes an ended hold of it', async () => {
    const address = 'held@mayfly.test';
    await one.addresses.hold(owner, address, T + 1, T);
    const wanted = inboxAt({ address, createdAt: T + 10, labels: { run: '1' } });
    const creating = () => one.inboxes.create(owner, wanted, 10, null);
    await during('inbox_labels', creating, () => other.upkeep.sweep(T + 10, 100));
    const { ofAddress } = await one.inboxes.findTakers(address, T + 10);
    expect(ofAddress?.live).toMatchObject({ inboxId: wanted.id });
  });

  it.each(['an inbox', 'the account'])(
    'stores mail for which it has found a webhook of %s that is deleted meanwhile',
    async (of) => {
      const id = await webhookOf(of === 'an inbox' ? inbox.id : null);
      const adding = () => one.messages.addBatch([mailTo([inbox])], T);
      const [added] = await during('messages', adding, async () => {
        expect(await other.webhooks.delete(owner, id, T)).toBe(true);
        await sweepAll(other, T);
      });
      expect(added.flat()).toMatchObject([{ messageId: expect.any(String) }]);
      await sweepAll(other, T);
      for (const table of ['webhooks', 'deliveries'])
        expect((await admin.query(`select * from ${table}`)).rows).toEqual([]);
    },
  );

  it('deletes a webhook whose inbox is extended meanwhile', async () => {
    const webhook = await webhookOf(inbox.id);
    // As mail that is being stored does.
    await admin.query(`begin; select id from webhooks where id = '${webhook}' for key share`);
    const deleting = one.webhooks.delete(owner, webhook, T);
    await untilWaits(deleting, 1);
    await other.inboxes.setExpiry(owner, inbox.id, ttl(120), T);
    await admin.query('commit');
    expect(await deleting).toBe(true);
    await sweepAll(one, T);
    expect(await one.webhooks.find(owner, webhook, T)).toBeUndefined();
  });

  it('delays no message and no claim of other webhooks while one claims deliveries', async () => {
    const pool = createPool(url, () => undefined);
    onTestFinished(() => pool.end());
    const webhooks = [await webhookOf(null), await webhookOf(null), await webhookOf(null)];
    await one.messages.addBatch([mailTo([inbox])], T);
    // Takes the wakes of all three, and nothing else.
    await one.deliveries.claim({ ...limits, prompt: 0, other: 0 }, T);
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const claiming = postgresEngine(pool).transaction(async (tx) => {
      const claimed = await queue.claim.run(tx, { ...limits, other: 1 }, T);
      reached.resolve();
      await gate.promise;
      return claimed;
    });
    await reached.promise;
    // These wait for the lock for ever if the intake writes to rows of webhooks.
    const [[placed] = []] = await one.messages.addBatch([mailTo([inbox])], T);
    expect(placed).toMatchObject({ deliveries: 3 });
    const mine = await other.deliveries.claim(limits, T);
    expect(mine).toHaveLength(2);
    gate.resolve();
    const theirs = await claiming;
    expect(new Set([...theirs, ...mine].map(({ webhookId }) => webhookId)).size).toBe(3);
    // The wake of the locked webhook was left, and the message is not forgotten.
    await other.deliveries.claim(limits, T);
    const page = { limit: 9, before: null };
    for (const id of webhooks)
      expect((await one.deliveries.list(owner, id, page, T)).deliveries).toHaveLength(2);
    expect(await other.deliveries.claim(limits, T + limits.leaseMs)).toHaveLength(3);
  });

  it('claims no delivery that is cancelled meanwhile', async () => {
    const webhook = await webhookOf(null);
    await one.messages.addBatch([mailTo([inbox])], T);
    const deleting = () => one.inboxes.delete(owner, inbox.id, T).then(() => sweepAll(one, T));
    const [, claimed] = await during('messages', deleting, () => other.deliveries.claim(limits, T));
    expect(claimed).toEqual([]);
    const page = { limit: 9, before: null };
    const { deliveries } = await one.deliveries.list(owner, webhook, page, T);
    expect(deliveries).toMatchObject([{ state: 'cancelled', attempts: [] }]);
  });

  it('cancels all deliveries of a disabled webhook, also while an inbox ends that has some of them', async () => {
    const webhook = await webhookOf(null);
    const rest = await inboxOf(owner);
    await one.messages.addBatch([mailTo([inbox])], T);
    await one.messages.addBatch(mailsTo(150, [rest]), T + 1);
    await one.webhooks.update(owner, webhook, { enabled: false }, T + 1);
    const deleting = () => one.inboxes.delete(owner, inbox.id, T + 1).then(() => sweepAll(one, T + 1));
    await during('messages', deleting, () => other.deliveries.claim(limits, T + 1));
    await one.deliveries.claim(limits, T + 2);
    expect(await one.upkeep.measure(T + 2)).toMatchObject({ pendingDeliveries: 0 });
  });

  it('locks deliveries in the order of their ids, also when their inbox ends or their mails are read', async () => {
    const raw = await openPostgres({ url });
    const mails = mailsTo(40, [inbox]);
    for (let n = 0; n < 4; n++) await webhookOf(null);
    const sizes = mails.map((mail) => mail.raw.length);
    const placed = (await raw.messages.addBatch(mails, T)).flat();
    const sources = placed.map((place) => ('source' in place ? place.source : 0));
    // In another order than that of the ids, which is that of the mails.
    await admin.query('create temporary table moved as select * from deliveries; delete from deliveries');
    await admin.query('insert into deliveries select * from moved order by md5(id)');
    const { rows } = await admin.query('select id from deliveries order by id');
    const ids: string[] = rows.map(({ id }) => id);

    async function locksInOrder(change: () => Promise<unknown>): Promise<void> {
      await admin.query(`begin; select id from deliveries where id = '${ids[80]}' for no key update`);
      const changing = change();
      await untilWaits(changing, 1);
      const free = await admin.query('select id from deliveries order by id for no key update skip locked');
      expect(free.rows.map(({ id }) => id)).toEqual(ids.slice(80));
      await admin.query('rollback');
      await changing;
    }

    const readings = mails.map(({ reading }, index) => ({
      ...{ ...reading, source: sources[index] ?? 0, size: sizes[index] ?? 0 },
    }));
    await locksInOrder(() => raw.readings.keep(readings.toReversed()));
    await locksInOrder(() => raw.inboxes.delete(owner, inbox.id, T).then(() => sweepAll(raw, T)));
    await raw.close();
  });

  it('stores refusals without waiting for another node that deletes the oldest ones', async () => {
    const refusal = refusalOf('x@mayfly.test');
    await one.refusals.add(Array.from({ length: 50 }, () => refusal));
    await admin.query('begin; select seq from refusals for update');
    expect(await untilWaits(one.refusals.add([refusal]), 1)).toBe(true);
    await admin.query('commit');
    await one.refusals.add([refusal]);
    expect((await admin.query('select seq from refusals')).rows).toHaveLength(50);
  });

  it('frees no more inboxes in one step than it should, though PostgreSQL expects one', async () => {
    const labels = { run: '1' };
    for (let n = 0; n < 30; n++) await one.inboxes.create(owner, inboxAt({ labels }), 99, null);
    await one.inboxes.deleteByLabels(owner, labels, T);
    await admin.query('update inboxes set freed = 1 where expires_at = 0');
    const left = async () => (await admin.query('select count(*)::int as n from inboxes')).rows[0].n;
    const before = await left();
    await one.upkeep.sweep(T, 20);
    expect(before - (await left())).toBe(5);
    await sweepAll(one, T);
    expect(await left()).toBe(1);
  });

  it('wakes waits on an inbox that another node has deleted and freed, also if the hint is lost', async () => {
    const woken: unknown[] = [];
    const waiting = () => ({ inboxes: [inbox.id], accounts: [] });
    const hints = { clock: systemClock, node: 'third', waiting, onHint: (hint: unknown) => woken.push(hint) };
    const third = await openPostgres({ url, hints });
    await expect.poll(() => woken.splice(0), { timeout: 5_000 }).toHaveLength(1);
    await one.inboxes.delete(owner, inbox.id, T);
    await sweepAll(one, T);
    await expect.poll(() => woken, { timeout: 5_000 }).toEqual([{ kind: 'inbox', inboxId: inbox.id }]);
    await third.close();
  });

  it('extends no inbox of which the sweeper has freed messages', async () => {
    await one.messages.addBatch(mailsTo(10, [inbox]), T);
    await one.upkeep.sweep(inbox.expiresAt, 5);
    const late = inbox.expiresAt - 1;
    expect(await other.inboxes.setExpiry(owner, inbox.id, ttl(120), late)).toBeUndefined();
    while ((await one.upkeep.sweep(inbox.expiresAt, 5)) > 0);
    expect((await admin.query('select * from messages')).rows).toEqual([]);
    expect((await admin.query('select * from sources')).rows).toEqual([]);
  });
});
