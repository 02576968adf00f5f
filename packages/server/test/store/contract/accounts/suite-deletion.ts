import { describe, expect, it } from 'vitest';
import { newId } from '../../../../src/ids.ts';
import { ADDRESS_QUARANTINE_MS, type InboxRecord } from '../../../../src/inboxes/records.ts';
import type { Store } from '../../../../src/store.ts';
import type { NewWebhook } from '../../../../src/webhooks/sql/webhooks.ts';
import { everything, inboxAt, mailTo, onlyPlaced, sweepAll, T } from '../../builders.ts';
import type { Given, Opened } from '../suite.ts';

const webhookAt = (changes: Partial<NewWebhook> = {}): NewWebhook => ({
  id: newId('whk', T),
  ...{ inboxId: null, url: 'http://127.0.0.1:9/', description: '', secret: 'whsec_one', createdAt: T },
  ...changes,
});

function keyOf(accountId: string) {
  const id = newId('key', T);
  const rest = { name: 'ci', scope: 'full' as const, prefix: 'mfk_ab', createdAt: T, expiresAt: null };
  return { id, accountId, ...rest, hash: `hash of ${id}` };
}

/** What an account has, with one of everything. */
interface Filled {
  owner: string;
  key: ReturnType<typeof keyOf>;
  live: InboxRecord;
  domain: string;
}

async function fill(given: Given, on?: Opened): Promise<Filled> {
  const { store } = on ?? given;
  const owner = await given.account(on);
  const key = keyOf(owner);
  await store.keys.create(key);
  const request = { keyId: key.id, keyHash: 'k', bodyHash: 'b', nonce: 'n' };
  const labelled = inboxAt({ labels: { run: '1' } });
  const own = { ...webhookAt(), maxWebhooks: 10 };
  const { inbox: live } = await store.inboxes.create(owner, labelled, 10, request, own);
  const expired = await given.inbox(owner, { expiresAt: T + 1 }, on);
  const webhook = await store.webhooks.create(owner, webhookAt(), 10);
  for (const inbox of [live, expired]) {
    for (let i = 0; i < 3; i++) await onlyPlaced(store, mailTo([inbox]), T);
    await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(3_000_000) }), T);
  }
  const all = await store.deliveries.claim({ prompt: 100, other: 100, leaseMs: 1000 }, T);
  const claimed = all.find(({ webhookId }) => webhookId === webhook.id);
  if (!claimed) throw new Error('nothing was claimed');
  const attempt = { at: T, status: 500, durationMs: 5, error: null, responseStart: '' };
  const { webhookId, id: deliveryId, leasedUntil } = claimed;
  await store.deliveries.record(
    { webhookId, deliveryId, leasedUntil, attempt, next: { state: 'delivered', reason: null } },
    T,
  );
  const kept = {
    owner: { id: owner, accountId: owner },
    provider: 'ses',
    kind: 'settings',
    name: '',
  } as const;
  await store.providerItems.keep(kept, {}, T + 1e9);
  const event = {
    id: newId('out', T),
    accountId: owner,
    inboxId: null,
    kind: 'handshake',
    messageId: null,
  } as const;
  await store.outgoing.add([{ ...event, ref: null, details: {}, raw: null, dueAt: T }], T);
  const domain = `${owner.slice(4).toLowerCase()}.test`;
  await store.domains.add({ domain, accountId: owner, createdAt: T });
  return { owner, key, live, domain };
}

/** More than one test creates, however long the deletion waits for its turn. */
const PLENTY = 100_000;

/** What would be made for an account, as a server would do it that does not know yet; its outcomes. */
async function makeAll(store: Store, owner: string) {
  const made = await Promise.allSettled([
    store.keys.create(keyOf(owner)),
    store.inboxes.create(owner, inboxAt(), PLENTY, null),
    store.webhooks.create(owner, webhookAt(), PLENTY),
  ]);
  return made.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.code : 'made'));
}

const NOW = T + 10;

/** What the contract promises about `accounts.delete`. */
export function describeDeletion(given: Given): void {
  describe('the deletion of an account', () => {
    it('leaves nothing of it when it is answered, and all of another', async () => {
      const on = await given.fresh();
      const other = await fill(given, on);
      await sweepAll(on.store, NOW);
      const before = await on.counts();
      const { owner, key, live, domain } = await fill(given, on);
      await onlyPlaced(on.store, mailTo([live, other.live]), T);
      expect(await on.store.accounts.delete(owner, NOW)).toBe('deleted');

      expect(await on.store.accounts.find(owner)).toBeUndefined();
      expect(await on.store.accounts.findFirst()).toMatchObject({ id: other.owner });
      expect(await on.store.keys.findByHash(key.hash, NOW)).toBeUndefined();
      expect(await on.store.keys.list(owner)).toEqual([]);
      expect(await on.store.inboxes.findByAddress(live.address, NOW)).toBeUndefined();
      expect(await on.store.inboxes.find(owner, live.id, NOW)).toBeUndefined();
      expect(await on.store.domains.find(domain)).toBeUndefined();
      const { addresses, messages = 0, sources = 0, readings = 0, deliveries = 0, ...rest } = before;
      expect(await on.counts()).toEqual({
        ...rest,
        // Its two addresses stay in quarantine, and the mail to both stays with the other one.
        addresses: (addresses ?? 0) + 2,
        messages: messages + 1,
        sources: sources + 1,
        readings: readings + 1,
        shared_sources: 1,
        deliveries: deliveries + 2,
      });
      expect(await on.store.messages.listRows(other.live.id, everything, NOW)).toHaveLength(5);
      expect((await on.store.keys.findByHash(other.key.hash, NOW))?.account.id).toBe(other.owner);
      expect(await on.store.domains.find(other.domain)).toBeDefined();
      expect(await on.store.accounts.delete(owner, NOW)).toBe('unknown');
    });

    it('keeps its keys revoked, also when a setting names one of them for another account', async () => {
      const { keys, accounts } = given.store;
      const { owner, key } = await fill(given);
      const next = await given.account();
      await accounts.delete(owner, NOW);
      await keys.create({ ...key, id: `${key.id}2`, accountId: next });
      expect(await keys.findByHash(key.hash, NOW)).toBeUndefined();
    });

    it('keeps its addresses from others for as long as after any inbox', async () => {
      const { inboxes, accounts } = given.store;
      const { owner, live } = await fill(given);
      const other = await given.account();
      await accounts.delete(owner, NOW);
      const create = (createdAt: number) =>
        inboxes.create(other, inboxAt({ address: live.address, createdAt }), 10, null);
      const end = NOW + ADDRESS_QUARANTINE_MS;
      await expect(create(end - 1)).rejects.toMatchObject({ code: 'address_taken' });
      expect((await create(end)).inbox.address).toBe(live.address);
    });

    it('ends what a server makes meanwhile, and nothing is made after it', async () => {
      const on = await given.freshServer();
      await given.account(on);
      const before = await on.counts();
      const operator = await on.openAnother();
      const { owner } = await fill(given, on);
      let isOver = false;
      const deleting = operator.accounts.delete(owner, NOW).finally(() => {
        isOver = true;
      });
      const outcomes = new Set<string>();
      for (let i = 0; i < PLENTY && !isOver; i++) {
        for (const outcome of await makeAll(on.store, owner)) outcomes.add(outcome);
      }
      expect(await deleting).toBe('deleted');
      expect([...outcomes].filter((outcome) => outcome !== 'made')).toEqual(['unauthorized']);
      expect(await makeAll(on.store, owner)).toEqual(Array(3).fill('unauthorized'));
      const domain = { domain: 'late.test', accountId: owner, createdAt: T };
      expect(await on.store.domains.add(domain)).toBe(false);
      const { addresses: _, ...after } = await on.counts();
      expect(after).toEqual({ ...before, addresses: undefined });
    });

    it('leaves the only account as it is', async () => {
      const on = await given.fresh();
      const { owner, key, live } = await fill(given, on);
      const before = await on.counts();
      expect(await on.store.accounts.delete('acc_none', NOW)).toBe('unknown');
      expect(await on.store.accounts.delete(owner, NOW)).toBe('last');
      expect(await on.counts()).toEqual(before);
      expect(await on.store.keys.findByHash(key.hash, NOW)).toBeDefined();
      expect(await on.store.inboxes.findByAddress(live.address, NOW)).toBeDefined();
    });

    it('of the last two at once leaves one', async () => {
      const on = await given.freshServer();
      const operator = await on.openAnother();
      const [a, b] = [await given.account(on), await given.account(on)];
      const outcomes = await Promise.all([
        on.store.accounts.delete(a, NOW),
        operator.accounts.delete(b, NOW),
      ]);
      expect(outcomes.toSorted()).toEqual(['deleted', 'last']);
      expect(await on.store.accounts.findFirst()).toBeDefined();
    });
  });
}
