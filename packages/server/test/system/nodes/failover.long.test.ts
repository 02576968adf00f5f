/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { PostgresCluster } from '../../support/postgres.ts';
import type { TcpProxy } from '../../support/tcp-proxy.ts';
import { MailQueue, mailsTo } from './mail-queue.ts';
import { MANY_MESSAGES, POSTGRES, useSite } from './nodes.ts';
import { assertTruth } from './truth.ts';

const NODES = 2;
const FAILOVERS = inForm(1, 10);
const CONNECTIONS = inForm(3, 10);
const LIMIT = { timeout: timeLimit(900_000) };

const random = chance();

async function query(on: PostgresCluster, ...texts: string[]): Promise<void> {
  const client = new Client(on.url());
  await client.connect();
  for (const text of texts) await client.query(text);
  await client.end();
}

const RELOAD = 'select pg_reload_conf()';

describe.skipIf(!POSTGRES)(`a primary and a synchronous standby (seed ${random.seed})`, LIMIT, () => {
  const site = useSite(0, { own: {}, env: MANY_MESSAGES });
  /** The nodes connect to one address that leads to the primary, as with HAProxy or a managed service. */
  let proxy: TcpProxy;
  let primary: PostgresCluster;
  const servers: PostgresCluster[] = [];
  beforeAll(async () => {
    primary = site().postgres;
    servers.push(primary);
    proxy = await site().startProxy(() => primary.port);
  });
  afterAll(async () => {
    await Promise.all(site().nodes.map((node) => node.end('SIGKILL')));
    for (const server of servers.reverse()) await server.stop('SIGQUIT');
  });

  /** Starts a standby that every commit waits for. */
  async function addStandby(): Promise<PostgresCluster> {
    // Commits would wait for the old standby while the primary restarts.
    await query(primary, 'alter system reset synchronous_standby_names', RELOAD);
    const standby = await primary.startStandby();
    servers.push(standby);
    await query(primary, "alter system set synchronous_standby_names = '*'", RELOAD);
    return standby;
  }

  test(`lose nothing acknowledged in ${FAILOVERS} failovers under load, and accept mail again soon after each crash`, async (context) => {
    let standby = await addStandby();
    for (let n = 0; n < NODES; n++) await site().startNodeThrough(proxy);
    const inboxes = await site().createInboxes(3);
    const queue = new MailQueue(site(), mailsTo(inboxes, random), CONNECTIONS);
    const times: number[] = [];
    for (let failover = 1; failover <= FAILOVERS; failover++) {
      await queue.untilMore(random.between(20, 60));
      await pause(random.between(0, 30));
      const crashed = performance.now();
      const old = primary;
      await old.stop('SIGQUIT');
      await query(standby, 'select pg_promote(true)');
      primary = standby;
      await queue.untilMore(1);
      times.push(Math.round(performance.now() - crashed));
      for (const one of site().nodes) {
        await expect.poll(async () => (await one.api('GET', '/readyz')).status).toBe(200);
        expect([one.process.exitCode, one.process.signalCode]).toEqual([null, null]);
      }
      if (failover === FAILOVERS) break;
      if (old !== site().postgres) await rm(old.dataDir, { recursive: true, force: true });
      standby = await addStandby();
    }
    await queue.untilMore(random.between(20, 60));
    await queue.drained();
    const { stored, repeated } = await assertTruth(site().node(0), inboxes, queue);
    await context.annotate(
      `${FAILOVERS} failovers, accepting again after ${times.join(', ')} ms: ${queue.acknowledged.size} acknowledged, ${stored} stored, ${repeated} of them repeated; other replies: ${JSON.stringify([...queue.replies])}`,
    );
  });
});
