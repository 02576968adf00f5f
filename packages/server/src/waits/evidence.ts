import type { FailedHandshake, OtherMail as ShownMail, NearMiss as ShownMiss } from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { domainOf, inboxAddress, parseAddress } from '../mail/address.ts';
import { areDomainsAlike, findSimilar, type RecipientLines } from '../mail/matching/similar-addresses.ts';
import type { HeldDeps } from '../messages/held.ts';
import { NO_RECIPIENT, REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';

/** A test triggers mail before it waits, so earlier evidence counts. Playwright limits a test to 30 s. */
const LEAD_MS = 30 * SECOND_MS;
/** An explanation contains at most this many items of each kind, the newest ones. */
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
  /** `hasRecovered`: the client has delivered mail since, so the failed handshake is not the cause. */
  failedHandshakes: (Timed<FailedHandshake> & { hasRecovered: boolean })[];
}

type Peer = Pick<Refusal, 'remoteAddress' | 'helo'>;

/** Recent activity of SMTP clients. It is kept in memory only, not in the store. */
export interface SmtpClients {
  /** When an SMTP client was last active, epoch milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** Clients that disconnected after this time without naming a recipient, newest first. */
  earlyLeavers(after: number): Peer[];
  hasDeliveredSince(client: Peer, at: number): boolean;
}

export interface EvidenceDeps {
  held: HeldDeps;
  store: Pick<Store, 'accounts' | 'inboxes' | 'domains' | 'refusals' | 'outgoing'>;
  domains: readonly string[];
  visits: SmtpClients | null;
  /** False if other processes receive mail too, because this process does not know their clients. */
  seesAllClients: boolean;
  /** False for a read token, whose holder must not learn about other inboxes of the account. */
  ownsAccount: boolean;
  /** IP address of the waiting client. An IPv4-mapped address is given as IPv4. */
  remoteAddress: string;
}

export interface Surroundings extends Evidence {
  /** Inboxes for mail to addresses that no inbox has; null if there is none or the caller may not know it. */
  sinkId: string | null;
  catchAllId: string | null;
  /** Inboxes of the evidence, by id. If mail has no inbox: the former inbox of its address, by address. */
  inboxes: ReadonlyMap<string, InboxRecord>;
  leaver: Peer | undefined;
  /** Mail that an application has scheduled for this inbox: how many mails, and when the first is due. */
  held: { count: number; firstAt: number | null };
  /** When an SMTP client was last active (epoch ms); null before the first client, undefined if unknown. */
  lastClientAt: number | null | undefined;
  clientsAfter: number;
}

const plain = (path: string): string => {
  const parsed = parseAddress(path, { smtputf8: true });
  return parsed ? inboxAddress(parsed) : path.toLowerCase();
};

const newestOf = <T extends { at: number }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.at - a.at).slice(0, MAX_SHOWN);

/** A failed wait; times are epoch milliseconds. */
interface Failed {
  inbox: InboxRecord;
  from: number;
  begun: number;
  now: number;
  hasArrived: boolean;
  /** Whether the message that was received at this time meets the conditions. */
  meets(inboxId: string, at: number): Promise<boolean>;
}

/** Collects the evidence for a failed wait. All reads are bounded and use an index. */
export async function evidenceOf(
  { held, store, domains, visits, seesAllClients, ownsAccount, remoteAddress: ownIp }: EvidenceDeps,
  { inbox, from, begun, now, hasArrived, meets }: Failed,
): Promise<Surroundings> {
  const { id, kind, accountId, address: wanted, domain: ownDomain, createdAt } = inbox;
  const oldest = Math.max(from, now - REFUSAL_KEPT_MS);
  // Older evidence is ignored. The limits are for mail to this address, for other mail, and for SMTP clients.
  const ownAfter = Math.max(oldest, createdAt - LEAD_MS);
  const sharedAfter = Math.max(oldest, begun - LEAD_MS);
  const clientsAfter = Math.max(sharedAfter, createdAt - 1);

  async function ownRefusals(concerning: readonly Refusal[]): Promise<Refusal[]> {
    const all =
      kind === 'catch-all'
        ? await store.refusals.listByDomain(ownDomain, id, MAX_SHOWN, now)
        : concerning.filter(({ address }) => address === wanted);
    const newer = all.filter(({ at }) => at > ownAfter);
    return newer.length > 0 && (await isUsable(wanted)) ? newer : [];
  }

  /** Failed TLS handshakes, and refusals of MAIL and AUTH. None of them names a recipient. */
  async function withoutRecipient(concerning: readonly Refusal[]) {
    const shown = await visible(
      concerning.filter(({ address, at }) => address === NO_RECIPIENT && at > clientsAfter),
    );
    const hasCode = ({ reply }: Refusal): boolean => /^\d{3} /.test(reply);
    const handshakes = shown
      .filter((one) => !hasCode(one))
      .map(({ at, remoteAddress, helo, reply }) => ({
        ...{ at, remoteAddress, reason: reply },
        hasRecovered: visits?.hasDeliveredSince({ remoteAddress, helo }, at) ?? false,
      }));
    return { refused: shown.filter(hasCode), failedHandshakes: newestOf(handshakes) };
  }

  /**
   * SMTP clients that named no recipient cannot be assigned to an account. If there is only one account, that
   * account sees all of them; otherwise a caller sees only clients with its own IP address.
   */
  async function visible<T extends { remoteAddress: string }>(clients: readonly T[]): Promise<T[]> {
    const callers = clients.filter(({ remoteAddress }) => remoteAddress === ownIp);
    return callers.length < clients.length && (await isOnlyAccount()) ? [...clients] : callers;
  }

  async function isOnlyAccount(): Promise<boolean> {
    return ownsAccount && (await store.accounts.list(2)).length === 1;
  }

  /** Mail that no inbox received, or that only the sink or a catch-all inbox received. */
  async function elsewhere() {
    const { ofDomain, sink } = await store.inboxes.findTakers(wanted, now);
    const ownId = (taker: typeof sink): string | null =>
      taker && taker.inboxId !== id && taker.accountId === accountId && ownsAccount ? taker.inboxId : null;
    const [sinkId, catchAllId] = [ownId(sink), ownId(ofDomain?.live)];
    // Round to whole seconds, so that waits that end together share the reads.
    const after = Math.floor(sharedAfter / SECOND_MS) * SECOND_MS;
    const similar = (inboxId: string | null, outcome: NearMiss['outcome'], lines: RecipientLines) =>
      findSimilar(lines, inbox, MAX_OTHERS + 1).map((one) => ({ ...one, inboxId, outcome }));
    const received = async (taker: string, inboxId: string | null) =>
      similar(inboxId, 'received', await held.store.messages.recipients(taker, after, now));
    const all = [
      ...similar(null, 'refused', await held.store.refusals.recent(after, now)),
      ...(sink && sink.inboxId !== id ? await received(sink.inboxId, sinkId) : []),
      ...(catchAllId === null ? [] : await received(catchAllId, catchAllId)),
    ];
    const early = all.flatMap(({ address, at, inboxId }): OtherMail[] => {
      const isEarly = address === wanted && at > sharedAfter && at <= createdAt && inboxId !== null;
      return isEarly ? [{ address, at, reason: 'same-recipient', inboxId }] : [];
    });
    const dissimilar: OtherMail[] = [];
    const misses = new Map<string, NearMiss>();
    for (const { address, path, at, inboxId, outcome } of all) {
      if (at <= clientsAfter || address === wanted) continue;
      if (address === undefined) {
        const reason = outcome === 'refused' ? 'refused' : 'meets-conditions';
        dissimilar.push({ address: plain(path), at, reason, inboxId });
        continue;
      }
      const known = misses.get(`${outcome} ${address}`) ?? { address, at, times: 0, outcome, inboxId };
      misses.set(`${outcome} ${address}`, { ...known, times: known.times + 1 });
    }
    const similarMail = await visibleMisses([...misses.values()]);
    return { nearMisses: similarMail, early, others: dissimilar, sinkId, catchAllId };
  }

  /** Mail to similar addresses that the account may see, because they belong to no other account. */
  async function visibleMisses(misses: readonly NearMiss[]): Promise<NearMiss[]> {
    const refused = misses.filter(({ outcome }) => outcome === 'refused').map(({ address }) => address);
    const known = new Set(await refusedAmong(refused));
    const seen: NearMiss[] = [];
    for (const miss of misses) {
      const isVisible = miss.outcome === 'received' || known.has(miss.address);
      if (isVisible && (miss.inboxId !== null || (await isUsable(miss.address)))) seen.push(miss);
    }
    return seen;
  }

  async function refusedAmong(addresses: readonly string[]): Promise<string[]> {
    if (addresses.length === 0) return [];
    const page = { after: clientsAfter, limit: MAX_SHOWN, among: addresses.slice(0, MAX_COMPARED) };
    return store.refusals.listAddresses(ownsAccount ? accountId : null, page, now);
  }

  /** Mail to this address that went to another inbox, because the sender authenticated for that inbox. */
  async function capturedMail(concerning: readonly Refusal[]): Promise<OtherMail[]> {
    if (!ownsAccount) return [];
    const mails: OtherMail[] = [];
    for (const { at, capturedBy } of concerning) {
      if (at <= ownAfter || capturedBy?.accountId !== accountId) continue;
      const { inboxId } = capturedBy;
      const other = await store.inboxes.find(accountId, inboxId, now);
      const isLive = other && other.expiresAt > now;
      if (isLive) mails.push({ address: wanted, at, reason: 'same-recipient', inboxId });
    }
    return mails;
  }

  /** Mail to other addresses that may be intended for this inbox. None if there are more than MAX_OTHERS. */
  async function guessesAmong(all: readonly OtherMail[]): Promise<OtherMail[]> {
    if (all.length > MAX_OTHERS || !ownsAccount) return [];
    const refused = all.filter(({ inboxId }) => inboxId === null).map(({ address }) => address);
    const isKnowable = refused.length > 0 && (await isOnlyAccount());
    const known = new Set(isKnowable ? await refusedAmong(refused) : []);
    const guesses: OtherMail[] = [];
    for (const one of all) {
      const { inboxId, address, at } = one;
      if (inboxId === null ? known.has(address) : await meets(inboxId, at)) guesses.push(one);
    }
    return guesses;
  }

  async function inboxesOf(mails: readonly (NearMiss | OtherMail)[]): Promise<Map<string, InboxRecord>> {
    const named = new Map<string, InboxRecord>();
    for (const { address, inboxId } of ownsAccount ? mails : []) {
      const other = inboxId ?? (await store.inboxes.findTakers(address, now)).ofAddress?.inboxId;
      const record = other ? await store.inboxes.find(accountId, other, now) : undefined;
      if (record) named.set(inboxId ?? address, record);
    }
    return named;
  }

  /** Whether the account can use the domain, or the domain is similar to a shared one (a typing error). */
  async function isUsable(address: string): Promise<boolean> {
    const domain = domainOf(address);
    const parent = domain.slice(domain.indexOf('.') + 1);
    if (domains.some((one) => one === domain || one === parent || areDomainsAlike(one, domain))) return true;
    return (await store.domains.list(accountId)).some((one) => one.domain === domain);
  }

  const concerning = await store.refusals.listConcerning(wanted, Math.min(ownAfter, clientsAfter), now);
  const own = await ownRefusals(concerning);
  const unnamed = await withoutRecipient(concerning);
  const captured = await capturedMail(concerning);
  const { nearMisses, early, others, sinkId, catchAllId } = await elsewhere();
  const otherMail = [...captured, ...early].slice(0, MAX_OTHERS);
  const failed = unnamed.failedHandshakes.filter(({ hasRecovered }) => !hasRecovered);
  const found = [own, unnamed.refused, failed, nearMisses, otherMail].flat();
  if (found.length === 0 && !hasArrived) otherMail.push(...(await guessesAmong(others)));
  return {
    refused: newestOf([...own, ...unnamed.refused]),
    nearMisses: newestOf(nearMisses),
    otherMail,
    failedHandshakes: unnamed.failedHandshakes,
    ...{ sinkId, catchAllId, inboxes: await inboxesOf([...nearMisses, ...otherMail]) },
    leaver: (await visible(visits?.earlyLeavers(clientsAfter) ?? []))[0],
    ...{ clientsAfter, lastClientAt: seesAllClients ? visits?.lastAt : undefined },
    held: await store.outgoing.held(id, now),
  };
}
