import { inboxAddress, parseAddress } from '../../mail/address.ts';
import { ComparedContent } from '../../mail/matching/compared-content.ts';
import { conditionsOf } from '../../mail/matching/conditions.ts';
import { type Filters, failedConditions, failedContent } from '../../mail/matching/filters.ts';
import type { FullMessageRecord, InboxRecord } from '../../store/contract/index.ts';
import { BEFORE_WAIT_MS, type ElsewhereDeps, wholeSeconds } from './elsewhere.ts';

/** Messages and refusals that an explanation shows; more are noise of other tests. */
const MAX_SHOWN = 5;
/** Messages that the database's part of the conditions may leave to be read. */
const MAX_CANDIDATES = 20;
/** Larger messages are not read for this. */
const MAX_READ_BYTES = 1024 * 1024;

/** Mail of the account that may have been intended for the inbox, though its address is not similar. */
export interface OtherMail {
  address: string;
  /** Epoch ms. */
  at: number;
  /**
   * `same-recipient`: sent to the address of the inbox, and stored in another one. `meets-conditions`: stored in
   * another inbox, and what the wait is for. `refused`: for an address that no inbox has.
   */
  reason: 'same-recipient' | 'meets-conditions' | 'refused';
  /** The inbox that has it; null for refused mail. */
  inboxId: string | null;
}

interface Search {
  inbox: InboxRecord;
  match: Filters;
  /** When the wait began, epoch ms. */
  begun: number;
}

/**
 * Mail that other inboxes of an account received since a minute before the wait: for the address of the inbox, or
 * else such as the wait is for.
 */
export async function findInOtherInboxes(deps: ElsewhereDeps, search: Search): Promise<OtherMail[]> {
  const { inbox, match } = search;
  const { address } = inbox;
  const misdirected = await searchAccount(deps, search, { rcptTo: address });
  const sameRecipient = misdirected
    .filter(({ rcptTo }) => rcptTo.some((path) => plain(path) === address))
    .filter(({ trail }) => !trail.some(({ event }) => event === 'imported'));
  if (sameRecipient.length > 0) return sameRecipient.map((message) => toOtherMail(message, 'same-recipient'));
  if (Object.values(match).every((condition) => condition === undefined)) return [];
  const found = await searchAccount(deps, search, match);
  return found.map((message) => toOtherMail(message, 'meets-conditions'));
}

/** Refused mail for addresses of an account that no inbox has, since a minute before the wait. */
export async function findOtherRefusals(
  { store, held }: ElsewhereDeps,
  { inbox, begun }: Search,
): Promise<OtherMail[]> {
  const query = { after: begun - BEFORE_WAIT_MS, limit: MAX_CANDIDATES };
  const refusals = await store.refusals.listByAccount(inbox.accountId, query, held.clock.now());
  return refusals
    .filter(({ address, reply }) => address !== inbox.address && reply.startsWith('550 5.1.1'))
    .slice(0, MAX_SHOWN)
    .map(({ address, at }) => ({ address, at, reason: 'refused', inboxId: null }));
}

const plain = (path: string): string => {
  const parsed = parseAddress(path, { smtputf8: true });
  return parsed ? inboxAddress(parsed) : path.toLowerCase();
};

function toOtherMail(message: FullMessageRecord, reason: OtherMail['reason']): OtherMail {
  const { rcptTo, receivedAt, inboxId } = message;
  return { address: plain(rcptTo[0] ?? ''), at: receivedAt, reason, inboxId };
}

/** The newest messages of other inboxes that meet all conditions. */
async function searchAccount(
  { held }: ElsewhereDeps,
  { inbox, begun }: Search,
  match: Filters,
): Promise<FullMessageRecord[]> {
  const { accountId } = inbox;
  const { messages, inboxes } = held.store;
  const { link } = match;
  const time = wholeSeconds(begun - BEFORE_WAIT_MS);
  const now = held.clock.now();
  const after = await messages.placeInAccount(accountId, time);
  const range = { after, before: Number.POSITIVE_INFINITY, limit: MAX_CANDIDATES };
  const page = await messages.search({ accountId }, conditionsOf(match), range, now);
  const found: FullMessageRecord[] = [];
  for (const { id, inboxId, size } of page.messages) {
    if (found.length === MAX_SHOWN) break;
    if (inboxId === inbox.id || size > MAX_READ_BYTES) continue;
    const message = await messages.find(inboxId, id, now);
    if (!message || failedConditions(message, match).length > 0) continue;
    const content = new ComparedContent(message.content);
    if (failedContent(message.summary, content, { link }).length > 0) continue;
    // The search may be a moment old, and an inbox that ended since must not show.
    const other = await inboxes.find(accountId, inboxId, now);
    if (other && other.expiresAt > now) found.push(message);
  }
  return found;
}
