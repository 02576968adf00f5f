import type { WebhookMetrics } from '../operations/metrics.ts';
import type { Store } from '../store.ts';
import { DueLoop, type DueLoopDeps } from './due-loop.ts';
import type { AttemptOutcome } from './outbound/outcome.ts';
import { CONNECTIONS_PER_ORIGIN, type Sender } from './outbound/send.ts';
import { type EventBodyDeps, eventBody } from './payload.ts';
import { hasOnlyFailed, LEASE_MS, nextStep } from './schedule.ts';
import { signatureHeaders } from './sign.ts';
import type { ClaimedDelivery } from './sql/queue.ts';
import type { AttemptResult, FailureStreak } from './sql/record.ts';

/** Limits of concurrent attempts. Prompt webhooks have their own slots, so that others never delay them. */
const PROMPT_SLOTS = 256;
const OTHER_SLOTS = CONNECTIONS_PER_ORIGIN - PROMPT_SLOTS;

interface DelivererDeps extends DueLoopDeps, EventBodyDeps {
  store: Pick<Store, 'inboxes' | 'messages' | 'webhooks' | 'deliveries'>;
  sender: Sender;
  metrics: WebhookMetrics;
}

export class Deliverer extends DueLoop<DelivererDeps> {
  protected readonly what = 'Webhook deliveries';
  readonly #free = { prompt: PROMPT_SLOTS, other: OTHER_SLOTS };

  override async stop(): Promise<void> {
    await super.stop();
    await this.deps.sender.close();
  }

  protected nextAt(now: number): Promise<number | null> {
    return this.deps.store.deliveries.nextAt(now);
  }

  protected async claim(now: number): Promise<number> {
    const { store, clock } = this.deps;
    const claimed = await store.deliveries.claim({ ...this.#free, leaseMs: LEASE_MS }, clock.now(), now);
    for (const delivery of claimed) this.begin(this.#attemptInSlot(delivery));
    return claimed.length;
  }

  async #attemptInSlot(claimed: ClaimedDelivery): Promise<void> {
    const slot = claimed.prompt ? 'prompt' : 'other';
    this.#free[slot] -= 1;
    try {
      await this.#attempt(claimed);
    } catch (err) {
      this.deps.log.error({ err, ...idsOf(claimed) }, 'A webhook attempt could not be recorded');
    }
    this.#free[slot] += 1;
  }

  async #attempt(claimed: ClaimedDelivery): Promise<void> {
    const { clock, sender, metrics, log } = this.deps;
    const at = clock.now();
    const body = await eventBody(claimed, at, this.deps);
    if ('gone' in body) {
      await this.#record(claimed, { attempt: null, next: { state: 'cancelled', reason: body.gone } });
      metrics.delivery('cancelled');
      log.info({ ...idsOf(claimed), reason: body.gone }, 'A webhook delivery was cancelled');
      return;
    }
    const { eventId, url, secrets } = claimed;
    const headers = signatureHeaders(eventId, Math.floor(at / 1_000), body.json, secrets);
    const { signal } = this;
    const outcome = await sender.send({ url, headers, body: body.json, signal });
    // An aborted attempt (no outcome) is not recorded. The delivery is claimed again later.
    if (outcome) await this.#conclude(claimed, outcome, at);
  }

  async #conclude(claimed: ClaimedDelivery, outcome: AttemptOutcome, at: number): Promise<void> {
    const { store, schedule, clock, log, metrics, random, retryDelays } = this.deps;
    const now = clock.now();
    const step = nextStep(claimed.attemptNumber, outcome, now, random(), retryDelays);
    const { status, error, responseStart } = outcome;
    const durationMs = Math.round(outcome.durationMs);
    const attempt = { at, status, durationMs, error, responseStart };
    const isRetried = step.state === 'pending';
    const next = isRetried ? { state: step.state, at: schedule.now() + step.inMs } : step;
    const streak = await this.#record(claimed, { attempt, next });
    metrics.attempt(outcome.ok ? 'ok' : 'failed', outcome.durationMs / 1_000);
    if (!isRetried) metrics.delivery(step.state);
    const ended = { attempt: claimed.attemptNumber, status, error: error?.code, ms: durationMs };
    const nextAt = isRetried ? new Date(now + step.inMs).toISOString() : undefined;
    log.info({ ...idsOf(claimed), ...ended, next: step.state, nextAt }, 'A webhook attempt ended');
    const isGone = step.state === 'failed' && step.isGone;
    if (!isGone && !(streak && hasOnlyFailed(streak, now))) return;
    const reason = isGone ? step.reason : 'Nothing but failures for five days.';
    const { webhookId, accountId } = claimed;
    await store.webhooks.disable(webhookId, reason);
    metrics.disabled();
    log.warn({ webhookId, accountId, reason }, 'A webhook was disabled');
  }

  #record(
    { id: deliveryId, webhookId, leasedUntil }: ClaimedDelivery,
    result: Pick<AttemptResult, 'attempt' | 'next'>,
  ): Promise<FailureStreak | undefined> {
    const { store, schedule, clock } = this.deps;
    const ids = { deliveryId, webhookId, leasedUntil };
    return store.deliveries.record({ ...ids, ...result }, clock.now(), schedule.now());
  }
}

const idsOf = ({ id: deliveryId, webhookId, accountId, eventId, messageId }: ClaimedDelivery) => ({
  ...{ deliveryId, webhookId, accountId, eventId, messageId },
});
