import type { Operated } from '../../store.ts';

export type { AccountRecord, DomainRecord, KeyRecord, KeyScope, ListedKey } from '../../accounts/sql.ts';
export type { FaultRuleRecord, MetFault } from '../../faults/sql.ts';
export type * from '../../inboxes/records.ts';
export type { FaultPoint, Refusal } from '../../refusals/sql.ts';
export type { StoreFigures } from '../../retention/sweep.ts';
export type * from './messages.ts';

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
