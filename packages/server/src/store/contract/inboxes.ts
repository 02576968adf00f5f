import type { NewWebhook } from './webhooks.ts';

/** Inboxes and their addresses. Part of the Store's contract. */

export interface AddressStore {
  /**
   * Holds a free address for an account until a time; the holder may create an inbox there.
   * @returns false when somebody has it: a live inbox, another account's hold, or a quarantine
   */
  hold(accountId: string, address: string, until: number, now: number): Promise<boolean>;
}

export interface NewInbox {
  id: string;
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
}

export interface InboxRecord extends Omit<NewInbox, 'tokenHash'> {
  accountId: string;
  messageCount: number;
  /**
   * `receivedAt` of the newest message that was ever committed here, deleted ones included; 0 before
   * the first. This is what a cursor stands for.
   */
  lastReceivedAt: number;
  /** Grows with every change of the inbox or of its list of messages. */
  version: number;
}

/** The idempotent form of a creation; `keyId` and `keyHash` are its identity. */
export interface IdempotentRequest {
  /** The API key record that asks. */
  keyId: string;
  /** SHA-256 of the Idempotency-Key header. */
  keyHash: string;
  /** SHA-256 of the request's body. */
  bodyHash: string;
  /** Random; kept so that the same read token can be derived again. */
  nonce: string;
}

export interface CreatedInbox {
  /** As it was at its creation. */
  inbox: InboxRecord;
  /** The nonce of the request that made it. */
  nonce: string | null;
  /** The webhook made with it, as it was then; null without one. */
  webhook: InboxWebhook | null;
  /** True when an earlier request with the same idempotency key made it. */
  replayed: boolean;
}

/** What the creation of an inbox tells of the webhook that was made with it. */
export interface InboxWebhook {
  id: string;
  url: string;
  secret: string;
}

export interface InboxStore {
  /**
   * Creates a live inbox, in one step with the check of its address, of the account's number of live
   * inboxes, and of the idempotency key (remembered for 24 h); and with it a webhook of its own.
   * Throws `address_taken`; `limit_reached` at `maxLiveInboxes`, and at `webhook.maxWebhooks`;
   * `idempotency_key_reused` when the key came with another body.
   */
  create(
    accountId: string,
    inbox: NewInbox,
    maxLiveInboxes: number,
    request: IdempotentRequest | null,
    webhook?: (Omit<NewWebhook, 'inboxId' | 'createdAt'> & { maxWebhooks: number }) | null,
  ): Promise<CreatedInbox>;
  /**
   * An inbox of the account, live or expired less than 24 h ago (`expiresAt <= now` tells; of an
   * expired one only id, address, times and labels mean anything).
   */
  find(accountId: string, inboxId: string, now: number): Promise<InboxRecord | undefined>;
  /** The same by {@link hashCredential} of its read token. */
  findByToken(tokenHash: string, now: number): Promise<InboxRecord | undefined>;
  /**
   * Sets a live inbox's expiry. `plan` may have changed since creation: `expiresAt` is used as given,
   * the caller keeps it within `maxExpiresAt`; set to `now`, the inbox expires at once. Undefined when it
   * is not live (any more).
   */
  setExpiry(
    accountId: string,
    inboxId: string,
    expiry: { ttlMinutes: number; expiresAt: number },
    now: number,
  ): Promise<InboxRecord | undefined>;
  /**
   * The account's live inboxes that carry all `labels`, newest first, those before the id `before`.
   * @param page with `address` (lower case, no tag) at most the one inbox that receives its mail
   */
  list(
    accountId: string,
    page: { labels: Record<string, string>; address?: string; limit: number; before: string | null },
    now: number,
  ): Promise<{ inboxes: InboxRecord[]; hasMore: boolean }>;
  /**
   * Ends an inbox at once. When it resolves, its messages, sources, token and pending deliveries are
   * gone from the storage, in small steps that do not hold up others. False when there is none (or only a tombstone).
   */
  delete(accountId: string, inboxId: string, now: number): Promise<boolean>;
  /** Does the same to all live inboxes that carry all `labels` (at least one); answers how many. */
  deleteByLabels(accountId: string, labels: Record<string, string>, now: number): Promise<number>;
  /** The live inbox at an address (lower case, no tag), for RCPT. */
  findByAddress(address: string, now: number): Promise<AddressedInbox | undefined>;
}

export interface AddressedInbox {
  inboxId: string;
  accountId: string;
  plan: string;
  address: string;
  messageCount: number;
  expiresAt: number;
}
