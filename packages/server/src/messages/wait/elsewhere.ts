import { isSubdomainOf, usableDomains } from '../../accounts/domains.ts';
import type { Clock } from '../../clock.ts';
import { inboxAddress, parseAddress } from '../../mail/address.ts';
import type {
  AddressedInbox,
  InboxRecord,
  MessageRecord,
  Refusal,
  Store,
} from '../../store/contract/index.ts';
import { REFUSAL_KEPT_MS } from '../../store/contract/retention.ts';
import { type ExplanationCaller, type FailedHandshake, failedHandshakes } from './failed-handshakes.ts';
import { areAlike, areDomainsAlike } from './similar-addresses.ts';

/** Refusals that an explanation shows, the newest. */
const MAX_REFUSED = 20;
/** Near misses that it shows, the latest. */
const MAX_NEAR_MISSES = 20;
/** Addresses and messages looked through for near misses: about a millisecond. */
const MAX_CANDIDATES = 300;
/** A near miss elsewhere counts from so long before the wait: the mail is sent, and then waited for. */
const BEFORE_WAIT_MS = 60_000;

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
}

export interface ElsewhereDeps {
  store: Pick<Store, 'accounts' | 'inboxes' | 'messages' | 'refusals' | 'domains'>;
  /** Domains that all accounts share. */
  domains: readonly string[];
  clock: Pick<Clock, 'now'>;
}

/**
 * Finds mail that may have been intended for an inbox and did not arrive there.
 * @param from refused mail counts after this time, epoch ms
 * @param begun when the wait began, epoch ms
 */
export async function lookElsewhere(
  { store, clock, domains }: ElsewhereDeps,
  inbox: InboxRecord,
  { from, begun }: { from: number; begun: number },
  caller: ExplanationCaller,
): Promise<Elsewhere> {
  const { ownsAccount } = caller;
  const now = clock.now();
  const after = Math.max(from, now - REFUSAL_KEPT_MS);
  const isUsable = await usableAddresses(store, inbox.accountId, domains);
  const refused = isUsable(inbox.address) ? await refusedOf(store, inbox, now) : [];
  const addresses = await store.refusals.listAddresses(
    ownsAccount ? inbox.accountId : null,
    { after, limit: MAX_CANDIDATES },
    now,
  );
  const nearMisses: NearMiss[] = addresses
    .filter(({ address }) => isNearMiss(address, inbox) && isUsable(address))
    .map((refusal) => ({ ...refusal, outcome: 'refused', inboxId: null }));
  const time = begun - BEFORE_WAIT_MS;
  const { sink } = await store.inboxes.findTakers(inbox.address, now);
  if (ownsAccount) nearMisses.push(...(await receivedElsewhere(store, inbox, sink, time, now)));
  if (sink) {
    const isTheirs = ownsAccount && sink.accountId === inbox.accountId;
    const received = await receivedBySink(store, inbox, sink, time, now);
    if (isTheirs) nearMisses.push(...received);
    else {
      const visible = received.filter(({ address }) => isUsable(address));
      nearMisses.push(...visible.map((miss) => ({ ...miss, inboxId: null })));
    }
  }
  return {
    refused: refused.filter(({ at }) => at > after),
    nearMisses: nearMisses.toSorted((a, b) => b.at - a.at).slice(0, MAX_NEAR_MISSES),
    failedHandshakes: await failedHandshakes(store, inbox, caller, { after, now }),
  };
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/**
 * The test whether an account may have inboxes on the domain of an address. A domain may have gone to
 * another account since, and mail that is sent there is not visible to this one any more.
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
  return (address) => {
    const domain = domainOf(address);
    return usable.has(domain) || isSubdomainOf(shared, domain);
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

/** Whether mail to that address may have been intended for the inbox; none was intended for the sink. */
function isNearMiss(address: string, { kind, address: wanted, domain }: InboxRecord): boolean {
  if (kind === 'sink') return false;
  return kind === 'catch-all' ? areDomainsAlike(domainOf(address), domain) : areAlike(address, wanted);
}

/** Mail in the account's other inboxes, but for the sink, that was sent to similar addresses. */
async function receivedElsewhere(
  store: ElsewhereDeps['store'],
  inbox: InboxRecord,
  sink: AddressedInbox | undefined,
  time: number,
  now: number,
): Promise<NearMiss[]> {
  const { id, accountId } = inbox;
  const after = await store.messages.placeInAccount(accountId, time);
  const messages = await store.messages.listByAccount(accountId, { after, limit: MAX_CANDIDATES }, now);
  const misses = new Map<string, NearMiss>();
  for (const message of messages) {
    const isElsewhere = message.inboxId !== id && message.inboxId !== sink?.inboxId;
    if (isElsewhere) countNearMisses(misses, inbox, message);
  }
  return [...misses.values()];
}

/** The newest mail in the sink that was sent to similar addresses: where no inbox refuses, typing errors end up there. */
async function receivedBySink(
  store: ElsewhereDeps['store'],
  inbox: InboxRecord,
  sink: AddressedInbox,
  time: number,
  now: number,
): Promise<NearMiss[]> {
  if (sink.inboxId === inbox.id) return [];
  const range = { after: time, before: Number.POSITIVE_INFINITY, limit: MAX_CANDIDATES };
  const misses = new Map<string, NearMiss>();
  for (const message of (await store.messages.list(sink.inboxId, range, now)).reverse()) {
    countNearMisses(misses, inbox, message);
  }
  return [...misses.values()];
}

/** Adds those recipients of a message that are near misses; one inbox may have several. */
function countNearMisses(
  misses: Map<string, NearMiss>,
  wanted: InboxRecord,
  { inboxId, receivedAt: at, rcptTo }: MessageRecord,
): void {
  const addresses = rcptTo.map((recipient) => parseAddress(recipient, { smtputf8: true }));
  for (const address of new Set(addresses.map((parsed) => (parsed ? inboxAddress(parsed) : '')))) {
    if (!isNearMiss(address, wanted)) continue;
    const key = `${inboxId} ${address}`;
    const times = (misses.get(key)?.times ?? 0) + 1;
    misses.set(key, { address, at, times, outcome: 'received', inboxId });
  }
}
