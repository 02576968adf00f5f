import type { Store } from '../../../src/store.ts';
import { SHOWING, showingMethods } from '../contract/reading-methods.ts';
import { MONTH, type Scene } from './scene.ts';
import { often, type Works } from './writes.ts';

/** One work for each method that only reads: whatever others change meanwhile, it must not fail. */
export function readWorks(scene: Scene): Works {
  const { pick, oneIn, now } = scene;
  const page = { limit: 20, before: null };
  const newest = { after: 0, limit: 9 };
  const inbox = () => pick(scene.inboxes);
  const message = () => pick(scene.messages) ?? { inboxId: 'inb_0', messageId: 'msg_0', accountId: 'acc_0' };
  const reads: Record<string, (node: Store) => Promise<unknown>> = {
    'accounts.findFirst': (node) => node.accounts.findFirst(),
    'accounts.find': (node) => node.accounts.find(pick(scene.accounts)),
    'accounts.list': (node) => node.accounts.list(),
    'keys.findByHash': (node) => node.keys.findByHash('hash', now()),
    'keys.list': (node) => node.keys.list(pick(scene.accounts)),
    'keys.find': (node) => node.keys.find('key_0'),
    'keys.newestHash': (node) => node.keys.newestHash(pick(scene.accounts), now()),
    'sessions.find': (node) => node.sessions.find('session', now()),
    'usage.read': (node) => node.usage.read(pick(scene.accounts), MONTH, `${MONTH}-01`),
    'domains.find': (node) => node.domains.find('d1.example'),
    'domains.list': (node) => node.domains.list(pick([null, pick(scene.accounts)])),
    'faults.read': (node) => node.faults.read(inbox().accountId, inbox().id, now()),
    'messages.newestInAccount': (node) => node.messages.newestInAccount(inbox().accountId),
    'messages.placeInAccount': (node) => node.messages.placeInAccount(inbox().accountId, now() - 1_000),
    'refusals.listByDomain': (node) => node.refusals.listByDomain('a.mayfly.test', inbox().id, 9, now()),
    'refusals.listByAccount': (node) => node.refusals.listByAccount(pick(scene.accounts), newest, now()),
    'refusals.listAddresses': (node) => node.refusals.listAddresses(pick(scene.accounts), newest, now()),
    'refusals.recent': (node) => node.refusals.recent(0, now()),
    'refusals.listConcerning': (node) => node.refusals.listConcerning(scene.address(), 0, now()),
    'webhooks.find': (node) => node.webhooks.find(pick(scene.hooks).accountId, pick(scene.hooks).id, now()),
    'webhooks.list': (node) => node.webhooks.list(pick(scene.accounts), page, now()),
    'deliveries.nextAt': (node) => node.deliveries.nextAt(now()),
    'deliveries.list': (node) => {
      const { accountId, id } = pick(scene.hooks);
      const some = { ...page, ...(oneIn(2) && { state: 'delivered' as const }) };
      return node.deliveries.list(accountId, id, some, now());
    },
    'deliveries.listOfMessage': (node) => {
      const { accountId, inboxId, messageId } = message();
      return node.deliveries.listOfMessage(accountId, { inboxId, messageId, from: 0, to: now() }, now());
    },
    'reports.listRun': (node) => node.reports.listRun(pick(scene.accounts), { run: '1' }, now()),
    'reports.listLabels': (node) =>
      node.reports.listLabels(pick(scene.accounts), pick([null, 'run']), 9, now()),
    'upkeep.measure': (node) => node.upkeep.measure(now()),
    'upkeep.time': (node) => node.upkeep.time(),
  };
  for (const path of SHOWING) {
    reads[path] = async (node) => {
      const { accountId: owner, inboxId: id, messageId } = message();
      const { address } = inbox();
      const tokenHash = `hash of the token of ${id}`;
      return showingMethods(node, { owner, inbox: { id, address }, tokenHash, messageId })[path]?.(now());
    };
  }
  return Object.fromEntries(Object.entries(reads).map(([path, run]) => [path, often(1, run)]));
}
