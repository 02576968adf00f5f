import type { FailedHandshake, OtherMail as ShownMail, NearMiss as ShownMiss } from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { domainOf, inboxAddress, parseAddress } from '../mail/address.ts';
import { areDomainsAlike, findSimilar } from '../mail/matching/similar-addresses.ts';
import type { HeldDeps } from '../messages/held.ts';
import { NO_RECIPIENT, REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';

/** Evidence from this long before the wait counts, because a test triggers the mail first. Playwright's time limit is 30 s. */
const LEAD_MS = 30 * SECOND_MS;
/** An explanation contains at most this many items of each kind, the newest ones. */
const MAX_SHOWN = 20;
/** Mail for more than this many other addresses probably belongs to other tests, so none of it is shown. */
const MAX_OTHERS = 5;
const MAX_COMPARED = 200;

/** Times of what the API returns, as epoch milliseconds. */
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

export interface ExplanationCaller {
  /** False for a read token, whose holder must not learn about other inboxes of the account. */
  ownsAccount: boolean;
  /** IPv4-mapped addresses as IPv4. */
  remoteAddress: string;
}

export interface EvidenceDeps {
  held: HeldDeps;
  store: Pick<Store, 'accounts' | 'inboxes' | 'domains' | 'refusals' | 'outgoing'>;
  /** Domains that all accounts share. */
  domains: readonly string[];
  /** SMTP clients of this process; null if it receives no mail. */
  visits: SmtpClients | null;
  /** False if other processes receive mail too, whose clients are unknown here. */
  seesAllClients: boolean;
}

/** Evidence and its context, from which causes are derived. */
export interface Surroundings extends Evidence {
  /** Inboxes that receive mail for addresses without an inbox; null if there is none or the caller must not know it. */
  sinkId: string | null;
  catchAllId: string | null;
  /** Inboxes that the evidence names, by id, and inboxes that formerly had its addresses, by address. */
  inboxes: ReadonlyMap<string, InboxRecord>;
  /** An SMTP client that disconnected without naming a recipient; undefined if there is none. */
  leaver: Peer | undefined;
  /** Mail that an application scheduled for this inbox: how many, and when the first is due. */
  held: { count: number; firstAt: number | null };
  /** When an SMTP client was last active, epoch milliseconds; null before the first client, undefined if unknown. */
  lastClientAt: number | null | undefined;
}

const plain = (path: string): string => {
  const parsed = parseAddress(path, { smtputf8: true });
  return parsed ? inboxAddress(parsed) : path.toLowerCase();
};

const newestOf = <T extends { at: number }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => b.at - a.at).slice(0, MAX_SHOWN);

/** Collects the evidence for a failed wait. All reads are bounded and use an index. */
export class Investigation {
  /** When the wait ended, epoch milliseconds. */
  readonly now: number;
  /** Activity of SMTP clients before this time does not count. */
  readonly clientsAfter: number;
  readonly #deps: EvidenceDeps;
  readonly #inbox: InboxRecord;
  readonly #caller: ExplanationCaller;
  /** Evidence before these times does not count: `own` for mail to this address, `shared` for all other mail. */
  readonly #after: { own: number; shared: number };

  /** @param times `from`: the time of `since`; `begun`: when the wait began; both epoch milliseconds */
  constructor(
    deps: EvidenceDeps,
    inbox: InboxRecord,
    caller: ExplanationCaller,
    { from, begun }: { from: number; begun: number },
  ) {
    this.#deps = deps;
    this.#inbox = inbox;
    this.#caller = caller;
    this.now = deps.held.clock.now();
    const oldest = Math.max(from, this.now - REFUSAL_KEPT_MS);
    const shared = Math.max(oldest, begun - LEAD_MS);
    this.#after = { own: Math.max(oldest, inbox.createdAt - LEAD_MS), shared };
    this.clientsAfter = Math.max(shared, inbox.createdAt - 1);
  }

  /** @param hasArrived if true, mail to other addresses is ignored @param meets whether the message at a time meets the conditions */
  async collect(
    hasArrived: boolean,
    meets: (inboxId: string, at: number) => Promise<boolean>,
  ): Promise<Surroundings> {
    const { store, visits, seesAllClients } = this.#deps;
    const after = Math.min(this.#after.own, this.clientsAfter);
    const concerning = await store.refusals.listConcerning(this.#inbox.address, after, this.now);
    const own = await this.#refusals(concerning);
    const unnamed = await this.#unnamed(concerning);
    const captured = await this.#captured(concerning);
    const { nearMisses, early, others, sinkId, catchAllId } = await this.#elsewhere();
    const otherMail = [...captured, ...early].slice(0, MAX_OTHERS);
    const failed = unnamed.failedHandshakes.filter(({ hasRecovered }) => !hasRecovered);
    const found = [own, unnamed.refused, failed, nearMisses, otherMail].flat();
    if (found.length === 0 && !hasArrived) otherMail.push(...(await this.#guesses(others, meets)));
    return {
      refused: newestOf([...own, ...unnamed.refused]),
      nearMisses: newestOf(nearMisses),
      otherMail,
      failedHandshakes: unnamed.failedHandshakes,
      ...{ sinkId, catchAllId, inboxes: await this.#inboxesOf([...nearMisses, ...otherMail]) },
      leaver: (await this.#visible(visits?.earlyLeavers(this.clientsAfter) ?? []))[0],
      lastClientAt: seesAllClients ? visits?.lastAt : undefined,
      held: await store.outgoing.held(this.#inbox.id, this.now),
    };
  }

  async #refusals(concerning: readonly Refusal[]): Promise<Refusal[]> {
    const { id, kind, address, domain } = this.#inbox;
    const all =
      kind === 'catch-all'
        ? await this.#deps.store.refusals.listByDomain(domain, id, MAX_SHOWN, this.now)
        : concerning.filter((one) => one.address === address);
    const own = all.filter(({ at }) => at > this.#after.own);
    return own.length > 0 && (await this.#isUsable(address)) ? own : [];
  }

  /** Failed TLS handshakes, and refusals at MAIL and AUTH, all of which name no recipient. */
  async #unnamed(concerning: readonly Refusal[]): Promise<Pick<Evidence, 'refused' | 'failedHandshakes'>> {
    const visible = await this.#visible(
      concerning.filter(({ address, at }) => address === NO_RECIPIENT && at > this.clientsAfter),
    );
    const hasCode = ({ reply }: Refusal): boolean => /^\d{3} /.test(reply);
    const failed = visible
      .filter((one) => !hasCode(one))
      .map(({ at, remoteAddress, helo, reply }) => ({
        ...{ at, remoteAddress, reason: reply },
        hasRecovered: this.#deps.visits?.hasDeliveredSince({ remoteAddress, helo }, at) ?? false,
      }));
    return { refused: visible.filter(hasCode), failedHandshakes: newestOf(failed) };
  }

  /**
   * SMTP clients that named no recipient cannot be assigned to an account. If there is only one account, it sees all
   * of them; otherwise the caller sees those from its own address.
   */
  async #visible<T extends { remoteAddress: string }>(clients: readonly T[]): Promise<T[]> {
    const own = clients.filter(({ remoteAddress }) => remoteAddress === this.#caller.remoteAddress);
    return own.length < clients.length && (await this.#isOnlyAccount()) ? [...clients] : own;
  }

  async #isOnlyAccount(): Promise<boolean> {
    if (!this.#caller.ownsAccount) return false;
    const { accounts, hasMore } = await this.#deps.store.accounts.list({ limit: 1, after: null });
    return accounts.length === 1 && !hasMore;
  }

  /** Mail that no inbox received, or that the sink or a catch-all inbox received because no other inbox did. */
  async #elsewhere() {
    const { held, store } = this.#deps;
    const { id, accountId, address: wanted, createdAt } = this.#inbox;
    const { ofDomain, sink } = await store.inboxes.findTakers(wanted, this.now);
    const ownId = (taker: typeof sink): string | null =>
      taker && taker.inboxId !== id && taker.accountId === accountId && this.#caller.ownsAccount
        ? taker.inboxId
        : null;
    const [sinkId, catchAllId] = [ownId(sink), ownId(ofDomain?.live)];
    // Whole seconds, so that waits that end together share the reads.
    const after = Math.floor(this.#after.shared / SECOND_MS) * SECOND_MS;
    const similar = (inboxId: string | null, outcome: NearMiss['outcome'], lines: string) =>
      findSimilar(lines, this.#inbox, MAX_OTHERS + 1).map((one) => ({ ...one, inboxId, outcome }));
    const received = async (taker: string, inboxId: string | null) =>
      similar(inboxId, 'received', await held.store.messages.recipients(taker, after, this.now));
    const all = [
      ...similar(null, 'refused', await held.store.refusals.recent(after, this.now)),
      ...(sink && sink.inboxId !== id ? await received(sink.inboxId, sinkId) : []),
      ...(catchAllId === null ? [] : await received(catchAllId, catchAllId)),
    ];
    const early = all.flatMap(({ address, at, inboxId }): OtherMail[] => {
      const isEarly = address === wanted && at > this.#after.shared && at <= createdAt && inboxId !== null;
      return isEarly ? [{ address, at, reason: 'same-recipient', inboxId }] : [];
    });
    const others: OtherMail[] = [];
    const misses = new Map<string, NearMiss>();
    for (const { address, path, at, inboxId, outcome } of all) {
      if (at <= this.clientsAfter || address === wanted) continue;
      if (address === undefined) {
        const reason = outcome === 'refused' ? 'refused' : 'meets-conditions';
        others.push({ address: plain(path), at, reason, inboxId });
        continue;
      }
      const known = misses.get(`${outcome} ${address}`) ?? { address, at, times: 0, outcome, inboxId };
      misses.set(`${outcome} ${address}`, { ...known, times: known.times + 1 });
    }
    return { nearMisses: await this.#known([...misses.values()]), early, others, sinkId, catchAllId };
  }

  /** Near misses that the account may see, because their address belongs to no other account. */
  async #known(misses: readonly NearMiss[]): Promise<NearMiss[]> {
    const refused = misses.filter(({ outcome }) => outcome === 'refused').map(({ address }) => address);
    const known = new Set(await this.#refusedAmong(refused));
    const found: NearMiss[] = [];
    for (const miss of misses) {
      const isVisible = miss.outcome === 'received' || known.has(miss.address);
      if (isVisible && (miss.inboxId !== null || (await this.#isUsable(miss.address)))) found.push(miss);
    }
    return found;
  }

  async #refusedAmong(addresses: readonly string[]): Promise<string[]> {
    if (addresses.length === 0) return [];
    const { ownsAccount } = this.#caller;
    const page = { after: this.clientsAfter, limit: MAX_SHOWN, among: addresses.slice(0, MAX_COMPARED) };
    const owner = ownsAccount ? this.#inbox.accountId : null;
    return this.#deps.store.refusals.listAddresses(owner, page, this.now);
  }

  /** Mail for this address that was stored in another inbox, because its SMTP session was authenticated for that inbox. */
  async #captured(concerning: readonly Refusal[]): Promise<OtherMail[]> {
    const { accountId, address } = this.#inbox;
    if (!this.#caller.ownsAccount) return [];
    const found: OtherMail[] = [];
    for (const { at, capturedBy } of concerning) {
      if (at <= this.#after.own || capturedBy?.accountId !== accountId) continue;
      const { inboxId } = capturedBy;
      const other = await this.#deps.store.inboxes.find(accountId, inboxId, this.now);
      if (other && other.expiresAt > this.now) found.push({ address, at, reason: 'same-recipient', inboxId });
    }
    return found;
  }

  /** Mail to dissimilar addresses that is possibly intended for this inbox; none if there are more than MAX_OTHERS addresses. */
  async #guesses(
    others: readonly OtherMail[],
    meets: (inboxId: string, at: number) => Promise<boolean>,
  ): Promise<OtherMail[]> {
    if (others.length > MAX_OTHERS || !this.#caller.ownsAccount) return [];
    const refused = others.filter(({ inboxId }) => inboxId === null).map(({ address }) => address);
    const isKnowable = refused.length > 0 && (await this.#isOnlyAccount());
    const known = new Set(isKnowable ? await this.#refusedAmong(refused) : []);
    const guesses: OtherMail[] = [];
    for (const one of others) {
      const { inboxId, address, at } = one;
      if (inboxId === null ? known.has(address) : await meets(inboxId, at)) guesses.push(one);
    }
    return guesses;
  }

  async #inboxesOf(mails: readonly (NearMiss | OtherMail)[]): Promise<Map<string, InboxRecord>> {
    const { accountId } = this.#inbox;
    const { inboxes } = this.#deps.store;
    const found = new Map<string, InboxRecord>();
    for (const { address, inboxId } of this.#caller.ownsAccount ? mails : []) {
      const id = inboxId ?? (await inboxes.findTakers(address, this.now)).ofAddress?.inboxId;
      const inbox = id ? await inboxes.find(accountId, id, this.now) : undefined;
      if (inbox) found.set(inboxId ?? address, inbox);
    }
    return found;
  }

  /** Whether the account can use the domain, or it is a typing error of a shared domain. Other domains may belong to other accounts. */
  async #isUsable(address: string): Promise<boolean> {
    const { domains, store } = this.#deps;
    const domain = domainOf(address);
    const parent = domain.slice(domain.indexOf('.') + 1);
    if (domains.some((one) => one === domain || one === parent || areDomainsAlike(one, domain))) return true;
    return (await store.domains.list(this.#inbox.accountId)).some((one) => one.domain === domain);
  }
}
