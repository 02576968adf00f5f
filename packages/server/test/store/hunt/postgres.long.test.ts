/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import type { Store } from '../../../src/store.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { readHere, withReadings } from '../../support/store-on.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { createDatabase, queryPostgres } from '../postgres/open-postgres.ts';
import { hunt } from './hunt.ts';

const NODES = 4;
/** Calls of a node under way at once. */
const WIDTH = 5;
const HUNT_MS = inForm(2_000, 30_000);

const random = chance();

/** Statements of the intake, of which none may be part of a deadlock: senders wait for it. */
const OF_INTAKE =
  /insert into "?(messages|sources|source_pieces|deliveries|wakes)\b|account_orders|from inboxes where id = any\(/i;

/** Deadlocks in the server's log: for each, the statements of its processes. */
function deadlocksOf(cluster: PostgresCluster): string[] {
  const details = cluster.log().split(/^.*DETAIL: {2}(?=Process \d+ waits)/m);
  return details.slice(1).map((text) => text.split(/^\d{4}-/m, 1)[0] ?? '');
}

describe.skipIf(!(await hasPostgres()))(`all calls at once on PostgreSQL (seed ${random.seed})`, () => {
  let cluster: PostgresCluster;
  let proxy: TcpProxy;
  let isSlow = false;
  beforeAll(async () => {
    // PostgreSQL looks for deadlocks after this time of waiting.
    cluster = await startPostgres({ settings: { deadlock_timeout: '10ms' } });
    // Some statements are late, so that transactions meet in the middle of each other.
    const delay = () => (isSlow && random.between(1, 4) === 1 ? random.between(1, 25) : 0);
    proxy = await startTcpProxy(() => cluster.port, delay);
  });
  afterAll(async () => {
    await proxy?.close();
    await cluster?.remove();
  });

  it.for([
    ['as fast as they can', 1],
    ['with pauses within transactions', 1],
    ['with pauses and a clock that runs faster', 5_000],
  ] as const)(
    `by ${NODES} nodes for ${HUNT_MS / 1_000} s, %s: no call fails and nothing is wrong in the tables`,
    { timeout: timeLimit(300_000) },
    async ([how, speed], { annotate }) => {
      isSlow = how.startsWith('with');
      const direct = await createDatabase(cluster);
      const url = new URL(direct);
      url.port = String(proxy.port);
      const nodes: Store[] = [];
      for (let n = 0; n < NODES; n++)
        nodes.push(withReadings(await openPostgres({ url: url.href, read: readHere })));
      const select = (sql: string) => queryPostgres(direct, sql);
      const hunted = await hunt({ nodes, width: WIDTH, ms: HUNT_MS, random, speed, select });
      for (const node of nodes) await node.close();
      // A deadlock costs the waits of its processes; then one of them is run again.
      const deadlocks = deadlocksOf(cluster);
      await annotate(`${deadlocks.length} deadlocks of others; ${hunted.done}`);
      expect(hunted.failed, 'calls that failed').toEqual([]);
      expect(hunted.broken, 'invariants').toEqual([]);
      expect(deadlocks.filter((text) => OF_INTAKE.test(text))).toEqual([]);
    },
  );
});
