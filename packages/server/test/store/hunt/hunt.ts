import { IDEMPOTENCY_MS } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import type { Chance } from '../../support/chance.ts';
import { T } from '../builders.ts';
import { brokenInvariants, type Select } from '../invariants.ts';
import { readWorks } from './reads.ts';
import { MONTH, QUOTA, Scene } from './scene.ts';
import { accountWorks, deliver, inboxWorks, often, type Works, webhookWorks } from './writes.ts';

const ACCOUNTS = 5;
const INBOXES = 12;

export interface HuntOptions {
  /** Handles of the same storage. */
  nodes: readonly Store[];
  /** Calls of a node under way at once. */
  width: number;
  /** How long, milliseconds. */
  ms: number;
  random: Chance;
  /** How much faster than a real clock that of the hunt runs: lifetimes end during it. */
  speed: number;
  select: Select;
}

export interface Hunted {
  /** Calls by the kind of work. */
  done: string;
  /** Calls that failed otherwise than a caller has to expect, each with how often. */
  failed: string[];
  /** What is not true of the tables any more, right after the calls and after the sweeper. */
  broken: string[];
}

/** Runs all kinds of calls on the same rows from several handles at once, then checks the tables. */
export async function hunt({ nodes, ms, random, speed, select, width }: HuntOptions): Promise<Hunted> {
  const begun = performance.now();
  const now = () => T + Math.round((performance.now() - begun) * speed);
  const scene = new Scene(random, now);
  const [store] = nodes as [Store];
  await fill(store, scene);

  const works: Works = {
    ...inboxWorks(scene),
    ...webhookWorks(scene),
    ...accountWorks(scene),
    ...readWorks(scene),
    ping: often(1, (node) => node.ping()),
  };
  const lots = Object.entries(works).flatMap(([name, { share }]) => Array<string>(share).fill(name));
  const until = performance.now() + ms;
  const done = new Map<string, number>();
  const failed = new Map<string, number>();
  const work = async (node: Store): Promise<void> => {
    while (performance.now() < until) {
      const name = scene.pick(lots);
      scene.count(done, name);
      await works[name]?.run(node).catch((error) => {
        scene.count(failed, `${name}: ${error.code ?? ''} ${error.message} ${error.cause?.message ?? ''}`);
      });
    }
  };
  await Promise.all(nodes.flatMap((node) => Array.from({ length: width }, () => work(node))));

  const end = now();
  const broken = await brokenInvariants(select, end, false);
  if (failed.size === 0) broken.push(...(await wrongBooks(select, scene)));
  await settle(store, scene, end);
  broken.push(...(await brokenInvariants(select, end, true)).map((line) => `after sweeping: ${line}`));
  return {
    done: [...done].map(([name, count]) => `${count} × ${name}`).join(', '),
    failed: [...failed].map(([text, count]) => `${count} × ${text}`),
    broken,
  };
}

async function fill(store: Store, scene: Scene): Promise<void> {
  for (let n = 0; n < ACCOUNTS; n++) await scene.addAccount(store);
  for (let n = 0; n < INBOXES; n++) {
    const { accounts } = scene;
    const address = `first-${n}@a.mayfly.test`;
    const { inbox } = await store.inboxes.create(scene.pick(accounts), scene.wanted({ address }), 1e6, null);
    scene.keep(inbox);
  }
}

/** Sweeps, claims and records until nothing is left to do. */
async function settle(store: Store, scene: Scene, end: number): Promise<void> {
  while ((await store.upkeep.sweep(end, 500)) > 0);
  // After every lease and every pause.
  for (let round = 1, idle = 0; idle < 3 && round < 2_000; round++) {
    const claimed = await deliver(store, scene, end + round * 120_000);
    idle = claimed === 0 ? idle + 1 : 0;
  }
}

/** Compares what calls returned with the tables. */
async function wrongBooks(select: Select, { books, accounts, now }: Scene): Promise<string[]> {
  const wrong: string[] = [];
  const compare = async (what: string, sql: string, expected: Map<string, number>): Promise<void> => {
    for (const { id, count } of await select(sql)) {
      const wanted = expected.get(String(id)) ?? 0;
      if (Number(count) !== wanted) wrong.push(`${what} of ${id}: ${count} instead of ${wanted}`);
    }
  };
  const received = 'select id, received_messages as count from';
  await compare('received messages', `${received} inboxes`, books.received);
  await compare('received messages', `${received} deleted_inboxes`, books.received);
  const taken = `select account_id as id, taken as count from usage_months where month = '${MONTH}'`;
  await compare('requests taken', taken, books.leased);
  await compare('requests', 'select account_id as id, requests as count from usage_days', books.requests);
  const waits = await select(`select i.id, w.waits from inbox_waits w
    join inboxes i on i.seq = w.inbox_seq and i.expires_at > 0
    union all select id, waits from deleted_inboxes where waits is not null`);
  for (const { id, waits: text } of waits) {
    const { succeeded } = JSON.parse(String(text));
    const wanted = books.waits.get(String(id)) ?? 0;
    if (succeeded !== wanted) wrong.push(`waits of ${id}: ${succeeded} instead of ${wanted}`);
  }
  for (const [id, leased] of books.leased) if (leased > QUOTA) wrong.push(`${id} was granted ${leased}`);
  // Keys are remembered for a day.
  const isFresh = now() < T + IDEMPOTENCY_MS;
  for (const [key, ids] of books.replays) if (isFresh && ids.size > 1) wrong.push(`${key} made ${[...ids]}`);
  for (const [id, { set, spent }] of books.faults)
    if (spent > set) wrong.push(`${spent} of ${set} faults of ${id}`);
  const withoutKey = `select id from accounts where id not in (select account_id from keys where scope = 'full')`;
  for (const { id } of await select(withoutKey)) wrong.push(`${id} has no key any more`);
  for (const { id } of await select('select id from accounts')) {
    if (books.deleted.has(String(id)) && !accounts.includes(String(id))) wrong.push(`${id} was deleted`);
  }
  return wrong;
}
