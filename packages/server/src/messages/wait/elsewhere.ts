import { isSubdomainOf, usableDomains } from '../../accounts/domains.ts';
import { MINUTE_MS, SECOND_MS } from '../../clock.ts';
import { domainOf } from '../../mail/address.ts';
import { areDomainsAlike } from '../../mail/matching/similar-addresses.ts';
import type { InboxRecord, Refusal, Store } from '../../store/contract/index.ts';
import { REFUSAL_KEPT_MS } from '../../store/contract/retention.ts';
import type { HeldDeps } from '../held/held-deps.ts';
import { type ExplanationCaller, type FailedHandshake, withoutRecipient } from './without-recipient.ts';

/** Refusals that an explanation shows, the newest. */
const MAX_REFUSED = 20;
/** Near misses that it shows, the latest. */
const MAX_NEAR_MISSES = 20;
/** A near miss elsewhere counts from so long before the wait: the mail is sent, and then waited for. */
export const BEFORE_WAIT_MS = MINUTE_MS;

/** Mail sent to a similar address, possibly intended for the inbox that waits. */
export interface NearMiss {
  address: string;
  /** The last time, epoch ms. */
  at: number;
  times: number;
  /** `refused`: no inbox takes mail for the address. `received`: another inbox of the account does, or the sink. */
  outcome: 'refused' | 'received';
  /** Null where no inbox took the mail, or one that the caller must not know. */
  inboxId: string | null;
}

/** Mail that an inbox did not get, though it may have been intended for it. */
export interface Elsewhere {
  refused: Refusal[];
  nearMisses: NearMiss[];
  failedHandshakes: FailedHandshake[];
  /** The inbox that takes what no other one takes; null without one. */
  sinkId: string | null;
}

export interface ElsewhereDeps {
  held: HeldDeps;
  store: Pick<Store, 'accounts' | 'inboxes' | 'refusals' | 'domains'>;
  /** Domains that all accounts share. */
  domains: readonly string[];
}

/** What counts: refused mail after `from`, near misses in other inboxes since a while before `begun`; epoch ms. */
interface Times {
  from: number;
  begun: number;
  now: number;
}

/**
 * Finds mail that may have been intended for an inbox and did not arrive there.
 * @param from refused mail counts after this time, epoch ms
 * @param begun when the wait began, epoch ms
 */
export async function lookElsewhere(
  deps: ElsewhereDeps,
  inbox: InboxRecord,
  { from, begun }: { from: number; begun: number },
  caller: ExplanationCaller,
): Promise<Elsewhere> {
  const { held, store, domains } = deps;
  const now = held.clock.now();
  const after = Math.max(from, now - REFUSAL_KEPT_MS);
  const isUsable = await usableAddresses(store, inbox.accountId, domains);
  const refused = isUsable(inbox.address) ? await refusedOf(store, inbox, now) : [];
  const unnamed = await withoutRecipient(store, inbox, caller, { after, now });
  const times = { from: after, begun, now };
  const { sink } = await store.inboxes.findTakers(inbox.address, now);
  const nearMisses = [
    ...(await refusedElsewhere(held, inbox, caller, times)).filter(({ address }) => isUsable(address)),
    ...(await receivedElsewhere({ deps, sink }, inbox, caller, times, isUsable)),
  ];
  return {
    refused: [...refused.filter(({ at }) => at > after), ...unnamed.refused]
      .toSorted((a, b) => b.at - a.at)
      .slice(0, MAX_REFUSED),
    nearMisses: nearMisses.toSorted((a, b) => b.at - a.at).slice(0, MAX_NEAR_MISSES),
    failedHandshakes: unnamed.failedHandshakes,
    sinkId: sink?.inboxId ?? null,
  };
}

/**
 * The test whether an account may have inboxes on the domain of an address, or that domain is a typing error of a
 * shared one. A domain may have gone to another account since, and mail that is sent there is not visible to this
 * one any more.
 */
async function usableAddresses(
  store: ElsewhereDeps['store'],
  accountId: string,
  domains: readonly string[],
): Promise<(address: string) => boolean> {
  const shared = new Set(domains);
  const usable = new Set(
    usableDomains(domains, await store.domains.list(accountId)).map(({ domain }) => domain),
  );
  const isMistyped = (domain: string): boolean => domains.some((served) => areDomainsAlike(domain, served));
  return (address) => {
    const domain = domainOf(address);
    return usable.has(domain) || isSubdomainOf(shared, domain) || isMistyped(domain);
  };
}

/** Refused mail that the inbox would have taken. */
function refusedOf(
  { refusals }: ElsewhereDeps['store'],
  { id, kind, address, domain }: InboxRecord,
  now: number,
): Promise<Refusal[]> {
  return kind === 'catch-all'
    ? refusals.listByDomain(domain, id, MAX_REFUSED, now)
    : refusals.list(address, MAX_REFUSED, now);
}

/** Whole seconds, so that waits that end together share their reads. */
export const wholeSeconds = (time: number): number => Math.floor(time / SECOND_MS) * SECOND_MS;

/** Refused mail for similar addresses. */
async function refusedElsewhere(
  { store }: HeldDeps,
  { accountId, kind, address, domain }: InboxRecord,
  { ownsAccount }: ExplanationCaller,
  { from, now }: Times,
): Promise<NearMiss[]> {
  const similarTo = { kind, address, domain };
  const page = { after: wholeSeconds(from), limit: MAX_NEAR_MISSES, similarTo };
  const found = await store.refusals.listAddresses(accountId, ownsAccount ? accountId : null, page, now);
  return found.map((refusal) => ({ ...refusal, outcome: 'refused', inboxId: null }));
}

type Sink = Awaited<ReturnType<Store['inboxes']['findTakers']>>['sink'];

/** Mail for similar addresses that other inboxes of the account received, or the sink. */
async function receivedElsewhere(
  { deps: { held }, sink }: { deps: ElsewhereDeps; sink: Sink },
  inbox: InboxRecord,
  { ownsAccount }: ExplanationCaller,
  { begun, now }: Times,
  isUsable: (address: string) => boolean,
): Promise<NearMiss[]> {
  const { accountId } = inbox;
  const { messages } = held.store;
  const wanted = { kind: inbox.kind, address: inbox.address, domain: inbox.domain };
  const time = wholeSeconds(begun - BEFORE_WAIT_MS);
  const misses: NearMiss[] = [];
  if (ownsAccount) {
    const after = await messages.placeInAccount(accountId, time);
    const found = await messages.listSimilar(accountId, { accountId }, wanted, after, now);
    const others = found.filter(({ inboxId }) => inboxId !== inbox.id).toSorted((a, b) => b.at - a.at);
    for (const one of others) {
      if (misses.length === MAX_NEAR_MISSES) break;
      // The search may be a moment old, and an inbox that ended since must not show.
      const other = await held.store.inboxes.find(accountId, one.inboxId, now);
      if (other && other.expiresAt > now) misses.push({ ...one, outcome: 'received' });
    }
  }
  const isOwn = ownsAccount && sink?.accountId === accountId;
  if (sink && !isOwn && sink.inboxId !== inbox.id) {
    const { inboxId } = sink;
    const found = await messages.listSimilar(accountId, { inboxId }, wanted, time, now);
    const visible = found.filter(({ address }) => isUsable(address));
    misses.push(...visible.map((one) => ({ ...one, outcome: 'received' as const, inboxId: null })));
  }
  return misses;
}
