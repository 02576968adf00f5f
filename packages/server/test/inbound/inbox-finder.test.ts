import { describe, expect, it } from 'vitest';
import { createPlans } from '../../src/accounts/plans.ts';
import { systemClock } from '../../src/clock.ts';
import { Recipients } from '../../src/inbound/receiver.ts';
import type { AddressedInbox, InboxKind } from '../../src/inboxes/records.ts';
import type { Store } from '../../src/store.ts';

const NOW = 1_000;

const inbox = (kind: InboxKind, address: string, accountId = 'acc_1'): AddressedInbox => ({
  ...{ inboxId: `inb_${address}`, kind, accountId, plan: 'free', address },
  ...{ messageCount: 0, expiresAt: NOW + 1_000_000, hasFaults: false },
});
const known = inbox('address', 'known@mayfly.test');
const owned = inbox('address', 'known@ours.test');
const ofDomain = inbox('catch-all', 'inbox@ours.test');
const ofSubdomain = inbox('catch-all', 'inbox@sub.mayfly.test');
const sink = inbox('sink', 'sink@mayfly.test');

/** A finder on a store in memory, and the names of the store's methods that it called. */
function start(withSink: boolean) {
  const calls: string[] = [];
  const all = [known, owned, ofDomain, ofSubdomain, sink];
  const store = {
    generation: () => 1,
    domains: {
      find: async (domain: string) => {
        calls.push('domains.find');
        return domain === 'ours.test' ? { domain, accountId: 'acc_1', createdAt: 0 } : undefined;
      },
    },
    inboxes: {
      findByAddress: async (address: string) => {
        calls.push('findByAddress');
        return all.find((one) => one.address === address);
      },
      findTakers: async (address: string) => {
        calls.push('findTakers');
        const live = [ofDomain, ofSubdomain].find(
          (one) => one.address.split('@')[1] === address.split('@')[1],
        );
        return { ofAddress: undefined, ofDomain: live && { inboxId: live.inboxId, live }, sink };
      },
    },
  } as unknown as Store;
  const clock = { ...systemClock, now: () => NOW, monotonic: () => NOW };
  const finder = new Recipients({
    ...{ store, clock, plans: createPlans(), domains: ['mayfly.test'], sink: withSink },
  });
  return {
    calls,
    find: (address: string) => finder.find({ address, domain: address.split('@')[1] ?? '' }),
  };
}

describe('finding the inbox for a recipient', () => {
  it.each<[string, boolean, AddressedInbox | undefined, string[]]>([
    ['known@mayfly.test', false, known, ['findByAddress']],
    ['known@mayfly.test', true, known, ['findByAddress']],
    ['other@mayfly.test', false, undefined, ['findByAddress']],
    ['other@mayfly.test', true, sink, ['findByAddress', 'findTakers']],
    ['known@ours.test', false, owned, ['domains.find', 'findByAddress']],
    ['other@ours.test', false, ofDomain, ['domains.find', 'findByAddress', 'findTakers']],
    ['any@sub.mayfly.test', false, ofSubdomain, ['domains.find', 'findTakers']],
    ['any@other.mayfly.test', false, undefined, ['domains.find', 'findTakers']],
    ['any@example.com', false, undefined, ['domains.find']],
    ['any@example.com', true, sink, ['domains.find', 'findTakers']],
  ])(
    'takes one look-up more only where the address has no inbox: %s, sink %s',
    async (address, on, found, calls) => {
      const started = start(on);
      expect(await started.find(address)).toBe(found);
      expect(started.calls).toEqual(calls);
    },
  );
});
