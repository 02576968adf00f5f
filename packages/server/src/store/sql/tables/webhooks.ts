import type { Generated } from 'kysely';

/** Webhooks, their queues, and the log of deliveries. */
export interface WebhookTables {
  webhooks: WebhooksTable;
  wakes: WakesTable;
  deliveries: DeliveriesTable;
}

/** A webhook and the head of its queue. */
interface WebhooksTable {
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
  /** The end of its inbox; `NEVER` for the whole account, `DELETED` once it is deleted. */
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
}

/**
 * New deliveries of a webhook, for the next claim: the intake only inserts, so that it never waits for the
 * lock of a webhook's row.
 */
interface WakesTable {
  seq: Generated<number>;
  webhook_id: string;
  /** The `due_at` of the deliveries, by the wall clock of the node that added them. */
  at: number;
  /** How many deliveries were added. */
  added: number;
}

/** A delivery. While it is pending, exactly one of `due_at` and `leased_until` is set. */
interface DeliveriesTable {
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
