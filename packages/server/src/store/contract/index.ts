import type { Operated } from '../../store.ts';
import type { AddressStore, InboxStore } from './inboxes.ts';
import type { ReportStore } from './reports.ts';
import type { DeliveryStore, WebhookStore } from './webhooks.ts';

export type { AccountRecord, DomainRecord, KeyRecord, KeyScope, ListedKey } from '../../accounts/sql.ts';
export type { FaultRuleRecord, FaultySender, MetFault } from '../../faults/sql.ts';
export type { FaultPoint, Refusal, RefusedAddress } from '../../refusals/sql.ts';
export type * from './inboxes.ts';
export type * from './messages.ts';
export type * from './reports.ts';
export type * from './webhooks.ts';

/**
 * The store of accounts, inboxes and messages. This file and those that it exports are its contract; the
 * conformance suite in `test/store/contract/suite.ts` holds every engine to it.
 *
 * All times are epoch milliseconds, and `now` is always an argument. Every read checks that the inbox is
 * live, so nothing depends on the sweeper. A `find…` returns `undefined` if there is no such row or it belongs
 * to another account. Arguments and results are plain data, because they may be sent to another thread.
 *
 * A failure of the storage is one of two errors:
 * - AppError `unavailable`: the storage is down, full or too slow, and nothing was changed. The call can be
 *   repeated as it is. (`accounts.delete` and `inboxes.deleteByLabels` delete in several transactions; a
 *   repeated call continues.)
 * - AppError `outcome_unknown`, of writes only: the storage failed during the call, which may or may not have
 *   taken effect, completely. A caller may repeat a write that is harmless when done twice; of others it
 *   must assume the worse case. Over HTTP it is 503 `unavailable`, over SMTP 451.
 */
export interface Store extends Operated {
  addresses: AddressStore;
  inboxes: InboxStore;
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  reports: ReportStore;
  upkeep: Upkeep;
  /**
   * A version of the stored data: it grows with every write of this process. While it is the same, inboxes and
   * messages are the same, except that they expire. Null if other processes write to the storage as well.
   * @param of `inboxes`: grows only with writes that may change more of an inbox than its messages
   */
  generation(of?: 'inboxes'): number | null;
  /** Resolves if the storage can be written to; throws `unavailable` otherwise. */
  ping(): Promise<void>;
  /** Finishes running calls, then closes files, threads and connections. May be called twice. */
  close(): Promise<void>;
}

/** Figures for monitoring. */
export interface StoreFigures {
  /** Inboxes that have not expired and were not deleted, of all accounts. */
  liveInboxes: number;
  /** Pending webhook deliveries: waiting for their time, or being attempted. */
  pendingDeliveries: number;
  /** When the first of those that wait is due, epoch milliseconds; null when none waits. */
  firstDueAt: number | null;
}

/** Maintenance and figures of the storage. */
export interface Upkeep {
  /**
   * Counts by indexes alone: under 1 ms for 10,000 inboxes, 60 to 90 ms for a million (measured). Callers cache
   * the result for a time in proportion to its cost.
   */
  measure(now: number): Promise<StoreFigures>;
  /**
   * The database's own clock in epoch milliseconds, by which all nodes agree; null for a storage that has only
   * one server.
   */
  time(): Promise<number | null>;
  /** The newest `receivedAt` of an account's last message, of all accounts; 0 without messages. */
  newestTime(): Promise<number>;
  /**
   * Deletes about `limit` rows that are no longer needed, in a transaction of a few milliseconds: messages of
   * ended inboxes, tombstones, holds, quarantines, rejections, idempotency keys, sessions, old deliveries.
   * @returns the rows deleted; fewer than `limit` means that nothing is left
   */
  sweep(now: number, limit: number): Promise<number>;
}
