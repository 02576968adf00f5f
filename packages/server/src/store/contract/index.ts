import type { AccountStore, DomainStore, KeyStore, SessionStore } from './accounts.ts';
import type { AddressStore, InboxStore } from './inboxes.ts';
import type { MessageStore, RefusalStore } from './messages.ts';
import type { UsageStore } from './usage.ts';
import type { DeliveryStore, WebhookStore } from './webhooks.ts';

export type * from './accounts.ts';
export type * from './inboxes.ts';
export type * from './messages.ts';
export type * from './usage.ts';
export type * from './webhooks.ts';

/**
 * The store: the one truth about accounts, inboxes and messages. This file and those that it
 * exports are its contract; the conformance suite in `test/store/contract/suite.ts` holds every engine to it.
 *
 * All times are epoch milliseconds and `now` is always the caller's. Every read carries the
 * condition that the inbox still lives, so nothing depends on the sweeper. A `find…` answers
 * `undefined` where nothing is there; another owner's row is not there. Arguments and answers are
 * plain data (they may cross a thread).
 *
 * A failure of the storage is one of two errors:
 * - AppError `unavailable`: the storage is down, full or too slow, and nothing was changed. The call can be
 *   repeated as it is. (`accounts.delete` and `inboxes.deleteByLabels` delete in several transactions; a
 *   repeated call continues.)
 * - AppError `outcome_unknown`, of writes only: the storage failed during the call, which may or may not have
 *   taken effect, completely. A caller may repeat a write that is harmless when done twice; of others it
 *   must assume the worse case. Over HTTP it is 503 `unavailable`, over SMTP 451.
 */
export interface Store {
  accounts: AccountStore;
  keys: KeyStore;
  sessions: SessionStore;
  usage: UsageStore;
  domains: DomainStore;
  addresses: AddressStore;
  inboxes: InboxStore;
  messages: MessageStore;
  refusals: RefusalStore;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  upkeep: Upkeep;
  /**
   * Grows with every write of this process that was answered. Between equal values inboxes and messages
   * read the same, but for what expires. Null where other processes write them too.
   * @param of `inboxes`: grows only with what may change more of an inbox than which messages came
   */
  generation(of?: 'inboxes'): number | null;
  /** Resolves when the storage answers on the way that writes take; throws `unavailable` otherwise. */
  ping(): Promise<void>;
  /** Finishes what was begun, then frees files, threads and connections. Safe to call twice. */
  close(): Promise<void>;
}

/** How much there is, for monitoring. */
export interface StoreFigures {
  /** Inboxes that have not expired and were not deleted, of all accounts. */
  liveInboxes: number;
  /** Webhook deliveries that have not ended: waiting for their time, or being attempted. */
  pendingDeliveries: number;
  /** When the first of those that wait is due, epoch milliseconds; null when none waits. */
  firstDueAt: number | null;
}

/** What keeps the storage in order, and what tells its state. */
export interface Upkeep {
  /**
   * Counts by indexes alone: under 1 ms for 10,000 inboxes, 60 to 90 ms for a million (measured). Callers keep
   * the result for a while, in proportion to the time that it took.
   */
  measure(now: number): Promise<StoreFigures>;
  /** The newest `receivedAt` of an account's last message, of all accounts; 0 without messages. */
  newestTime(): Promise<number>;
  /**
   * Frees some of what is past its time: expired inboxes' messages and sources, tombstones, holds,
   * quarantines, refusals, idempotency keys; at most about `limit` rows, in a transaction of a few
   * milliseconds.
   * @returns rows freed; less than `limit` means that nothing is left to do
   */
  sweep(now: number, limit: number): Promise<number>;
}
