/**
 * The store's contract for webhooks and their deliveries: a part of `store.ts`, whose general rules
 * (times, owners, errors, plain data) hold here too.
 *
 * Each webhook has a queue of deliveries. It exists until it is deleted or, if it belongs to an inbox, until
 * that inbox ends; for 24 h after such an end it can still be read, with its log.
 */

export interface WebhookRecord {
  id: string;
  accountId: string;
  /** Null for the whole account. */
  inboxId: string | null;
  url: string;
  description: string;
  enabled: boolean;
  /** Why it was disabled; null if its owner disabled it or it is enabled. */
  disabledReason: string | null;
  createdAt: number;
  /** The end of its inbox; null for the whole account. */
  endsAt: number | null;
  /** The first failed attempt since the last success, since it was made or enabled; null without one. */
  failingSince: number | null;
}

export interface NewWebhook {
  id: string;
  /** Null for the whole account. */
  inboxId: string | null;
  url: string;
  description: string;
  /** Stored as it is, because it signs payloads. */
  secret: string;
  createdAt: number;
}

export interface WebhookChanges {
  url?: string;
  description?: string;
  /** True also resets the failures; false cancels pending deliveries. */
  enabled?: boolean;
}

export interface WebhookStore {
  /**
   * Adds an enabled webhook, in one step with the check of the account's number of live ones.
   * Throws `limit_reached` at `maxWebhooks`, and `not_found` if its inbox is not a live inbox of the account.
   */
  create(accountId: string, webhook: NewWebhook, maxWebhooks: number): Promise<WebhookRecord>;
  find(accountId: string, webhookId: string, now: number): Promise<WebhookRecord | undefined>;
  /** Newest first, those before the id `before`. */
  list(
    accountId: string,
    page: { limit: number; before: string | null },
    now: number,
  ): Promise<{ webhooks: WebhookRecord[]; hasMore: boolean }>;
  /** Undefined if there is no such live webhook. */
  update(
    accountId: string,
    webhookId: string,
    changes: WebhookChanges,
    now: number,
  ): Promise<WebhookRecord | undefined>;
  /** Adds a secret; the older ones sign as well until `oldUntil`. Undefined as in `update`. */
  rotateSecret(
    accountId: string,
    webhookId: string,
    secret: string,
    oldUntil: number,
    now: number,
  ): Promise<WebhookRecord | undefined>;
  /** When it resolves, its deliveries and attempts are deleted too. False if there is no such webhook. */
  delete(accountId: string, webhookId: string, now: number): Promise<boolean>;
  /** Disables an enabled webhook of any account; the next claim cancels its pending deliveries. */
  disable(webhookId: string, reason: string): Promise<void>;
}

/** `cancelled`: ended without having failed; `reason` says why. */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'cancelled';

/** One attempt of a delivery in the log. */
export interface AttemptRecord {
  /** When it began. */
  at: number;
  /** Status of the response; null without a response. */
  status: number | null;
  durationMs: number;
  /** Null if and only if a 2xx response came in time. */
  error: { code: string; message: string } | null;
  /** The beginning of the response's body. Untrusted. */
  responseStart: string;
}

export interface DeliveryRecord {
  id: string;
  webhookId: string;
  /** Sent as `webhook-id`; one event may be delivered to several webhooks. */
  eventId: string;
  /** Both null for a test event. */
  inboxId: string | null;
  messageId: string | null;
  state: DeliveryState;
  /** Why it failed or was cancelled. */
  reason: string | null;
  createdAt: number;
  /** Null if it ended, and while an attempt is in progress. */
  nextAttemptAt: number | null;
  /** Oldest first. */
  attempts: AttemptRecord[];
}

/** A delivery that only its claimer may attempt until `leasedUntil`. */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  accountId: string;
  eventId: string;
  inboxId: string | null;
  messageId: string | null;
  createdAt: number;
  url: string;
  /** Secrets that sign now, newest first. */
  secrets: string[];
  /** Of the attempt to make, from 1 in each round; a replay begins a new round. */
  attemptNumber: number;
  /** The claim's proof. */
  leasedUntil: number;
  /** Which of the two limits of the claim it counts against. */
  prompt: boolean;
}

/** How many deliveries a claim may take. A webhook is prompt after a 2xx response within {@link PROMPT_MS}. */
export interface ClaimLimits {
  /** Deliveries of prompt webhooks. */
  prompt: number;
  /** Deliveries of all others: new, slow, failing. */
  other: number;
  /** How long the claim holds, milliseconds. */
  leaseMs: number;
}

/** The result of a claimed delivery. */
export interface AttemptResult {
  webhookId: string;
  deliveryId: string;
  /** As claimed. */
  leasedUntil: number;
  /** Null if no attempt was made because the message does not exist any more. */
  attempt: AttemptRecord | null;
  next: /** `at` is a time of the schedule. */
  { state: 'pending'; at: number } | { state: Exclude<DeliveryState, 'pending'>; reason: string | null };
}

/** Which deliveries a step of a replay looks at; its result's `last` is the next step's `after`, null at the end. */
export interface ReplayStep {
  state: Exclude<DeliveryState, 'pending'>;
  after: string;
  /** The last id to look at: deliveries that are added during the replay are left alone. */
  upTo: string;
  limit: number;
}

/** Failures of a webhook since its last success, after an attempt was recorded. */
export interface FailureStreak {
  failingSince: number | null;
  failedAttempts: number;
}

/**
 * The queue and log of deliveries. Delays and leases are counted on the time of schedules (`schedule`, epoch
 * milliseconds, by default `now`), which steps of a machine's wall clock do not move. If it runs back
 * nevertheless, each delay and lease lasts as long as it would have: nothing waits for the old time.
 */
export interface DeliveryStore {
  /**
   * Leases due deliveries, the longest due first: at most {@link CONCURRENCY} at once of a prompt webhook and
   * one of any other. A delivery whose lease ran out is due again. It also cancels pending deliveries of
   * webhooks that are disabled or ended.
   */
  claim(limits: ClaimLimits, now: number, schedule?: number): Promise<ClaimedDelivery[]>;
  /**
   * The earliest time of the schedule at which a claim may find something; null when nothing is pending. May
   * be too early.
   */
  nextAt(schedule: number): Promise<number | null>;
  /**
   * Stores attempts and the new states of their deliveries in one transaction. A delivery whose lease ended
   * keeps its state; the attempt is logged nevertheless.
   * @returns the failures of each result's webhook, undefined if the webhook does not exist any more
   */
  record(results: AttemptResult[], now: number, schedule?: number): Promise<(FailureStreak | undefined)[]>;
  /** Ends all leases, for a storage with one server: at its start, deliveries of the last process are due at once. */
  releaseAll(schedule: number): Promise<void>;
  /** Adds the delivery of a test event, due at once. Undefined if there is no such live webhook. */
  addTest(
    accountId: string,
    webhookId: string,
    test: { deliveryId: string; eventId: string },
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  /**
   * Begins a new round of attempts with the same event id, due at once, unless an attempt is in progress.
   * Undefined if there is no such delivery of a live webhook.
   */
  replay(
    accountId: string,
    webhookId: string,
    deliveryId: string,
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  /**
   * One step of replaying many: looks at up to `limit` deliveries after the id `after`, oldest first, and
   * begins a new round of those in the state whose inbox still exists. Undefined if there is no such live
   * webhook.
   */
  replaySome(
    accountId: string,
    webhookId: string,
    which: ReplayStep,
    now: number,
  ): Promise<{ replayed: number; last: string | null } | undefined>;
  find(
    accountId: string,
    webhookId: string,
    deliveryId: string,
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  /** As `list`, of one state: it may have to look at the whole log. */
  listByState(
    accountId: string,
    webhookId: string,
    page: { limit: number; before: string | null; state: DeliveryState },
    now: number,
  ): Promise<{ deliveries: DeliveryRecord[]; hasMore: boolean }>;
  /** Newest first, those before the id `before`; none of an unknown webhook. */
  list(
    accountId: string,
    webhookId: string,
    page: { limit: number; before: string | null },
    now: number,
  ): Promise<{ deliveries: DeliveryRecord[]; hasMore: boolean }>;
  /**
   * Those of a message of a live inbox of the account, newest first. Deliveries that ended more than 7 days ago
   * are deleted.
   */
  listOfMessage(accountId: string, message: DeliveredMessage, now: number): Promise<DeliveryRecord[]>;
}

/** A message whose deliveries are searched. */
export interface DeliveredMessage {
  inboxId: string;
  messageId: string;
  /** When it was stored, at the earliest and at the latest; epoch milliseconds. */
  from: number;
  to: number;
}

/** Attempts in progress at once for a prompt webhook: enough to hide its latency. All others have one. */
export const CONCURRENCY = 4;
/** A webhook with slower responses is not prompt, so that it does not delay the prompt ones. */
export const PROMPT_MS = 2_000;
