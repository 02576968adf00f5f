/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { PostgresCluster } from '../../support/postgres.ts';
import type { Inbox } from '../../support/server-process.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { MailQueue } from './mail-queue.ts';
import { POSTGRES, type Site, startSite, throughPort } from './nodes.ts';
import { assertTruth } from './truth.ts';

const NODES = 2;
const FAILOVERS = inForm(1, 10);
const CONNECTIONS = inForm(3, 10);
const INBOXES = 3;

const random = chance();

async function query(on: PostgresCluster, ...texts: string[]): Promise<void> {
  const client = new Client(on.url());
  await client.connect();
  for (const text of texts) await client.query(text);
  await client.end();
}

const RELOAD = 'select pg_reload_conf()';

describe.skipIf(!POSTGRES)(
  `${NODES} nodes on a primary with a synchronous standby (seed ${random.seed})`,
  () => {
    let site: Site;
    /** The one address that the nodes have: what stands there leads to the primary, as HAProxy or a managed service does. */
    let proxy: TcpProxy;
    let primaryPort: number;
    const servers: PostgresCluster[] = [];
    beforeEach(async () => {
      site = await startSite();
      servers.push(site.postgres);
      primaryPort = site.postgres.port;
      proxy = await startTcpProxy(() => primaryPort);
      site.url = throughPort(site.url, proxy.port);
    });
    afterEach(async () => {
      await Promise.all(site.nodes.map((node) => node.end('SIGKILL')));
      for (const server of servers.splice(0).reverse()) await server.stop('SIGQUIT');
      await site.close();
      await proxy.close();
    });

    /** Gives the primary a standby that every commit waits for. */
    async function addStandby(primary: PostgresCluster): Promise<PostgresCluster> {
      // It would wait for the old one while it restarts.
      await query(primary, 'alter system reset synchronous_standby_names', RELOAD);
      const standby = await primary.startStandby();
      servers.push(standby);
      await query(primary, "alter system set synchronous_standby_names = '*'", RELOAD);
      return standby;
    }

    test(
      `lose nothing acknowledged in ${FAILOVERS} failovers under load, and accept mail again soon after each crash`,
      async ({ annotate }) => {
        let primary = site.postgres;
        let standby = await addStandby(primary);
        const env = { MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: 1_000_000 } }) };
        for (let n = 0; n < NODES; n++) await site.startNode({ env });
        const inboxes: Inbox[] = [];
        for (let n = 0; n < INBOXES; n++) inboxes.push(await site.node(n).createInbox());
        let made = 0;
        let isSending = true;
        const next = () => {
          made += 1;
          const addresses = inboxes.map(({ address }) => address);
          const to = made % 5 === 0 ? addresses : [addresses[made % INBOXES] ?? ''];
          return isSending ? { id: `mail-${random.seed}-${made}`, to } : undefined;
        };
        const queue = new MailQueue(() => site.nodes.map(({ smtpPort }) => smtpPort), next, CONNECTIONS);
        const someMails = () => queue.untilAcknowledged(queue.acknowledged.size + random.between(20, 60));
        const times: number[] = [];
        for (let failover = 1; failover <= FAILOVERS; failover++) {
          await someMails();
          await pause(random.between(0, 30));
          const crashed = performance.now();
          await primary.stop('SIGQUIT');
          await query(standby, 'select pg_promote(true)');
          primaryPort = standby.port;
          await queue.untilAcknowledged(queue.acknowledged.size + 1);
          times.push(Math.round(performance.now() - crashed));
          for (const one of site.nodes) {
            await expect.poll(async () => (await one.request('GET', '/readyz')).status).toBe(200);
            expect([one.process.exitCode, one.process.signalCode]).toEqual([null, null]);
          }
          if (failover === FAILOVERS) break;
          if (primary !== site.postgres) await rm(primary.dataDir, { recursive: true, force: true });
          primary = standby;
          standby = await addStandby(primary);
        }
        await someMails();
        isSending = false;
        await queue.drained();
        const { stored, repeated } = await assertTruth(site.node(0), inboxes, queue);
        await annotate(
          `${FAILOVERS} failovers, accepting again after ${times.join(', ')} ms: ${queue.acknowledged.size} acknowledged, ${stored} stored, ${repeated} twice after an unknown outcome; other replies: ${JSON.stringify([...queue.replies])}`,
        );
      },
      timeLimit(900_000),
    );
  },
);
