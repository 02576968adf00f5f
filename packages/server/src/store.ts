import { accounts, domains, keys } from './accounts/sql.ts';
import { sessions } from './console/sql.ts';
import { type Calls, callsOn, type Kit } from './database/operations.ts';
import type { Hint } from './database/postgres/hints.ts';
import { sql } from './database/sql.ts';
import { faults } from './faults/sql.ts';
import type { CreatedInbox } from './inboxes/records.ts';
import { addresses } from './inboxes/sql/addresses.ts';
import { changing } from './inboxes/sql/changing.ts';
import { finding } from './inboxes/sql/finding.ts';
import { createMailBatcher } from './messages/mail-batcher.ts';
import type { Placed } from './messages/records.ts';
import { messages } from './messages/sql.ts';
import { refusals } from './refusals/sql.ts';
import { reports } from './reports/sql.ts';
import { deleteAccount } from './retention/delete-account.ts';
import { inboxDeletion } from './retention/delete-inboxes.ts';
import { upkeep } from './retention/sweep.ts';
import { limits, nodes, usage } from './usage/sql.ts';
import { waits } from './waits/sql.ts';
import { log } from './webhooks/sql/log.ts';
import { queue } from './webhooks/sql/queue.ts';
import { record } from './webhooks/sql/record.ts';
import { webhooks } from './webhooks/sql/webhooks.ts';

/** All operations of the store by noun. The main thread and the threads of the database share this table. */
export const operations = {
  accounts: { ...accounts, delete: deleteAccount },
  keys,
  domains,
  sessions,
  usage,
  limits,
  nodes,
  addresses,
  inboxes: { ...finding, ...changing, ...inboxDeletion },
  messages,
  faults,
  refusals,
  upkeep,
  webhooks,
  deliveries: { ...queue, record, ...log },
  waits,
  reports,
};

/**
 * The store of accounts, inboxes and messages. The operations
 * of each noun stand in its folder; the suite in `test/store/contract/suite.ts` holds both engines to what they say.
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
export interface Store extends Calls<typeof operations> {
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

/** The store on a database. The tables must exist (`migrate`). Closing it closes the database. */
export function createStore(kit: Kit): Store {
  const calls = callsOn(operations, kit);
  return {
    ...calls,
    messages: {
      ...calls.messages,
      addBatch: createMailBatcher(calls.messages.addBatch, kit.mayDependOnContent),
    },
    // A transaction, because it tells whether the storage can be written to.
    ping: async () => {
      await kit.transaction((tx) => tx.first(sql`select id from accounts limit 1`));
    },
    generation: () => null,
    close: () => kit.close(),
  };
}

/** What other nodes have to know after a call. */
export function hintsAfter(method: string, args: readonly unknown[], result: unknown): Hint[] {
  switch (method) {
    case 'messages.addBatch':
      return (result as Placed[][]).flat().flatMap((placed) => {
        if (!('messageId' in placed)) return [];
        const { accountId, inboxId } = placed;
        const message: Hint = { kind: 'message', accountId, inboxId };
        return placed.deliveries ? [message, { kind: 'deliveries' }] : [message];
      });
    case 'inboxes.create': {
      const { accountId, id: inboxId, messageCount } = (result as CreatedInbox).inbox;
      return messageCount === 0 ? [] : [{ kind: 'message', accountId, inboxId }, { kind: 'deliveries' }];
    }
    case 'inboxes.setExpiry':
    case 'inboxes.delete':
      return [{ kind: 'inbox', inboxId: String(args[1]) }];
    case 'messages.mark':
    case 'messages.delete':
    case 'messages.deleteAll':
      return [{ kind: 'inbox', inboxId: String(args[0]) }];
    case 'deliveries.addTest':
    case 'deliveries.replay':
    case 'deliveries.replaySome':
      return [{ kind: 'deliveries' }];
    case 'inboxes.deleteByLabels':
    case 'accounts.delete':
      return [{ kind: 'all' }];
    default:
      return [];
  }
}
