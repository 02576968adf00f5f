import type { Pool } from 'pg';
import { createPool, postgresEngine } from '../../packages/server/src/database/postgres/connection.ts';
import { openPostgres } from '../../packages/server/src/database/postgres/open.ts';
import { newId } from '../../packages/server/src/ids.ts';
import type { InboxRecord } from '../../packages/server/src/inboxes/records.ts';
import type { Store } from '../../packages/server/src/store.ts';
import { storeOn } from '../../packages/server/test/support/store-on.ts';
import { create, storedMail } from '../store.ts';
import { alone, type Row } from '../support/rows.ts';
import { percentile } from '../support/stats.ts';
import type { BenchCluster } from './cluster.ts';

const ROUNDS = 3;
/** Calls that wait at the same time, each with one mail. */
const CALLS = 20;
const MAILS = 3000;
const INBOXES = 20;
const NODES = [1, 2, 4];
const POLLS = 20_000;
/** Polls that wait at the same time, each of an inbox of its own. */
const POLLERS = 50;

type Mail = Awaited<ReturnType<typeof storedMail>>;

/** The store alone, without SMTP, HTTP and parsing. */
export async function storeRows(cluster: BenchCluster): Promise<Row[]> {
  const mail = await storedMail();
  return [
    ...(await lockRows(cluster, mail)),
    ...(await commitRows(cluster, mail)),
    ...(await pollRows(cluster)),
  ];
}

/** An account with inboxes, as one node has it. */
async function inboxesOn(store: Store, count = INBOXES): Promise<InboxRecord[]> {
  const id = newId('acc', Date.now());
  await store.accounts.create({ id, name: 'bench', plan: 'free', createdAt: Date.now() }, null);
  return Promise.all(Array.from({ length: count }, () => create(store, id)));
}

/** @param calls how many calls wait at the same time */
async function addMails(store: Store, inboxes: InboxRecord[], mail: Mail, mails: number, calls = CALLS) {
  let sent = 0;
  const sender = async (inbox: InboxRecord): Promise<void> => {
    while (sent++ < mails) await store.messages.addBatch([mail(inbox)], Date.now());
  };
  await Promise.all(Array.from({ length: calls }, (_, n) => sender(inboxes[n % INBOXES] as InboxRecord)));
}

/** Measures how long transactions of a pool hold the lock of an account's order, milliseconds. */
function timed(pool: Pool, onLocked: (ms: number) => void): Pool {
  return pool.on('connect', (client) => {
    const { query } = client;
    let lockedAt = 0;
    const spied = (...args: Parameters<typeof query>) => {
      const [statement] = args as unknown as [string | { text?: string }];
      const answer = query.apply(client, args) as unknown as Promise<unknown>;
      if (typeof statement === 'object' && statement.text?.includes('update account_orders')) {
        return answer.then((result) => {
          lockedAt = performance.now();
          return result;
        });
      }
      if (statement !== 'commit' || lockedAt === 0) return answer;
      return answer.then((result) => {
        onLocked(performance.now() - lockedAt);
        lockedAt = 0;
        return result;
      });
    };
    client.query = spied as unknown as typeof query;
  });
}

async function lockRows(cluster: BenchCluster, mail: Mail): Promise<Row[]> {
  const url = await cluster.createDatabase();
  await (await openPostgres({ url })).close();
  const held: number[] = [];
  const pool = createPool(url, (error) => console.error(error));
  const store = storeOn(postgresEngine(timed(pool, (ms) => held.push(ms))));
  const inboxes = await inboxesOn(store);
  await addMails(store, inboxes, mail, MAILS);
  held.length = 0;
  await addMails(store, inboxes, mail, MAILS);
  await pool.end();
  return [
    alone('an account’s order is locked by a batch, p50', 'ms', [percentile(held, 0.5)]),
    alone('the same, p99', 'ms', [percentile(held, 0.99)]),
    alone('mails of a batch', '', [MAILS / held.length]),
  ];
}

/** Nodes in one process, so the figures are those of the database beside one busy core. */
async function commitRows(cluster: BenchCluster, mail: Mail): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of NODES) {
    const url = await cluster.createDatabase();
    const stores = await Promise.all(Array.from({ length: count }, () => openPostgres({ url })));
    const inboxes = await Promise.all(stores.map((store) => inboxesOn(store)));
    const round = (mails: number, calls: number) =>
      Promise.all(
        stores.map((store, n) => addMails(store, inboxes[n] as InboxRecord[], mail, mails / count, calls)),
      );
    await round(MAILS, CALLS);
    const mailRates: number[] = [];
    const commitRates: number[] = [];
    for (let n = 0; n < ROUNDS; n++) {
      const begun = performance.now();
      await round(MAILS, CALLS);
      mailRates.push((MAILS * 1000) / (performance.now() - begun));
      // One mail at a time and node, so each is a commit.
      const from = performance.now();
      await round(MAILS / 5, 1);
      commitRates.push((MAILS * 200) / (performance.now() - from));
    }
    for (const store of stores) await store.close();
    const nodes = count === 1 ? '1 node' : `${count} nodes`;
    rows.push(
      alone(`mails stored a second by ${nodes}, ${CALLS} calls at once each`, '', mailRates),
      alone(`commits a second by ${nodes}, one mail at a time each`, '', commitRates),
    );
  }
  return rows;
}

async function pollRows(cluster: BenchCluster): Promise<Row[]> {
  const store = await openPostgres({ url: await cluster.createDatabase() });
  const inboxes = await inboxesOn(store, POLLERS);
  const rates: number[] = [];
  const backend: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const cpu = cluster.cpuSeconds();
    const begun = performance.now();
    let polled = 0;
    const poller = async ({ id, accountId }: InboxRecord): Promise<void> => {
      while (polled++ < POLLS) await store.inboxes.find(accountId, id, Date.now());
    };
    await Promise.all(Array.from({ length: POLLERS }, (_, n) => poller(inboxes[n] as InboxRecord)));
    // The first one warms up.
    if (round === 0) continue;
    rates.push((POLLS * 1000) / (performance.now() - begun));
    backend.push(((cluster.cpuSeconds() - cpu) * 1e6) / POLLS);
  }
  await store.close();
  return [
    alone(`polls without news a second, ${POLLERS} at once, store alone`, '', rates),
    alone('CPU time of PostgreSQL for one of them', 'µs', backend),
  ];
}
