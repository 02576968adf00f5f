import type { FailedHandshake, OtherMail as ShownMail, NearMiss as ShownMiss } from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { domainOf } from '../mail/address.ts';
import {
  areDomainsAlike,
  type Found,
  findSimilar,
  type RecipientLines,
} from '../mail/matching/similar-addresses.ts';
import type { HeldDeps } from '../messages/held.ts';
import { NO_RECIPIENT, REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';

/** Evidence from this long before a wait counts too, because a test triggers the mail before it waits. */
const LEAD_MS = 30 * SECOND_MS;
/** An explanation contains at most this many items of each kind: the newest. */
const MAX_SHOWN = 20;
/** Mail for more than this many other addresses probably belongs to other tests, so none of it is shown. */
const MAX_OTHERS = 5;
const MAX_COMPARED = 200;

/** An item of the API whose `at` is in epoch milliseconds. */
type Timed<Shown extends { at: string }> = Omit<Shown, 'at'> & { at: number };
export type NearMiss = Timed<ShownMiss>;
export type OtherMail = Timed<ShownMail>;

export interface Evidence {
  refused: Refusal[];
  nearMisses: NearMiss[];
  otherMail: OtherMail[];
  /** `hasRecovered`: the client delivered mail later, so the failed handshake is not why the awaited mail is missing. */
  failedHandshakes: (Timed<FailedHandshake> & { hasRecovered: boolean })[];
}

type Peer = Pick<Refusal, 'remoteAddress' | 'helo'>;

export interface SmtpClients {
  /** When an SMTP client was last active, epoch milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** Clients that disconnected after this time without naming a recipient, newest first. No health checks. */
  earlyLeavers(after: number): Peer[];
  hasDeliveredSince(client: Peer, at: number): boolean;
}

export interface EvidenceDeps {
  held: HeldDeps;
  refusalsWritten(): Promise<void>;
  store: Pick<Store, 'accounts' | 'inboxes' | 'domains' | 'refusals' | 'outgoing'>;
  domains: readonly string[];
  visits: SmtpClients | null;
  /** False if other processes receive mail too, because this one does not know the clients of the others. */
  seesAllClients: boolean;
  /** False for a read token, whose holder must not learn about other inboxes of the account. */
  ownsAccount: boolean;
  /** IP address of the waiting client. An IPv4-mapped address is given as IPv4. */
  remoteAddress: string;
}

export interface Surroundings extends Evidence {
  /** Inboxes for mail to addresses without an inbox; null if there is none or the caller must not know it. */
  sinkId: string | null;
  catchAllId: string | null;
  /** Inboxes that the evidence names, by id. An address without an id is the key of its last inbox. */
  inboxes: ReadonlyMap<string, InboxRecord>;
  leaver: Peer | undefined;
  /** Mail to this inbox that an application has scheduled: how many messages, and when the first is due. */
  held: { count: number; firstAt: number | null };
  /** When an SMTP client was last active, epoch milliseconds; null before the first, undefined if unknown. */
  lastClientAt: number | null | undefined;
  clientsAfter: number;
}

const newestOf = <T extends { at: number }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.at - a.at).slice(0, MAX_SHOWN);

/** A failed wait; times are epoch milliseconds. */
interface Failed {
  inbox: InboxRecord;
  from: number;
  begun: number;
  now: number;
  hasArrived: boolean;
  /** Whether the message that the inbox received at this time meets the conditions of the wait. */
  meets(inboxId: string, at: number): Promise<boolean>;
}

/** A failed wait, and times (epoch milliseconds): only evidence after these times is searched. */
interface Search extends EvidenceDeps, Failed {
  /** For mail to the address of the inbox. */
  ownAfter: number;
  /** For mail to other addresses. */
  sharedAfter: number;
  clientsAfter: number;
}

function searchOf(deps: EvidenceDeps, failed: Failed): Search {
  const { inbox, from, begun, now } = failed;
  const oldest = Math.max(from, now - REFUSAL_KEPT_MS);
  const ownAfter = Math.max(oldest, inbox.createdAt - LEAD_MS);
  const sharedAfter = Math.max(oldest, begun - LEAD_MS);
  const clientsAfter = Math.max(sharedAfter, inbox.createdAt - 1);
  return { ...deps, ...failed, ownAfter, sharedAfter, clientsAfter };
}

/** Collects the evidence for a failed wait. Each query has a limit and uses an index. */
export async function evidenceOf(deps: EvidenceDeps, failed: Failed): Promise<Surroundings> {
  const search = searchOf(deps, failed);
  const { store, visits, inbox, now, clientsAfter } = search;
  const after = Math.min(search.ownAfter, clientsAfter);
  await deps.refusalsWritten();
  const concerning = await store.refusals.listConcerning(inbox.address, after, now);
  const own = await ownRefusals(search, concerning);
  const unnamed = await withoutRecipient(search, concerning);
  const captured = await capturedMail(search, concerning);
  const { recipients, sinkId, catchAllId } = await elsewhere(search);
  const nearMisses = newestOf(await nearMissesAmong(search, recipients));
  const otherMail = [...captured, ...earlyMail(search, recipients)].slice(0, MAX_OTHERS);
  const failures = unnamed.failedHandshakes.filter(({ hasRecovered }) => !hasRecovered);
  const found = [own, unnamed.refused, failures, nearMisses, otherMail].flat();
  if (found.length === 0 && !failed.hasArrived) otherMail.push(...(await guessesAmong(search, recipients)));
  return {
    refused: newestOf([...own, ...unnamed.refused]),
    ...{ nearMisses, otherMail, failedHandshakes: unnamed.failedHandshakes },
    ...{ sinkId, catchAllId, inboxes: await inboxesOf(search, [...nearMisses, ...otherMail]) },
    leaver: (await visible(search, visits?.earlyLeavers(clientsAfter) ?? []))[0],
    ...{ clientsAfter, lastClientAt: deps.seesAllClients ? visits?.lastAt : undefined },
    held: await store.outgoing.held(inbox.id, now),
  };
}

async function ownRefusals(search: Search, concerning: readonly Refusal[]): Promise<Refusal[]> {
  const { store, inbox, now, ownAfter } = search;
  const all =
    inbox.kind === 'catch-all'
      ? await store.refusals.listByDomain(inbox.domain, inbox.id, MAX_SHOWN, now)
      : concerning.filter(({ address }) => address === inbox.address);
  const newer = all.filter(({ at }) => at > ownAfter);
  return newer.length > 0 && (await usableAmong(search, [inbox.address])).size > 0 ? newer : [];
}

/** Failed TLS handshakes, and refusals of MAIL and AUTH. None of them names a recipient. */
async function withoutRecipient(search: Search, concerning: readonly Refusal[]) {
  const { visits, clientsAfter } = search;
  const unnamed = concerning.filter(({ address, at }) => address === NO_RECIPIENT && at > clientsAfter);
  const shown = await visible(search, unnamed);
  const hasCode = ({ reply }: Refusal): boolean => /^\d{3} /.test(reply);
  const handshakes = shown
    .filter((one) => !hasCode(one))
    .map(({ at, remoteAddress, helo, reply }) => ({
      ...{ at, remoteAddress, reason: reply },
      hasRecovered: visits?.hasDeliveredSince({ remoteAddress, helo }, at) ?? false,
    }));
  return { refused: shown.filter(hasCode), failedHandshakes: newestOf(handshakes) };
}

/** With a key of the server's only account, the caller may see all clients, otherwise those with its IP. */
async function visible<T extends Pick<Peer, 'remoteAddress'>>(search: Search, clients: readonly T[]) {
  const callers = clients.filter(({ remoteAddress }) => remoteAddress === search.remoteAddress);
  return callers.length < clients.length && (await isOnlyAccount(search)) ? clients : callers;
}

const isOnlyAccount = async ({ ownsAccount, store }: Search): Promise<boolean> =>
  ownsAccount && (await store.accounts.list(2)).length === 1;

/** Mail to the inbox's address that went to another inbox, because its sender authenticated for that one. */
async function capturedMail(search: Search, concerning: readonly Refusal[]): Promise<OtherMail[]> {
  const { ownsAccount, store, inbox, now, ownAfter } = search;
  const mails: OtherMail[] = [];
  for (const { at, capturedBy } of ownsAccount ? concerning : []) {
    if (at <= ownAfter || capturedBy?.accountId !== inbox.accountId) continue;
    const { inboxId } = capturedBy;
    const other = await store.inboxes.find(inbox.accountId, inboxId, now);
    const isLive = other && other.expiresAt > now;
    if (isLive) mails.push({ address: inbox.address, at, reason: 'same-recipient', inboxId });
  }
  return mails;
}

/** A recipient of mail that was refused, or that the sink or a catch-all inbox received. */
interface Recipient extends Found {
  outcome: NearMiss['outcome'];
  /** Null for refused mail, and if the caller may not know the inbox. */
  inboxId: string | null;
}

/** Similar (and a few other) recipients of mail that was refused or went to the sink or a catch-all inbox. */
async function elsewhere({ held, store, ownsAccount, inbox, now, sharedAfter }: Search) {
  const { ofDomain, sink } = await store.inboxes.findTakers(inbox.address, now);
  const ownId = (taker: typeof sink): string | null =>
    taker && taker.inboxId !== inbox.id && taker.accountId === inbox.accountId && ownsAccount
      ? taker.inboxId
      : null;
  const [sinkId, catchAllId] = [ownId(sink), ownId(ofDomain?.live)];
  // Rounded to whole seconds, so that waits that end at about the same time share the queries.
  const after = Math.floor(sharedAfter / SECOND_MS) * SECOND_MS;
  const similar = (lines: RecipientLines, outcome: NearMiss['outcome'], inboxId: string | null) =>
    findSimilar(lines, inbox, MAX_OTHERS + 1).map((one) => ({ ...one, outcome, inboxId }));
  const received = async (taker: string, inboxId: string | null): Promise<Recipient[]> =>
    similar(await held.store.messages.recipients(taker, after, now), 'received', inboxId);
  const recipients = similar(await held.store.refusals.recent(after, now), 'refused', null);
  if (sink && sink.inboxId !== inbox.id) recipients.push(...(await received(sink.inboxId, sinkId)));
  if (catchAllId !== null) recipients.push(...(await received(catchAllId, catchAllId)));
  return { recipients, sinkId, catchAllId };
}

/** Mail to the inbox's address that a sink or catch-all received before the inbox was created. */
function earlyMail({ inbox, sharedAfter }: Search, recipients: readonly Recipient[]): OtherMail[] {
  const isEarly = ({ address, at, inboxId }: Recipient): boolean =>
    address === inbox.address && inboxId !== null && at > sharedAfter && at <= inbox.createdAt;
  return recipients
    .filter(isEarly)
    .map(({ address, at, inboxId }) => ({ address, at, reason: 'same-recipient', inboxId }));
}

/** Mail to similar addresses, except addresses of other accounts. */
async function nearMissesAmong(search: Search, recipients: readonly Recipient[]): Promise<NearMiss[]> {
  const misses = new Map<string, NearMiss>();
  for (const { isSimilar, ...one } of recipients) {
    if (!isSimilar || one.address === search.inbox.address || one.at <= search.clientsAfter) continue;
    const key = `${one.outcome} ${one.address}`;
    const { times, ...newest } = misses.get(key) ?? { ...one, times: 0 };
    misses.set(key, { ...newest, times: times + 1 });
  }
  const all = [...misses.values()];
  const refused = all.filter(({ outcome }) => outcome === 'refused').map(({ address }) => address);
  const known = await refusedAmong(search, refused);
  const left = all.filter(({ outcome, address }) => outcome === 'received' || known.has(address));
  const unassigned = left.filter(({ inboxId }) => inboxId === null).map(({ address }) => address);
  const usable = await usableAmong(search, unassigned);
  return left.filter(({ inboxId, address }) => inboxId !== null || usable.has(address));
}

/** Returns the given addresses that were refused most recently, without addresses of other accounts. */
async function refusedAmong(search: Search, addresses: readonly string[]): Promise<ReadonlySet<string>> {
  const { store, ownsAccount, inbox, now, clientsAfter } = search;
  if (addresses.length === 0) return new Set();
  const page = { after: clientsAfter, limit: MAX_SHOWN, among: addresses.slice(0, MAX_COMPARED) };
  return new Set(await store.refusals.listAddresses(ownsAccount ? inbox.accountId : null, page, now));
}

/** Selects addresses on domains that the account can use, or that are similar to a domain of the server. */
async function usableAmong(search: Search, addresses: readonly string[]): Promise<ReadonlySet<string>> {
  const { domains, store, inbox } = search;
  const isShared = (domain: string): boolean => {
    const parent = domain.slice(domain.indexOf('.') + 1);
    return domains.some((one) => one === domain || one === parent || areDomainsAlike(one, domain));
  };
  const others = addresses.filter((address) => !isShared(domainOf(address)));
  const own = others.length === 0 ? [] : await store.domains.list(inbox.accountId);
  const isOwn = (address: string): boolean => own.some(({ domain }) => domain === domainOf(address));
  const unusable = new Set(others.filter((address) => !isOwn(address)));
  return new Set(addresses.filter((address) => !unusable.has(address)));
}

/** Mail to other addresses that may have been meant for this inbox; [] for more than MAX_OTHERS addresses. */
async function guessesAmong(search: Search, recipients: readonly Recipient[]): Promise<OtherMail[]> {
  const others = recipients.filter(({ isSimilar, at }) => !isSimilar && at > search.clientsAfter);
  if (others.length > MAX_OTHERS || !search.ownsAccount) return [];
  const refused = others.filter(({ inboxId }) => inboxId === null).map(({ address }) => address);
  const isKnowable = refused.length > 0 && (await isOnlyAccount(search));
  const known = await refusedAmong(search, isKnowable ? refused : []);
  const guesses: OtherMail[] = [];
  for (const { address, at, outcome, inboxId } of others) {
    const reason = outcome === 'refused' ? 'refused' : 'meets-conditions';
    const isGuess = inboxId === null ? known.has(address) : await search.meets(inboxId, at);
    if (isGuess) guesses.push({ address, at, reason, inboxId });
  }
  return guesses;
}

async function inboxesOf(search: Search, mails: readonly (NearMiss | OtherMail)[]) {
  const { ownsAccount, store, inbox, now } = search;
  const named = new Map<string, InboxRecord>();
  for (const { address, inboxId } of ownsAccount ? mails : []) {
    const other = inboxId ?? (await store.inboxes.findTakers(address, now)).ofAddress?.inboxId;
    const record = other ? await store.inboxes.find(inbox.accountId, other, now) : undefined;
    if (record) named.set(inboxId ?? address, record);
  }
  return named;
}
