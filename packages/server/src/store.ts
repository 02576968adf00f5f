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
import { readings } from './reading/sql.ts';
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
  readings,
  faults,
  refusals,
  upkeep,
  webhooks,
  deliveries: { ...queue, record, ...log },
  waits,
  reports,
};

/**
 * Times are epoch milliseconds. Every read checks that the inbox is live, so nothing depends on the sweeper. A `find…`
 * returns `undefined` for rows of other accounts as well. Arguments and results may be sent to another thread.
 * A failure of the storage is an AppError: `unavailable` if nothing was changed (repeat the call; deletions in steps
 * continue), or `outcome_unknown` if a write may have taken effect, as a whole (HTTP 503, SMTP 451).
 */
export interface Store extends Calls<typeof operations> {
  /** Grows with every write of this process (`inboxes`: unless only messages change); null if others write as well. */
  generation(of?: 'inboxes'): number | null;
  /** Throws `unavailable` if the storage cannot be written to. */
  ping(): Promise<void>;
  /** Finishes the running calls first. May be called twice. */
  close(): Promise<void>;
}

/** The tables must exist (`migrate`). Closing the store closes the database. */
export function createStore(kit: Kit): Store {
  const calls = callsOn(operations, kit);
  return {
    ...calls,
    messages: {
      ...calls.messages,
      addBatch: createMailBatcher(calls.messages.addBatch, kit.mayDependOnContent),
    },
    // A transaction, because a read succeeds on storage that cannot be written to.
    ping: async () => {
      await kit.transaction((tx) => tx.first(sql`select id from accounts limit 1`));
    },
    generation: () => null,
    close: () => kit.close(),
  };
}

export function hintsAfter(method: string, args: readonly unknown[], result: unknown): Hint[] {
  switch (method) {
    case 'messages.addBatch':
      return (result as Placed[][]).flat().flatMap((placed) => {
        if (!('messageId' in placed)) return [];
        const { accountId, inboxId } = placed;
        const message: Hint = { kind: 'message', accountId, inboxId };
        return placed.deliveries && placed.isRead ? [message, { kind: 'deliveries' }] : [message];
      });
    case 'readings.keep':
    case 'readings.keepChecked':
      return result === 0 ? [] : [{ kind: 'deliveries' }];
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
