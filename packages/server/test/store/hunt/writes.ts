import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store.ts';
import { accountAt, mailTo, refusalOf, staged } from '../builders.ts';
import { MAX_LIVE, MAX_WEBHOOKS, MONTH, QUOTA, type Scene } from './scene.ts';

/** Kinds of calls of a hunt, each with how often it is chosen. */
export type Works = Record<string, { share: number; run: Work }>;
type Work = (node: Store) => Promise<unknown>;

export const often = (share: number, run: Work) => ({ share, run });

const LEASE_MS = 60_000;

/** Inboxes and what belongs to them. */
export function inboxWorks(scene: Scene): Works {
  const { books, pick, oneIn, now } = scene;
  const create = async (node: Store, accountId: string) => {
    const kind = oneIn(8) ? pick(['catch-all', 'sink'] as const) : ('address' as const);
    const keyHash = `key ${accountId} ${scene.random.between(1, 1e4) % 40}`;
    const request = oneIn(3) ? { keyHash, bodyHash: 'body', nonce: 'n' } : null;
    const { createdAt: _, inboxId: __, ...hook } = scene.webhook(null);
    const webhook = oneIn(4) ? { ...hook, maxWebhooks: MAX_WEBHOOKS } : null;
    const creation = node.inboxes.create(accountId, scene.wanted({ kind }), MAX_LIVE, request, webhook);
    const made = await scene.allowed(creation);
    if (!made) return;
    scene.keep(made.inbox);
    if (made.webhook) scene.keepHook({ accountId, id: made.webhook.id });
    if (request) books.replays.set(keyHash, (books.replays.get(keyHash) ?? new Set()).add(made.inbox.id));
  };
  return {
    mails: often(30, (node) => scene.addMails(node)),
    create: often(14, (node) => create(node, pick(scene.accounts))),
    imports: often(5, async (node) => {
      const stage = newId('msg', now());
      const mails: { source: number; rcptTo: string[] }[] = [];
      for (let n = scene.random.between(1, 4); n > 0; n--) {
        const raw = oneIn(12) ? { raw: new Uint8Array(700_000) } : {};
        mails.push({ source: await staged(node, mailTo([], raw), '', stage), rcptTo: [] });
      }
      const wish = scene.wanted({ replayUntil: now() + pick([0, 60_000]) });
      const placed = { stage, mails, now: now() };
      const creation = node.inboxes.create(pick(scene.accounts), wish, MAX_LIVE, null, null, placed);
      const made = await scene.allowed(creation).catch((error) => {
        // The sweeper has given them up: an hour may pass in a second here.
        if (error.code !== 'unavailable') throw error;
      });
      if (!made) return node.messages.unstage(stage);
      scene.keep(made.inbox);
      scene.count(books.received, made.inbox.id, mails.length);
      await node.inboxes.endReplay(made.inbox.id, pick(['complete', 'cut']));
    }),
    hold: often(8, (node) => {
      const at = now();
      // Some end at once, for the sweeper.
      return node.addresses.hold(pick(scene.accounts), scene.address(), at + pick([1, 50, 600_000]), at);
    }),
    delete: often(5, (node) => {
      const { accountId, id } = pick(scene.inboxes);
      return node.inboxes.delete(accountId, id, now());
    }),
    labels: often(2, (node) =>
      node.inboxes.deleteByLabels(pick(scene.accounts), { run: String(scene.random.between(1, 4)) }, now()),
    ),
    expire: often(8, (node) => {
      const { accountId, id } = pick(scene.inboxes);
      const expiresAt = now() + pick([0, 1_000, 600_000]);
      return node.inboxes.setExpiry(accountId, id, { ttlMinutes: 60, expiresAt }, now());
    }),
    remove: often(6, async (node) => {
      const found = scene.messages[scene.random.between(0, scene.messages.length - 1)];
      if (found) await node.messages.delete(found.inboxId, found.messageId, now());
    }),
    empty: often(5, (node) => node.messages.deleteAll(pick(scene.inboxes).id, now())),
    faults: often(4, async (node) => {
      const { accountId, id } = pick(scene.inboxes);
      const rule = { at: 'rcpt' as const, reply: null, delayMs: 0, disconnect: false };
      const set = await node.faults.set(accountId, id, [{ ...rule, times: 5, left: 5 }], now());
      const sender = { address: pick(scene.inboxes).address, mailFrom: '', helo: '', remoteAddress: '' };
      const tries = Array.from({ length: 4 }, () => node.faults.spend(id, 'rcpt', sender, now()));
      const spent = (await Promise.all(tries)).filter(Boolean).length;
      const book = books.faults.get(id) ?? { set: 0, spent: 0 };
      books.faults.set(id, { set: book.set + (set ? 5 : 0), spent: book.spent + spent });
    }),
    refusals: often(4, (node) => {
      const addresses = Array.from({ length: 60 }, () => scene.address());
      return node.refusals.add(addresses.map((address) => refusalOf(address, { at: now() })));
    }),
    waits: often(5, async (node) => {
      const ended = scene.some(scene.inboxes, 5).map(({ accountId, id: inboxId }) => ({
        ...{ accountId, inboxId, kind: 'wait' as const, failed: null },
      }));
      await node.waits.add(ended);
      for (const { inboxId } of ended) scene.count(books.waits, inboxId);
    }),
  };
}

/** Webhooks and their deliveries. */
export function webhookWorks(scene: Scene): Works {
  const { pick, oneIn, now } = scene;
  const onHook =
    (call: (node: Store, accountId: string, id: string) => Promise<unknown>) => (node: Store) => {
      const { accountId, id } = pick(scene.hooks);
      return call(node, accountId, id);
    };
  return {
    deliver: often(14, (node) => deliver(node, scene)),
    hooks: often(6, async (node) => {
      const { accountId, id } = pick(scene.inboxes);
      const hook = scene.webhook(oneIn(4) ? null : id);
      if (!(await scene.allowed(node.webhooks.create(accountId, hook, MAX_WEBHOOKS)))) return;
      scene.keepHook({ accountId, id: hook.id });
      if (oneIn(2)) await scene.addMails(node);
      if (oneIn(2)) await node.webhooks.delete(accountId, hook.id, now());
    }),
    unhook: often(
      3,
      onHook((node, account, id) => node.webhooks.delete(account, id, now())),
    ),
    change: often(
      5,
      onHook((node, account, id) => node.webhooks.update(account, id, { enabled: !oneIn(3) }, now())),
    ),
    disable: often(
      1,
      onHook((node, _, id) => node.webhooks.disable(id, 'a reason')),
    ),
    rotate: often(
      3,
      onHook((node, account, id) => node.webhooks.rotateSecret(account, id, 't', now() + LEASE_MS, now())),
    ),
    test: often(
      3,
      onHook((node, account, id) => {
        const test = { deliveryId: newId('dlv', now()), eventId: newId('evt', now()) };
        return node.deliveries.addTest(account, id, test, now());
      }),
    ),
    replay: often(
      3,
      onHook(async (node, account, id) => {
        const { deliveries } = await node.deliveries.list(account, id, { limit: 9, before: null }, now());
        const [one] = deliveries;
        if (one) await node.deliveries.replay(account, id, one.id, now());
      }),
    ),
    replaySome: often(
      3,
      onHook((node, account, id) => {
        const state = pick(['delivered', 'failed', 'cancelled'] as const);
        const step = { state, after: '', before: newId('dlv', now() + 1), limit: 20 };
        return node.deliveries.replaySome(account, id, step, now());
      }),
    ),
  };
}

/** Claims deliveries and records what became of them; returns how many there were. */
export async function deliver(node: Store, scene: Scene, at?: number): Promise<number> {
  const { pick, now } = scene;
  const time = () => at ?? now();
  const claimed = await node.deliveries.claim({ prompt: 20, other: 20, leaseMs: LEASE_MS }, time());
  const attempt = { at: time(), status: 200, durationMs: 1, error: null, responseStart: '' };
  for (const { webhookId, id: deliveryId, leasedUntil } of claimed) {
    const next = pick([
      { state: 'delivered' as const, reason: null },
      { state: 'failed' as const, reason: 'exhausted' as const },
      ...(at === undefined ? [{ state: 'pending' as const, at: time() + 50 }] : []),
    ]);
    const result = { webhookId, deliveryId, leasedUntil, attempt: scene.oneIn(8) ? null : attempt, next };
    await node.deliveries.record(result, time());
  }
  return claimed.length;
}

/** Accounts, their keys, sessions, domains and limits. */
export function accountWorks(scene: Scene): Works {
  const { books, pick, oneIn, now } = scene;
  return {
    leave: often(2, async (node) => {
      await scene.addAccount(node);
      const accountId = pick(scene.accounts);
      const made = await scene.allowed(node.inboxes.create(accountId, scene.wanted(), MAX_LIVE, null));
      if (made) scene.keep(made.inbox);
      // Others still work on it while it is deleted.
      await node.accounts.delete(accountId, now());
      books.deleted.add(accountId);
      scene.accounts = scene.accounts.filter((id) => id !== accountId);
    }),
    keys: often(4, async (node) => {
      const accountId = pick(scene.accounts);
      await scene.allowed(node.keys.create(scene.key(accountId), 6));
      const keys = await node.keys.list(accountId);
      await node.keys.used(keys.map(({ id: keyId }) => ({ keyId, at: now() })));
      for (const { id } of keys.slice(0, 3)) if (oneIn(2)) await node.keys.revoke(accountId, id, true, now());
    }),
    sessions: often(2, async (node) => {
      const hash = `session ${newId('evt', now())}`;
      await node.sessions.create({ hash, credentialHash: 'c', kind: 'key', createdAt: now() });
      await node.sessions.used(hash, now());
      await node.sessions.find(hash, now());
      if (oneIn(2)) await node.sessions.delete(hash);
    }),
    domains: often(6, async (node) => {
      const domain = `d${scene.random.between(1, 6)}.example`;
      if (oneIn(4)) await node.domains.remove(domain);
      else await node.domains.add({ domain, accountId: pick(scene.accounts), createdAt: now() });
    }),
    plans: often(1, (node) => node.accounts.setPlan(pick(scene.accounts), pick(['free', 'pro']))),
    usage: often(6, async (node) => {
      const lessees = scene.some(scene.accounts, 4);
      for (const accountId of lessees) {
        const block = { want: 10, limit: QUOTA };
        const { granted } = await node.usage.lease(accountId, MONTH, block, now());
        scene.count(books.leased, accountId, granted);
        if (granted > 5) {
          const rest = { returned: 5, days: [{ day: `${MONTH}-15`, requests: 1 }] };
          await node.usage.report([{ accountId, month: MONTH, ...rest }]);
          scene.count(books.leased, accountId, -5);
          scene.count(books.requests, accountId);
        }
      }
    }),
    rates: often(5, async (node) => {
      const id = pick(['node 1', 'node 2', 'node 3']);
      await (pick([true, false]) ? node.nodes.beat(id, now()) : node.nodes.leave(id, now()));
    }),
    sweep: often(12, (node) => node.upkeep.sweep(now(), pick([20, 200]))),
    first: often(1, (node) => {
      const account = accountAt(1_700_000_000_000);
      return node.accounts.createFirst(account, scene.key(account.id));
    }),
  };
}
