import type { AccountTables } from './accounts.ts';
import type { InboxTables } from './inboxes.ts';
import type { MessageTables } from './messages.ts';
import type { WebhookTables } from './webhooks.ts';

/**
 * The tables as both engines have them: text ids that we make ourselves, whole epoch milliseconds,
 * 0 and 1 for no and yes. Text from clients is stored as JSON text, whose escapes carry what an
 * engine would refuse or change (PostgreSQL a NUL, both a lone surrogate).
 */
export interface Tables extends AccountTables, InboxTables, MessageTables, WebhookTables {
  markers: MarkersTable;
  shared_limits: SharedLimitsTable;
}

export { DELETED, NEVER } from '../../../database/schema.ts';

/** Things that are done once only, by the transaction that inserts the name. */
interface MarkersTable {
  name: string;
}

/** A limit that all nodes keep together; see limits.ts. */
interface SharedLimitsTable {
  key: string;
  /** JSON text of the times of events, oldest first; of a rate, how long its last uses take to refill. */
  times: string;
  ends_at: number;
}
