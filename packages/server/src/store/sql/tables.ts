import type { Generated } from 'kysely';
import type { InboxKind } from '../contract/index.ts';
import type { DeletedInboxesTable, InboxWaitsTable } from './reports/tables.ts';

/**
 * The tables as both engines have them: text ids that we make ourselves, whole epoch milliseconds,
 * 0 and 1 for no and yes. Text from clients is stored as JSON text, whose escapes carry what an
 * engine would refuse or change (PostgreSQL a NUL, both a lone surrogate).
 */
export interface Tables {
  markers: MarkersTable;
  accounts: AccountsTable;
  account_orders: AccountOrdersTable;
  keys: KeysTable;
  sessions: SessionsTable;
  usage_months: UsageMonthsTable;
  usage_days: UsageDaysTable;
  domains: DomainsTable;
  addresses: AddressesTable;
  inboxes: InboxesTable;
  inbox_labels: InboxLabelsTable;
  inbox_waits: InboxWaitsTable;
  deleted_inboxes: DeletedInboxesTable;
  idempotency: IdempotencyTable;
  messages: MessagesTable;
  sources: SourcesTable;
  source_pieces: SourcePiecesTable;
  shared_sources: SharedSourcesTable;
  parked_sources: ParkedSourcesTable;
  refusals: RefusalsTable;
  webhooks: WebhooksTable;
  wakes: WakesTable;
  deliveries: DeliveriesTable;
  attempts: AttemptsTable;
  shared_limits: SharedLimitsTable;
  schema_compatibility: SchemaCompatibilityTable;
}

/** Things that are done once only, by the transaction that inserts the name. */
export interface MarkersTable {
  name: string;
}

export interface AccountsTable {
  seq: Generated<number>;
  id: string;
  /** JSON text. */
  name: string;
  plan: string;
  created_at: number;
  /** Set while the account is being deleted; its row is deleted last. */
  deleted_at: number | null;
}

/** The order of an account's messages; an account that never got one has no row. */
export interface AccountOrdersTable {
  account_seq: number;
  /** The largest `account_order` of a message so far. */
  last: number;
}

/** Sessions of the console. */
export interface SessionsTable {
  hash: string;
  credential_hash: string;
  kind: 'key' | 'token';
  created_at: number;
  used_at: number;
}

export interface KeysTable {
  id: string;
  hash: string;
  account_id: string;
  /** JSON text. */
  name: string;
  scope: 'full' | 'read';
  prefix: string;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
}

/** What all nodes have leased of an account's quota in a calendar month. */
export interface UsageMonthsTable {
  account_id: string;
  /** `2026-11`, in UTC. */
  month: string;
  /** Requests used or leased. */
  taken: number;
  /** What the last lease was granted: the upsert that decides it can return only columns. */
  last_grant: number;
  /** When 80 and 100 per cent of the quota were first used; null if not yet. */
  passed_80_at: number | null;
  passed_100_at: number | null;
}

/** Requests of an account on a day. */
export interface UsageDaysTable {
  account_id: string;
  /** `2026-11-21`, in UTC. */
  day: string;
  requests: number;
}

/** Served domains that belong to one account each. */
export interface DomainsTable {
  domain: string;
  account_id: string;
  created_at: number;
}

/** Who may use an address; one statement on one row decides it. */
export interface AddressesTable {
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
  /** {@link DELETED} once it is deleted. */
  expires_at: number;
  max_expires_at: number;
  message_count: number;
  last_received_at: number;
  version: number;
  /** 1 once its messages are deleted from the storage. */
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
}

/**
 * `expires_at` of a deleted inbox: before every tombstone, so that no query finds it and the sweeper frees
 * it first.
 */
export const DELETED = 0;

/** One row for each label of an inbox, for the search by labels. */
export interface InboxLabelsTable {
  account_id: string;
  /** JSON text of `[name, value]`. */
  pair: string;
  inbox_id: string;
  inbox_seq: number;
}

export interface IdempotencyTable {
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

/** A mail as shown in one inbox. Its id carries `received_at`, so the key finds it by id as well. */
export interface MessagesTable {
  inbox_seq: number;
  received_at: number;
  id: string;
  source_seq: number;
  /** JSON text of the list. */
  rcpt_to: string;
  account_seq: number;
  /** Strictly increasing within the account, in the order of the commits. */
  account_order: number;
}

/**
 * The part of a mail that all its inboxes share, stored once. The columns are ordered by size and use: SQLite
 * reads a row up to the last selected column.
 */
export interface SourcesTable {
  seq: Generated<number>;
  /** Bytes of the whole raw source. */
  size: number;
  /** JSON text, or null. */
  parse_error: string | null;
  /** UTF-8 JSON of a MailSummary. */
  summary: Uint8Array;
  /** JSON text of a MailEnvelope. */
  envelope: string;
  /** UTF-8 JSON of a MailContent. */
  content: Uint8Array;
  /** The raw source's piece 0; nearly every mail has no other. */
  raw: Uint8Array;
}

/** The raw source's pieces from 1 on. */
export interface SourcePiecesTable {
  source_seq: number;
  piece: number;
  bytes: Uint8Array;
}

/** The number of messages of a source that had more than one. */
export interface SharedSourcesTable {
  source_seq: number;
  messages: number;
}

/** Large sources without messages: those that are deleted in steps, and those that are being written. */
export interface ParkedSourcesTable {
  source_seq: number;
  /** A name that the writer of a source gave it until its message is committed; null where it is to be deleted. */
  stage: Generated<string | null>;
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

/** A webhook and the head of its queue. */
export interface WebhooksTable {
  id: string;
  account_id: string;
  inbox_id: string | null;
  url: string;
  /** JSON text. */
  description: string;
  /** JSON text of a list of secrets, each with its end. */
  secrets: string;
  enabled: number;
  disabled_reason: string | null;
  created_at: number;
  /** The end of its inbox; {@link NEVER} for the whole account, {@link DELETED} once it is deleted. */
  ends_at: number;
  /** 1 if the last attempt got a 2xx response within `PROMPT_MS`. */
  prompt: number;
  failing_since: number | null;
  /** Attempts since the last success. */
  failed_attempts: number;
  /** When the next delivery may be claimed, or earlier; null while none is pending. */
  next_at: number | null;
  /** Nothing is claimed before: the maximum of attempts is in progress, or it pauses after failures. */
  blocked_until: Generated<number>;
  /** Deliveries in the log, but those of wakes that no claim has taken yet. */
  kept: number;
  /** The schedule's time at which `next_at` was last set; see webhooks/schedule.ts. */
  scheduled_at: Generated<number>;
  /** How far the times of its deliveries run ahead of the schedule's time; see webhooks/schedule.ts. */
  ahead_ms: Generated<number>;
}

/**
 * New deliveries of a webhook, for the next claim: the intake only inserts, so that it never waits for the
 * lock of a webhook's row.
 */
export interface WakesTable {
  seq: Generated<number>;
  webhook_id: string;
  /** The `due_at` of the deliveries, by the wall clock of the node that added them. */
  at: number;
  /** How many deliveries were added. */
  added: number;
}

/** `ends_at` of what does not end by itself: later than any time. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** A delivery. While it is pending, exactly one of `due_at` and `leased_until` is set. */
export interface DeliveriesTable {
  id: string;
  webhook_id: string;
  event_id: string;
  inbox_id: string | null;
  message_id: string | null;
  state: 'pending' | 'delivered' | 'failed' | 'cancelled';
  reason: string | null;
  created_at: number;
  due_at: number | null;
  leased_until: number | null;
  ended_at: number | null;
  /** Attempts since it was made or replayed. */
  round: number;
  /** Attempts in all. */
  attempts: number;
}

/** A limit that all nodes keep together; see limits.ts. */
export interface SharedLimitsTable {
  key: string;
  /** JSON text of the times of events, oldest first; of a rate, how long its last uses take to refill. */
  times: string;
  ends_at: number;
}

/** Which older servers can use the tables after a migration; see migrations/migrate.ts. */
export interface SchemaCompatibilityTable {
  /** The number of the migration. */
  schema: number;
  /** The number of the oldest migration whose servers can use the tables. */
  usable_from: number;
}

export interface AttemptsTable {
  delivery_id: string;
  number: number;
  at: number;
  status: number | null;
  duration_ms: number;
  /** JSON text, or null. */
  error: string | null;
  /** JSON text of the beginning of the response. */
  response_start: string;
}
