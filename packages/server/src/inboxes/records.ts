import { DAY_MS } from '../clock.ts';

/** For this long after its end an inbox is reported as expired instead of unknown. */
export const TOMBSTONE_MS = DAY_MS;
/** For this long after its end an inbox's address is reserved for its account: late mail must not reach others. */
export const ADDRESS_QUARANTINE_MS = 7 * DAY_MS;
/**
 * The sink's expiry: the last millisecond that four-digit years can write (RFC 3339), so that
 * every comparison finds it in the future. Inboxes of other kinds end earlier.
 */
export const PERMANENT_UNTIL = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** The newest messages that the sink keeps: as many as an inbox of the largest plan. */
export const SINK_MESSAGES = 10_000;
/** How long idempotency keys are stored; payment APIs use a day as well. */
export const IDEMPOTENCY_MS = DAY_MS;

/**
 * What mail an inbox takes:
 * - `address`: mail to its own address
 * - `catch-all`: mail to every local part of its domain that no other inbox has
 * - `sink`: mail to any address at any domain that no other inbox takes; the store has one at most
 */
export type InboxKind = 'address' | 'catch-all' | 'sink';

export interface NewInbox {
  id: string;
  kind: InboxKind;
  /** Lower case, without a plus-tag. */
  address: string;
  localPart: string;
  domain: string;
  labels: Record<string, string>;
  tokenHash: string;
  ttlMinutes: number;
  createdAt: number;
  expiresAt: number;
  maxExpiresAt: number;
  /** When the last message of its replay is due; left out without one. */
  replayUntil?: number;
}

/** Whether messages of a recording are still to come, or will never come. */
export type ReplayState = 'none' | 'running' | 'cut';

export interface InboxRecord extends Omit<NewInbox, 'tokenHash' | 'replayUntil'> {
  accountId: string;
  replay: ReplayState;
  messageCount: number;
  /** Messages that it ever received, deleted ones included. */
  receivedCount: number;
  /**
   * `receivedAt` of the newest message that was ever committed here, deleted ones included; 0 before
   * the first. Cursors are made of it.
   */
  lastReceivedAt: number;
  /** Grows with every change of the inbox or of its list of messages. */
  version: number;
}

/** The idempotent form of a creation; within the account, `keyHash` is its identity. */
export interface IdempotentRequest {
  /** SHA-256 of the Idempotency-Key header. */
  keyHash: string;
  /** SHA-256 of the request's body. */
  bodyHash: string;
  /** Random; stored so that the same read token can be derived again. */
  nonce: string;
}

export interface CreatedInbox {
  /** As it was at its creation. */
  inbox: InboxRecord;
  /** The nonce of the request that made it. */
  nonce: string | null;
  /** The webhook that was created with it; null without one. */
  webhook: InboxWebhook | null;
  /** True if an earlier request with the same idempotency key created it. */
  replayed: boolean;
}

/** Mails that become the first messages of an inbox, in their order. */
export interface StagedMails {
  /** The name under which they are stored; see `messages.stage`. */
  stage: string;
  /** Each with its RCPT addresses; none stands for the address of the inbox. */
  mails: { source: number; rcptTo: string[] }[];
  /** When the inbox is created: `createdAt` is when storing the mails began. */
  now: number;
}

/** A webhook that was created together with an inbox. */
export interface InboxWebhook {
  id: string;
  url: string;
  secret: string;
}

/** An address, or all addresses of a domain, that an inbox has, or had within the quarantine after its end. */
export interface Occupancy {
  /** The inbox; null after its deletion. */
  inboxId: string | null;
  /** The inbox if it is live. */
  live: AddressedInbox | undefined;
}

/** Which inboxes may take mail for an address. */
export interface Takers {
  /** Of the address itself. */
  ofAddress: Occupancy | undefined;
  /** Of the domain: its catch-all inbox. */
  ofDomain: Occupancy | undefined;
  /** The live sink. */
  sink: AddressedInbox | undefined;
}

export interface AddressedInbox {
  inboxId: string;
  kind: InboxKind;
  accountId: string;
  plan: string;
  /** The inbox's own address. */
  address: string;
  messageCount: number;
  expiresAt: number;
  /** Whether fault rules of it are still to be applied. */
  hasFaults: boolean;
}
