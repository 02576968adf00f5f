/**
 * The store's contract for webhooks and their deliveries: a part of `store.ts`, whose general rules
 * (times, owners, errors, plain data) hold here too.
 *
 * A webhook is the head of a queue of deliveries. It lives until it is deleted or, made for one
 * inbox, until that inbox ends; for 24 h after such an end it can still be read, with its log.
 */

export interface WebhookRecord {
  id: string;
  accountId: string;
  /** Null for the whole account. */
  inboxId: string | null;
  url: string;
  description: string;
  enabled: boolean;
  /** Why it was disabled, for its owner; null when its owner did it, or it is enabled. */
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
  /** Kept readable, because it signs. */
  secret: string;
  createdAt: number;
}

export interface WebhookChanges {
  url?: string;
  description?: string;
  /** True also forgets past failures; false ends what is pending. */
  enabled?: boolean;
}

export interface WebhookStore {
  /**
   * Adds an enabled webhook, in one step with the check of the account's number of live ones.
   * Throws `limit_reached` at `maxWebhooks`, and `not_found` when its inbox is not a live one of the account.
   */
  create(accountId: string, webhook: NewWebhook, maxWebhooks: number): Promise<WebhookRecord>;
  find(accountId: string, webhookId: string, now: number): Promise<WebhookRecord | undefined>;
  /** Newest first, those before the id `before`. */
  list(
    accountId: string,
    page: { limit: number; before: string | null },
    now: number,
  ): Promise<{ webhooks: WebhookRecord[]; hasMore: boolean }>;
  /** Undefined when it does not live (any more). */
  update(
    accountId: string,
    webhookId: string,
    changes: WebhookChanges,
    now: number,
  ): Promise<WebhookRecord | undefined>;
  /** Makes `secret` the first to sign; those before it sign too until `oldUntil`. Undefined as in `update`. */
  rotateSecret(
    accountId: string,
    webhookId: string,
    secret: string,
    oldUntil: number,
    now: number,
  ): Promise<WebhookRecord | undefined>;
  /** When it resolves, its deliveries and attempts are gone too. False when there is none. */
  delete(accountId: string, webhookId: string, now: number): Promise<boolean>;
  /** Disables it, whoever owns it; what is pending ends at the next claim. Nothing for one that is not enabled. */
  disable(webhookId: string, reason: string): Promise<void>;
}

/** `cancelled`: ended without having failed; `reason` says why. */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'cancelled';

/** One attempt of a delivery, as the log keeps it. */
export interface AttemptRecord {
  /** When it began. */
  at: number;
  /** Of the answer; null when none came. */
  status: number | null;
  durationMs: number;
  /** Null exactly after a 2xx answer in time. */
  error: { code: string; message: string } | null;
  /** The beginning of the answer's body. Untrusted. */
  responseStart: string;
}

export interface DeliveryRecord {
  id: string;
  webhookId: string;
  /** Goes out as `webhook-id`; one event may go to several webhooks. */
  eventId: string;
  /** Both null for a test event. */
  inboxId: string | null;
  messageId: string | null;
  state: DeliveryState;
  /** Why it failed or was cancelled. */
  reason: string | null;
  createdAt: number;
  /** Null when it ended, and while an attempt is under way. */
  nextAttemptAt: number | null;
  /** Oldest first. */
  attempts: AttemptRecord[];
}

/** A delivery that the claimer, and nobody else, may attempt until `leasedUntil`. */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  accountId: string;
  eventId: string;
  inboxId: string | null;
  messageId: string | null;
  createdAt: number;
  url: string;
  /** Those that sign now, newest first. */
  secrets: string[];
  /** Of the attempt to make, from 1 in each round; a replay begins a new round. */
  attemptNumber: number;
  /** The claim's proof. */
  leasedUntil: number;
  /** Which of the two limits of the claim it counts against. */
  prompt: boolean;
}

/** What a claim may take. A webhook is prompt after a 2xx answer within {@link PROMPT_MS}. */
export interface ClaimLimits {
  /** Deliveries of prompt webhooks. */
  prompt: number;
  /** Deliveries of all others: new, slow, failing. */
  other: number;
  /** How long the claim holds, milliseconds. */
  leaseMs: number;
}

/** What became of a claimed delivery. */
export interface AttemptResult {
  webhookId: string;
  deliveryId: string;
  /** As claimed. */
  leasedUntil: number;
  /** Null when none was made because there is nothing to send any more. */
  attempt: AttemptRecord | null;
  next:
    | { state: 'pending'; at: number }
    | { state: Exclude<DeliveryState, 'pending'>; reason: string | null };
}

/** What a webhook has seen since its last success, after an attempt was recorded. */
export interface FailureStreak {
  failingSince: number | null;
  failedAttempts: number;
}

export interface DeliveryStore {
  /**
   * Takes due deliveries, the longest due first, at most {@link CONCURRENCY} at once of a prompt
   * webhook and one of any other; a claim whose lease ran out is due again. On the way it cancels what
   * is pending at webhooks that are disabled or ended.
   */
  claim(limits: ClaimLimits, now: number): Promise<ClaimedDelivery[]>;
  /** The earliest time at which a claim may find something; null when nothing is pending. May be too early. */
  nextAt(): Promise<number | null>;
  /**
   * Writes attempts down and moves their deliveries on, in one transaction. A delivery that is not held
   * by that claim any more keeps its state; the attempt is logged all the same.
   * @returns in the same order each webhook's streak, undefined where the webhook is gone
   */
  record(results: AttemptResult[], now: number): Promise<(FailureStreak | undefined)[]>;
  /** Gives up all claims. Only for a storage that has one server: those of a dead process are due again at once. */
  releaseAll(now: number): Promise<void>;
  /** Adds a test event's delivery, due at once. Undefined when the webhook does not live. */
  addTest(
    accountId: string,
    webhookId: string,
    test: { deliveryId: string; eventId: string },
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  /**
   * Begins a new round of attempts with the same event id, due at once; of a delivery whose attempt is
   * under way nothing changes. Undefined when there is no such delivery, or its webhook does not live.
   */
  replay(
    accountId: string,
    webhookId: string,
    deliveryId: string,
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  find(
    accountId: string,
    webhookId: string,
    deliveryId: string,
    now: number,
  ): Promise<DeliveryRecord | undefined>;
  /** Newest first, those before the id `before`. Of an unknown webhook: none. */
  list(
    accountId: string,
    webhookId: string,
    page: { limit: number; before: string | null },
    now: number,
  ): Promise<{ deliveries: DeliveryRecord[]; hasMore: boolean }>;
}

/** Attempts under way at once for a prompt webhook: hides its latency, and is no flood. All others have one. */
export const CONCURRENCY = 4;
/** Slower answers count as slow, so that their webhook does not crowd out the prompt ones. */
export const PROMPT_MS = 2_000;
