/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord, Store } from '../../../src/store/contract/index.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { inboxAt, mailTo, T } from '../builders.ts';

/** The npm package has programs for Linux on x64 only; elsewhere these tests are skipped. */
const IS_THERE = await hasPostgres();
const NODES = 4;
const ACCOUNTS = 10;
const INBOXES = 40;
/** Calls of a node under way at once. */
const WIDTH = 4;
const HUNT_MS = inForm(4_000, 60_000);
const SECONDS_60 = 60_000;
const MONTH = '2027-01';

const random = chance();

/** Statements of the intake, of which none may be part of a deadlock: senders wait for it. */
const OF_INTAKE =
  /insert into "?(messages|sources|source_pieces|deliveries|wakes)\b|account_orders|where id = any\(/i;

/** Deadlocks in the server's log: for each, the statements of its processes. */
function deadlocksOf(cluster: PostgresCluster): string[] {
  const details = cluster.log().split(/^.*DETAIL: {2}(?=Process \d+ waits)/m);
  return details.slice(1).map((text) => text.split(/^\d{4}-/m, 1)[0] ?? '');
}

describe.skipIf(!IS_THERE)(`a hunt for deadlocks (seed ${random.seed})`, () => {
  let cluster: PostgresCluster;
  const nodes: Store[] = [];
  beforeAll(async () => {
    // A transaction that waits for longer than that looks for a deadlock.
    cluster = await startPostgres({ settings: { deadlock_timeout: '10ms' } });
    for (let n = 0; n < NODES; n++) nodes.push(await openPostgres({ url: cluster.url() }));
  });
  afterAll(async () => {
    for (const node of nodes) await node.close();
    await cluster?.remove();
  });

  const pick = <X>(all: readonly X[]): X => all[random.between(0, all.length - 1)] as X;
  const some = <X>(all: readonly X[], most: number): X[] => [
    ...new Set(Array.from({ length: random.between(1, most) }, () => pick(all))),
  ];

  it(
    `finds none of the intake in ${HUNT_MS / 1_000} s of all kinds of writes by ${NODES} nodes to the same rows, and no call fails`,
    async ({ annotate }) => {
      const accounts: string[] = [];
      let inboxes: InboxRecord[] = [];
      let messages: { inboxId: string; messageId: string }[] = [];
      const webhooks: { accountId: string; id: string }[] = [];
      const [store] = nodes as [Store];
      const begun = performance.now();
      /** The clock of the hunt runs, so that things become due. */
      const now = () => T + Math.round(performance.now() - begun);
      const addInbox = async (node: Store, accountId: string) => {
        const labels = { run: String(random.between(1, 5)) };
        const wanted = inboxAt({ labels, createdAt: now() });
        const { inbox } = await node.inboxes.create(accountId, wanted, 1e6, null);
        inboxes = [...inboxes.slice(-2 * INBOXES), inbox];
      };
      const webhookAt = (inboxId: string | null) => ({
        ...{ id: newId('whk', T), inboxId, url: 'https://hooks.example/', description: '', secret: 's' },
        createdAt: T,
      });
      const addAccount = async (node: Store): Promise<string> => {
        const id = newId('acc', T);
        await node.accounts.create({ id, name: 'a', plan: 'free', createdAt: T }, null);
        const webhook = webhookAt(null);
        await node.webhooks.create(id, webhook, 1e6);
        accounts.push(id);
        webhooks.push({ accountId: id, id: webhook.id });
        return id;
      };
      const addMails = async (node: Store): Promise<void> => {
        const mails = Array.from({ length: random.between(1, 10) }, () =>
          mailTo(some(inboxes, 5), { maxMessages: 1e6 }),
        );
        // Some drop the oldest messages, as the sink does.
        for (const { recipients } of mails) {
          for (const recipient of recipients) {
            if (random.between(1, 10) === 1)
              Object.assign(recipient, { maxMessages: 20, evictsOldest: true });
          }
        }
        const placed = (await node.messages.addBatch(mails, now())).flat();
        const added = placed.flatMap((one) => ('messageId' in one ? [one] : []));
        messages = [...messages, ...added].slice(-10 * INBOXES);
      };
      for (let n = 0; n < ACCOUNTS; n++) await addAccount(store);
      for (let n = 0; n < INBOXES; n++) await addInbox(store, pick(accounts));

      const deliver = async (node: Store) => {
        const claimed = await node.deliveries.claim({ prompt: 20, other: 20, leaseMs: SECONDS_60 }, now());
        const attempt = { at: now(), status: 200, durationMs: 1, error: null, responseStart: '' };
        await node.deliveries.record(
          claimed.map(({ webhookId, id: deliveryId, leasedUntil }) => ({
            ...{ webhookId, deliveryId, leasedUntil, attempt },
            next: pick([
              { state: 'delivered' as const, reason: null },
              { state: 'failed' as const, reason: 'exhausted' as const },
              { state: 'pending' as const, at: now() + 50 },
            ]),
          })),
          now(),
        );
      };
      const works: Record<string, { share: number; run(node: Store): Promise<unknown> }> = {
        mails: { share: 40, run: addMails },
        deliver: { share: 12, run: deliver },
        remove: {
          share: 5,
          run: async (node) => {
            const found = messages[random.between(0, messages.length - 1)];
            if (found) await node.messages.delete(found.inboxId, found.messageId, now());
          },
        },
        replay: {
          share: 3,
          run: (node) => {
            const { accountId, id } = pick(webhooks);
            const state = pick(['delivered', 'failed', 'cancelled'] as const);
            const step = { state, after: '', upTo: newId('dlv', now()), limit: 20 };
            return node.deliveries.replaySome(accountId, id, step, now());
          },
        },
        hooks: {
          share: 3,
          run: async (node) => {
            const { accountId, id } = pick(inboxes);
            const hook = webhookAt(id);
            const isCreated = await node.webhooks.create(accountId, hook, 1e6).then(
              () => true,
              (error) => {
                // The inbox or the account has ended.
                if (!['not_found', 'inbox_expired', 'unauthorized'].includes(error.code)) throw error;
                return false;
              },
            );
            if (!isCreated) return;
            await addMails(node);
            await node.webhooks.delete(accountId, hook.id, now());
          },
        },
        leave: {
          share: 1,
          run: async (node) => {
            const accountId = await addAccount(node);
            for (let n = 0; n < 3; n++) await addInbox(node, accountId);
            await addMails(node);
            accounts.splice(accounts.indexOf(accountId), 1);
            await node.accounts.delete(accountId, now());
          },
        },
        sweep: { share: 6, run: (node) => node.upkeep.sweep(now(), 200) },
        create: { share: 10, run: (node) => addInbox(node, pick(accounts)) },
        delete: {
          share: 5,
          run: (node) => {
            const { accountId, id } = pick(inboxes);
            return node.inboxes.delete(accountId, id, now());
          },
        },
        empty: { share: 5, run: (node) => node.messages.deleteAll(pick(inboxes).id, now()) },
        labels: {
          share: 2,
          run: (node) =>
            node.inboxes.deleteByLabels(pick(accounts), { run: String(random.between(1, 5)) }, now()),
        },
        expire: {
          share: 6,
          run: (node) => {
            const { accountId, id } = pick(inboxes);
            const at = now() + pick([0, 1_000, SECONDS_60 * 60]);
            return node.inboxes.setExpiry(accountId, id, { ttlMinutes: 60, expiresAt: at }, now());
          },
        },
        webhooks: {
          share: 4,
          run: (node) => {
            const { accountId, id } = pick(webhooks);
            return node.webhooks.update(accountId, id, { enabled: random.between(1, 3) > 1 }, now());
          },
        },
        usage: {
          share: 5,
          run: async (node) => {
            const block = { want: 10, limit: 1e9 };
            await node.usage.lease(pick(accounts), MONTH, block, now());
            const reports = some(accounts, 5).map((accountId) => ({
              ...{ accountId, month: MONTH, limit: 1e9, returned: 1, kept: 0 },
              days: [{ day: `${MONTH}-15`, requests: 1 }],
            }));
            await node.usage.report(reports, now());
          },
        },
        rates: {
          share: 5,
          run: async (node) => {
            const uses = some(accounts, 6).map((accountId) => ({ accountId, refillMs: 10, sinceMs: 0 }));
            await node.limits.use(uses, now());
            const windows = ['all', pick(accounts)].map((key) => ({ key, limit: 1e6, windowMs: 1_000 }));
            await node.limits.admit(windows, now());
          },
        },
      };
      const lots = Object.entries(works).flatMap(([name, { share }]) =>
        Array.from({ length: share }, () => name),
      );
      const done = new Map<string, number>();
      const refused = new Map<string, number>();
      const work = async (node: Store): Promise<void> => {
        while (performance.now() - begun < HUNT_MS) {
          const name = pick(lots);
          done.set(name, (done.get(name) ?? 0) + 1);
          await works[name]?.run(node).catch((error) => {
            const key = `${name}: ${error.code ?? ''} ${error.message} ${error.cause?.message ?? ''}`;
            refused.set(key, (refused.get(key) ?? 0) + 1);
          });
        }
      };
      await Promise.all(nodes.flatMap((node) => Array.from({ length: WIDTH }, () => work(node))));

      // A deadlock costs the waits of its processes; then one of them is run again.
      expect([...refused], 'calls that failed').toEqual([]);
      const deadlocks = deadlocksOf(cluster);
      expect(deadlocks.filter((text) => OF_INTAKE.test(text))).toEqual([]);
      await annotate(
        `${[...done].map(([name, count]) => `${count} × ${name}`).join(', ')}; ${deadlocks.length} deadlocks between deletions`,
      );
    },
    timeLimit(300_000),
  );
});
