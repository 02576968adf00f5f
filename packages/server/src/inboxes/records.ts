import type { Inbox } from '@mayfly/client/contract';
import { DAY_MS } from '../clock.ts';
import { AppError, notFound } from '../errors.ts';
import { quoted } from '../text/nearest.ts';

/** For this long after the expiry of an inbox, requests for it get 410; later, they get 404. */
export const TOMBSTONE_MS = DAY_MS;
/** For this long after an inbox ends, no other account can use its address and get its late mail. */
export const ADDRESS_QUARANTINE_MS = 7 * DAY_MS;
/** Expiry of the sink, which never expires: the last time that RFC 3339 can represent. */
export const PERMANENT_UNTIL = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** Maximum number of messages in the sink, as in the plan `unlimited`. New messages replace the oldest. */
export const SINK_MESSAGES = 10_000;
export const IDEMPOTENCY_MS = DAY_MS;

/** `catch-all` gets mail to addresses of its domain without an inbox; the only `sink` gets all other mail. */
export type InboxKind = 'address' | 'catch-all' | 'sink';

export interface NewInbox {
  id: string;
  kind: InboxKind;
  /** Lower case, without a tag (`+…`). */
  address: string;
  localPart: string;
  domain: string;
  labels: Record<string, string>;
  tokenHash: string;
  ttlMinutes: number;
  createdAt: number;
  expiresAt: number;
  maxExpiresAt: number;
  /** Time at which the last message of the replayed recording is due; undefined if nothing is replayed. */
  replayUntil?: number;
}

export interface InboxRecord extends Omit<NewInbox, 'tokenHash' | 'replayUntil'> {
  accountId: string;
  replay: Inbox['replay'];
  messageCount: number;
  /** Includes deleted messages. */
  receivedCount: number;
  /** `receivedAt` of the newest message, even a deleted one; 0 before the first. Cursors contain it. */
  lastReceivedAt: number;
  /** Grows with every change of the inbox or of its list of messages. */
  version: number;
}

export interface IdempotentRequest {
  keyHash: string;
  bodyHash: string;
  /** Random; stored so that a repeated request gets the same read token. */
  nonce: string;
}

export interface StagedMails {
  stage: string;
  /** `source`: id of a stored mail. `rcptTo`: its RCPT addresses; if empty, the address of the inbox is its recipient. */
  mails: { source: number; rcptTo: string[] }[];
  /** The current time. The inbox gets an earlier `createdAt`: when the import began. */
  now: number;
}

/** The inbox that has an address, or all addresses of a domain. `live` is undefined if that inbox has ended. */
export interface Occupancy {
  inboxId: string | null;
  live: AddressedInbox | undefined;
}

export interface Takers {
  ofAddress: Occupancy | undefined;
  ofDomain: Occupancy | undefined;
  sink: AddressedInbox | undefined;
}

export interface AddressedInbox {
  inboxId: string;
  kind: InboxKind;
  accountId: string;
  plan: string;
  address: string;
  messageCount: number;
  expiresAt: number;
  hasFaults: boolean;
}

/** @throws AppError `inbox_expired` with `expiredAt` for 24 hours after the expiry, otherwise `not_found` */
export function liveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (!inbox) throw notFound('inbox', id);
  if (inbox.expiresAt > now) return inbox;
  const { expiresAt: expiredAt } = inbox;
  const message = `The inbox ${quoted(inbox.id)} expired at ${new Date(expiredAt).toISOString()}. Create a new one with POST /v1/inboxes; "ttlMinutes" sets its lifetime.`;
  throw new AppError('inbox_expired', message, { expiredAt });
}

/** Like {@link liveInbox}, for a request that has waited: a missing inbox was deleted meanwhile. */
export function stillLiveInbox(inbox: InboxRecord | undefined, now: number, id: string): InboxRecord {
  if (inbox) return liveInbox(inbox, now, id);
  throw new AppError(
    'not_found',
    `The inbox ${quoted(id)} was deleted while this request waited: keep it until the test has its messages.`,
  );
}

/** @throws AppError `inbox_expired` or `not_found` if the inbox has ended; otherwise throws `missing` */
export async function throwEnded(
  inboxes: { find(accountId: string, id: string, now: number): Promise<InboxRecord | undefined> },
  { accountId, id }: Pick<InboxRecord, 'accountId' | 'id'>,
  now: number,
  missing = notFound('inbox', id),
): Promise<never> {
  liveInbox(await inboxes.find(accountId, id, now), now, id);
  throw missing;
}

/** @throws AppError `permanent_inbox` for the sink, which never expires and so has no expiry to change */
export function assertNoSink({ kind }: InboxRecord): void {
  if (kind !== 'sink') return;
  throw new AppError(
    'permanent_inbox',
    'This inbox is the sink, which does not expire and cannot be deleted while it takes mail. Empty it with DELETE /v1/inboxes/{id}/messages, or start the server with MAYFLY_SINK=off and delete it then.',
  );
}
