import type { MailAuthentication } from '../mail/authentication.ts';
import type { MailContent, MailSummary } from '../mail/mail.ts';
import type { DomainStore, UsageStore } from './usage-contract.ts';
import type { DeliveryStore, NewWebhook, WebhookStore } from './webhook-contract.ts';

export type * from './usage-contract.ts';
export type * from './webhook-contract.ts';

/**
 * The store: the one truth about accounts, inboxes and messages. This file is its contract; the
 * conformance suite in `test/store/suite.ts` holds every engine to it.
 *
 * All times are epoch milliseconds and `now` is always the caller's. Every read carries the
 * condition that the inbox still lives, so nothing depends on the sweeper. A `find…` answers
 * `undefined` where nothing is there; another owner's row is not there. Arguments and answers are
 * plain data (they may cross a thread).
 *
 * Any method throws AppError `unavailable` when the storage is down, full or too slow; then nothing
 * was changed.
 */
export interface Store {
  accounts: AccountStore;
  keys: KeyStore;
  /** See `usage-contract.ts` for these two. */
  usage: UsageStore;
  domains: DomainStore;
  addresses: AddressStore;
  inboxes: InboxStore;
  messages: MessageStore;
  refusals: RefusalStore;
  /** See `webhook-contract.ts` for these two. */
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  upkeep: Upkeep;
  /**
   * Grows with every write of this process that was answered. Between equal values inboxes and messages
   * read the same, but for what expires. Null where other processes write them too.
   */
  generation(): number | null;
  /** Resolves when the storage answers a write path question; throws `unavailable` otherwise. */
  ping(): Promise<void>;
  /** Finishes what was begun, then frees files, threads and connections. Safe to call twice. */
  close(): Promise<void>;
}

export interface AccountRecord {
  id: string;
  name: string;
  plan: string;
  createdAt: number;
}

export type KeyScope = 'full' | 'read';

export interface KeyRecord {
  id: string;
  accountId: string;
  name: string;
  scope: KeyScope;
  /** The first letters of the key, for people to tell keys apart. */
  prefix: string;
  createdAt: number;
  expiresAt: number | null;
}

export interface AccountStore {
  /**
   * Makes the first account together with its first key, unless any account exists: two processes
   * that start at once make one.
   * @returns true when it was made
   */
  createFirst(account: AccountRecord, key: KeyRecord & { hash: string }): Promise<boolean>;
  /** The oldest account, or undefined before the first start. */
  findFirst(): Promise<AccountRecord | undefined>;
  find(accountId: string): Promise<AccountRecord | undefined>;
  /** Makes an account, with its first key or without one. */
  create(account: AccountRecord, key: (KeyRecord & { hash: string }) | null): Promise<void>;
  /** Accounts by id, oldest first, those after the id `after`. */
  list(page: {
    limit: number;
    after: string | null;
  }): Promise<{ accounts: AccountRecord[]; hasMore: boolean }>;
  /** Puts an account on another plan; in force from the next look at it. Undefined when there is none. */
  setPlan(accountId: string, plan: string): Promise<AccountRecord | undefined>;
  /**
   * Deletes an account. Its keys, domains and webhooks end in one step, and from there on nothing is made for
   * it (creations throw `unauthorized`); then its inboxes end, live or expired; when it resolves, all that
   * clients sent or made is gone from the storage, in small steps that do not hold up others. What stays:
   * counts of its usage, for as long as any are kept; the quarantine of its addresses; refusals. Stopped on
   * its way, it goes on when it is called again.
   * @returns `last` for the only account, which is left as it is; `unknown` when there is none
   */
  delete(accountId: string, now: number): Promise<'deleted' | 'last' | 'unknown'>;
}

/** A key as lists show it. */
export interface ListedKey extends KeyRecord {
  /** The last use that was told, epoch milliseconds; null: none yet. */
  lastUsedAt: number | null;
}

export interface KeyStore {
  /** The live key with that {@link hashCredential}, with its account; revoked or expired: undefined. */
  findByHash(hash: string, now: number): Promise<{ key: KeyRecord; account: AccountRecord } | undefined>;
  /**
   * Adds a key; the account exists. Throws nothing for a hash already known: that key stays as it is, and
   * a revoked one stays revoked.
   * @throws AppError `limit_reached` where the account has `maxKeys` keys, expired ones too; no limit without it
   */
  create(key: KeyRecord & { hash: string }, maxKeys?: number): Promise<void>;
  /** An account's keys, newest first; expired ones until they are revoked. */
  list(accountId: string): Promise<ListedKey[]>;
  /** Of any account, for the operator. */
  find(keyId: string): Promise<ListedKey | undefined>;
  /**
   * Revokes a key: {@link KeyStore.findByHash} never knows it again. With `keepOne`, in the same step,
   * only when another live key of scope `full` is left to the account.
   */
  revoke(
    accountId: string,
    keyId: string,
    keepOne: boolean,
    now: number,
  ): Promise<'revoked' | 'last' | 'unknown'>;
  /** Remembers when keys were last used; an earlier time than the known one changes nothing. */
  used(uses: { keyId: string; at: number }[]): Promise<void>;
}

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
   * the caller keeps it within `maxExpiresAt`. Undefined when it is not live (any more).
   */
  setExpiry(
    accountId: string,
    inboxId: string,
    expiry: { ttlMinutes: number; expiresAt: number },
    now: number,
  ): Promise<InboxRecord | undefined>;
  /** The account's live inboxes that carry all `labels`, newest first, those before the id `before`. */
  list(
    accountId: string,
    page: { labels: Record<string, string>; limit: number; before: string | null },
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
}

/** The envelope of a mail (RFC 5321 section 2.3.1), less its recipients. */
export interface MailEnvelope {
  /** '' is the null reverse-path. */
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  tls: boolean;
}

/** A mail on its way into one or more inboxes; kept once however many they are. */
export interface NewMail {
  /**
   * Our Received line and then every byte as it came. In a resizable buffer it is given away to the store,
   * which may take it without a copy: nobody may read it after the call.
   */
  raw: Uint8Array;
  /** UTF-8 JSON of a {@link MailSummary}. */
  summary: Uint8Array;
  /** UTF-8 JSON of a {@link MailContent}. */
  content: Uint8Array;
  parseError: string | null;
  envelope: MailEnvelope;
  /** Null where it was not checked. */
  authentication: MailAuthentication | null;
  recipients: NewMailRecipient[];
}

export interface NewMailRecipient {
  inboxId: string;
  accountId: string;
  /** The RCPT addresses, tags and case as given, that lead to this inbox. */
  rcptTo: string[];
  maxMessages: number;
}

/** What became of one recipient: a message, or why there is none. */
export type Placed =
  | {
      inboxId: string;
      accountId: string;
      messageId: string;
      receivedAt: number;
      /** How many webhook deliveries were enqueued with it; left out where none was. */
      deliveries?: number;
    }
  | { inboxId: string; accountId: string; refused: 'gone' | 'full' };

export interface MessageRecord {
  id: string;
  inboxId: string;
  /** Strictly increasing within an inbox, in the order of the commits. */
  receivedAt: number;
  /** Bytes of the raw source. */
  size: number;
  rcptTo: string[];
  parseError: string | null;
  summary: MailSummary;
}

/** A message of a list whose summary nobody has looked into yet. */
export interface UnreadMessage {
  id: string;
  receivedAt: number;
  size: number;
  /** JSON text of a {@link MailSummary}. */
  summary: string;
}

export interface AccountMessageRecord extends MessageRecord {
  /** Strictly increasing within the account, in the order of the commits; with gaps. */
  accountOrder: number;
}

export interface FullMessageRecord extends MessageRecord {
  envelope: MailEnvelope;
  /** Null where it was not checked. */
  authentication: MailAuthentication | null;
  content: MailContent;
}

export interface MessageStore {
  /**
   * Commits a batch in one transaction and answers when it is on stable storage: for each mail, for
   * each recipient, what became of it. Calls that wait at the same time share a transaction, and so the
   * wait for the disk. A recipient that is gone takes nothing from the others; where
   * one is full the mail is refused as such for all, as its sender can only repeat it whole (RFC 5321
   * section 4.2.5).
   * Each message gets `receivedAt = max(now, the inbox's newest + 1)` and an id that carries it.
   */
  addBatch(mails: NewMail[], now: number): Promise<Placed[][]>;
  /** Messages of a live inbox with `after < receivedAt < before`, newest first, at most `limit`. */
  list(
    inboxId: string,
    range: { after: number; before: number; limit: number },
    now: number,
  ): Promise<MessageRecord[]>;
  /** The same messages with their summaries as they are stored, for lists that show them unread. */
  listUnread(
    inboxId: string,
    range: { after: number; before: number; limit: number },
    now: number,
  ): Promise<UnreadMessage[]>;
  /** Messages of a live inbox with `receivedAt > after`, oldest first, at most `limit`. */
  listAfter(inboxId: string, range: { after: number; limit: number }, now: number): Promise<MessageRecord[]>;
  /** Messages of the account's live inboxes with `accountOrder > after`, oldest first, at most `limit`. */
  listByAccount(
    accountId: string,
    range: { after: number; limit: number },
    now: number,
  ): Promise<AccountMessageRecord[]>;
  /**
   * The place in the account's order behind which lie all its messages with `receivedAt > time`, and
   * everything that is committed after the call.
   */
  placeInAccount(accountId: string, time: number): Promise<number>;
  find(inboxId: string, messageId: string, now: number): Promise<FullMessageRecord | undefined>;
  /**
   * A piece of the raw source, whole pieces from 0 on; undefined past the end and for no message.
   * Pieces have the same size but for the last, so that a large mail never passes through memory whole.
   */
  readRaw(inboxId: string, messageId: string, piece: number, now: number): Promise<Uint8Array | undefined>;
  /** False when there is no such message. When it resolves, a source that nobody else shows is gone too. */
  delete(inboxId: string, messageId: string, now: number): Promise<boolean>;
}

/** A RCPT or DATA for an address on a served domain that got no 250. */
export interface Refusal {
  at: number;
  /** Lower case, without a tag. */
  address: string;
  /** The reply given, code and text. */
  reply: string;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
}

/** An address to which mail was refused. */
export interface RefusedAddress {
  address: string;
  /** The last time. */
  at: number;
  /** How often. */
  times: number;
}

export interface RefusalStore {
  /** Keeps them, within bounds per address and in all; the oldest go first. Not yet durable when it resolves. */
  add(refusals: Refusal[]): Promise<void>;
  /** Of one address, newest first, not older than 24 h. */
  list(address: string, limit: number, now: number): Promise<Refusal[]>;
  /**
   * Addresses that were refused after a time and not longer than 24 h ago, the latest first. Addresses
   * that another account has, holds, or had within the quarantine, and those of another account's
   * domains, are left out; for no account
   * (`null`) those of every account.
   */
  listAddresses(
    accountId: string | null,
    page: { after: number; limit: number },
    now: number,
  ): Promise<RefusedAddress[]>;
}

export interface Upkeep {
  /**
   * Frees some of what is past its time: expired inboxes' messages and sources, tombstones, holds,
   * quarantines, refusals, idempotency keys; at most about `limit` rows, in a transaction of a few
   * milliseconds.
   * @returns rows freed; less than `limit` means that nothing is left to do
   */
  sweep(now: number, limit: number): Promise<number>;
}
