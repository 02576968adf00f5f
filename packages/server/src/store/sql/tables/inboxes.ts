import type { Generated } from 'kysely';
import type { InboxKind } from '../../contract/index.ts';

/** Inboxes, the addresses that they take, and mail that none of them took. */
export interface InboxTables {
  addresses: AddressesTable;
  inboxes: InboxesTable;
  inbox_labels: InboxLabelsTable;
  idempotency: IdempotencyTable;
  refusals: RefusalsTable;
}

export interface InboxesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  address: string;
  /** JSON text; `inbox_labels` repeats it as an index. */
  labels: string;
  token_hash: string;
  ttl_minutes: number;
  created_at: number;
  /** `DELETED` once it is deleted. */
  expires_at: number;
  max_expires_at: number;
  message_count: number;
  last_received_at: number;
  version: number;
  /** 1 once the sweeper has freed messages of it: it has ended for good. Those up to `emptied_up_to` may be left. */
  freed: number;
  /**
   * Messages with `received_at` up to this time were deleted by emptying the inbox: no query may return
   * them. 0 once their rows are freed.
   */
  emptied_up_to: Generated<number>;
  /** 1 once it had a webhook of its own; of other inboxes no webhook is searched. */
  has_webhook: Generated<number>;
  kind: InboxKind;
  /** JSON text of its fault rules; null without any. */
  faults: string | null;
  /** How many faults are still to be applied. */
  faults_left: Generated<number>;
  /** All messages so far, deleted ones included. */
  received_messages: Generated<number>;
  /** When the first of them came; 0 before. */
  first_received_at: Generated<number>;
  /** When the last message of its replay is due; 0 once that was cut, null without one and when it is complete. */
  replay_until: Generated<number | null>;
}

/** One row for each label of an inbox, for the search by labels. */
interface InboxLabelsTable {
  account_id: string;
  /** JSON text of `[name, value]`. */
  pair: string;
  inbox_id: string;
  inbox_seq: number;
}

/** Who may use an address; one statement on one row decides it. */
interface AddressesTable {
  /** An address, or an entry for several addresses; see inboxes/addresses.ts. */
  address: string;
  account_id: string;
  /** The inbox that has or had the address; null for a hold and after a deletion. */
  inbox_id: string | null;
  /** No inbox may take the address before: a live inbox has it. */
  busy_until: number;
  /** Only `account_id` may take it before: a hold, or the quarantine after an inbox. */
  reserved_until: number;
}

interface IdempotencyTable {
  /** The account; in rows that versions before 0.2.0 wrote, the API key. */
  key_id: string;
  key_hash: string;
  body_hash: string;
  nonce: string;
  /** JSON text of the InboxRecord at its creation. */
  inbox: string;
  /** JSON text of the InboxWebhook made with it, or null. */
  webhook: string | null;
  expires_at: number;
}

export interface RefusalsTable {
  seq: Generated<number>;
  /** JSON text: a RCPT may name anything. */
  address: string;
  /** The served domain that the address is on. */
  domain: string;
  at: number;
  /** JSON text of the rest of a Refusal. */
  details: string;
}
