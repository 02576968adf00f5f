import type { NewWebhook } from './webhooks.ts';

/** Inboxes and their addresses. Part of the Store's contract. */

export interface AddressStore {
  /**
   * Holds a free address for an account until a time; the holder may create an inbox there.
   * @returns false if it is not free: a live inbox, another account's hold, or a quarantine
   */
  hold(accountId: string, address: string, until: number, now: number): Promise<boolean>;
}

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

export interface InboxStore {
  /**
   * Creates a live inbox, in one step with the check of its address (of a catch-all inbox, also of its
   * domain), of the account's number of live inboxes, and of the idempotency key (remembered for 24 h);
   * and with it a webhook of its own, and messages that were staged.
   * Throws `address_taken`; `limit_reached` at `maxLiveInboxes`, and at `webhook.maxWebhooks`;
   * `idempotency_key_reused` if the key was used with another body.
   */
  create(
    accountId: string,
    inbox: NewInbox,
    maxLiveInboxes: number,
    request: IdempotentRequest | null,
    webhook?: (Omit<NewWebhook, 'inboxId' | 'createdAt'> & { maxWebhooks: number }) | null,
    staged?: StagedMails | null,
  ): Promise<CreatedInbox>;
  /**
   * An inbox of the account, live or expired less than 24 h ago (then `expiresAt <= now`, and only
   * id, address, times and labels are meaningful).
   */
  find(accountId: string, inboxId: string, now: number): Promise<InboxRecord | undefined>;
  /** The same by {@link hashCredential} of its read token. */
  findByToken(tokenHash: string, now: number): Promise<InboxRecord | undefined>;
  /** The hash of the read token of a live inbox, with which short-lived links into it are signed. */
  findTokenHash(inboxId: string, now: number): Promise<string | undefined>;
  /**
   * Sets a live inbox's expiry, but not past its `maxExpiresAt`. Set to `now`, the inbox expires at once, and so
   * does its `maxExpiresAt`: a later call whose `now` was read before returns it with that expiry. Undefined if it
   * is not live.
   */
  setExpiry(
    accountId: string,
    inboxId: string,
    expiry: { ttlMinutes: number; expiresAt: number },
    now: number,
  ): Promise<InboxRecord | undefined>;
  /** Notes how a replay ended. One that is not noted a minute after it was due is taken for cut by the sweeper. */
  endReplay(inboxId: string, outcome: 'complete' | 'cut'): Promise<void>;
  /**
   * The account's live inboxes that have all `labels`, newest first, those before the id `before`.
   * @param page with `address` (lower case, no tag) at most the one inbox that receives its mail
   */
  list(
    accountId: string,
    page: { labels: Record<string, string>; address?: string; limit: number; before: string | null },
    now: number,
  ): Promise<{ inboxes: InboxRecord[]; hasMore: boolean }>;
  /**
   * Ends an inbox at once. When it resolves, its messages, sources, token and pending deliveries are deleted
   * from the storage, in short transactions. False if there is no live inbox with that id.
   */
  delete(accountId: string, inboxId: string, now: number): Promise<boolean>;
  /** Does the same to all live inboxes with all `labels` (at least one), except the sink; returns their ids. */
  deleteByLabels(accountId: string, labels: Record<string, string>, now: number): Promise<string[]>;
  /** The live inbox whose own address this is (lower case, no tag), for RCPT. */
  findByAddress(address: string, now: number): Promise<AddressedInbox | undefined>;
  /** Which inboxes may take mail for an address (lower case, no tag) that no live inbox has as its own. */
  findTakers(address: string, now: number): Promise<Takers>;
}

/** An address, or all addresses of a domain, that an inbox has, or had within the quarantine after its end. */
export interface Occupancy {
  /** The inbox; null after its deletion. */
  inboxId: string | null;
  /** The inbox if it is live. */
  live: AddressedInbox | undefined;
}

/** What {@link InboxStore.findTakers} returns. */
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
