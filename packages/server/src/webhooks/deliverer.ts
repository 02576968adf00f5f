import type { Clock } from '../clock.ts';
import type { News } from '../events.ts';
import type { Logger } from '../log.ts';
import type { AttemptResult, ClaimedDelivery, FailureStreak, Store } from '../store/contract/index.ts';
import { createGathering } from './batcher.ts';
import { createEventBodies } from './event-body.ts';
import type { AttemptOutcome } from './outbound/outcome.ts';
import { ATTEMPT_TIMEOUT_MS, type Sender } from './outbound/send.ts';
import { hasOnlyFailed, type NextStep, nextStep } from './schedule.ts';
import { signatureHeaders } from './sign.ts';

/**
 * Attempts under way at once for webhooks whose last answer was prompt: 64 of them at four each, and
 * each slot is free again within two seconds or so.
 */
const PROMPT_SLOTS = 256;
/**
 * The same for all others (new, slow, failing), which get one each: so many may hang for the whole
 * limit before the next of their kind waits, and a prompt one never waits for them.
 */
const OTHER_SLOTS = 512;
/** Attempts under way at once in all. */
export const MAX_UNDER_WAY = PROMPT_SLOTS + OTHER_SLOTS;
/** Longer than any attempt with its reading and writing: a claim that ran out belongs to a dead process. */
const LEASE_MS = ATTEMPT_TIMEOUT_MS + 45_000;
/** Due deliveries are announced; this look finds those whose hint did not come. */
const IDLE_LOOK_MS = 15_000;
/** When nothing could be claimed although something is due: its slots are taken, or it is being cancelled. */
const NOTHING_CLAIMED_MS = 100;
/** After a failure of the storage: soon enough for deliveries, and no flood of the log. */
const STORAGE_PAUSE_MS = 1_000;
/** At a stop attempts under way get so long to end by themselves; the app has ten seconds in all. */
const STOP_GRACE_MS = 5_000;

export interface DelivererDeps {
  store: Pick<Store, 'inboxes' | 'messages' | 'webhooks' | 'deliveries'>;
  /** Closed by {@link Deliverer.stop}. */
  sender: Sender;
  news: Pick<News, 'onDeliveries'>;
  clock: Clock;
  log: Logger;
  metrics: {
    attempt(result: 'ok' | 'failed', seconds: number): void;
    delivery(outcome: 'delivered' | 'failed' | 'cancelled'): void;
    disabled(): void;
  };
  /** In [0, 1), for the jitter. */
  random(): number;
  /** The base of URLs in events, without a slash at the end. */
  publicUrl: string;
  /** The first served domain, for test events. */
  domain: string;
  /** Other waits than the schedule's own, given by tests. */
  retryDelays?: readonly number[] | undefined;
}

/** Delivers webhooks: claim what is due, sign, send, record; at least once, and each endpoint for itself. */
export interface Deliverer {
  start(): void;
  /** Claims no more, lets attempts under way end, and cuts them at the deadline. Safe to call twice. */
  stop(deadlineMs: number): Promise<void>;
}

export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { store, sender, news, clock, log } = deps;
  const attempt = createAttempt(deps);
  const stopping = new AbortController();
  const cutting = new AbortController();
  const free = { prompt: PROMPT_SLOTS, other: OTHER_SLOTS };
  const underWay = new Set<Promise<void>>();
  let bell = new AbortController();
  let loop: Promise<void> = Promise.resolve();
  const ring = () => bell.abort();

  const begin = (claimed: ClaimedDelivery): void => {
    const slot = claimed.prompt ? 'prompt' : 'other';
    free[slot] -= 1;
    const { id: deliveryId, webhookId } = claimed;
    const work = attempt(claimed, cutting.signal)
      // The lease ends and the delivery is claimed again.
      .catch((err) => log.error({ err, deliveryId, webhookId }, 'a webhook attempt was not recorded'))
      .finally(() => {
        free[slot] += 1;
        underWay.delete(work);
        ring();
      });
    underWay.add(work);
  };

  /** Begins what is due; answers how long nothing else will be, milliseconds. */
  const look = async (): Promise<number> => {
    const nextAt = await store.deliveries.nextAt();
    const now = clock.now();
    if (nextAt === null || nextAt > now) return Math.min(IDLE_LOOK_MS, (nextAt ?? now + IDLE_LOOK_MS) - now);
    const claimed = await store.deliveries.claim({ ...free, leaseMs: LEASE_MS }, now);
    for (const delivery of claimed) begin(delivery);
    return claimed.length > 0 ? 0 : NOTHING_CLAIMED_MS;
  };

  const run = async (): Promise<void> => {
    const unsubscribe = news.onDeliveries(ring);
    while (!stopping.signal.aborted) {
      // Made before the look: news that come while we look end the sleep that follows.
      bell = new AbortController();
      let wait = STORAGE_PAUSE_MS;
      try {
        wait = await look();
      } catch (err) {
        log.error({ err }, 'webhook deliveries could not be claimed, will try again');
      }
      if (wait > 0 && !stopping.signal.aborted) await clock.sleep(wait, bell.signal);
    }
    unsubscribe();
  };

  return {
    start() {
      loop = run();
    },
    async stop(deadlineMs) {
      stopping.abort();
      ring();
      await loop;
      const ended = new AbortController();
      const allEnded = Promise.all(underWay).then(() => ended.abort());
      await clock.sleep(Math.min(deadlineMs, STOP_GRACE_MS), ended.signal);
      cutting.abort();
      await allEnded;
      await sender.close();
    },
  };
}

/** One attempt of a claimed delivery, from reading the message to the record of what became of it. */
function createAttempt(deps: DelivererDeps) {
  const { store, sender, clock, log, metrics } = deps;
  const bodyOf = createEventBodies(deps);
  const recorder = createGathering((results: AttemptResult[]) =>
    store.deliveries.record(results, clock.now()),
  );

  const conclude = async (claimed: ClaimedDelivery, outcome: AttemptOutcome, at: number): Promise<void> => {
    const now = clock.now();
    const step = nextStep(claimed.attemptNumber, outcome, now, deps.random(), deps.retryDelays);
    const { status, error, responseStart, durationMs } = outcome;
    const streak = await recorder.add({
      ...proofOf(claimed),
      attempt: { at, status, durationMs: Math.max(0, Math.round(durationMs)), error, responseStart },
      next: standing(step),
    });
    metrics.attempt(outcome.ok ? 'ok' : 'failed', durationMs / 1_000);
    if (step.kind !== 'retry') metrics.delivery(step.kind === 'delivered' ? 'delivered' : 'failed');
    log.info(
      {
        ...idsOf(claimed),
        attempt: claimed.attemptNumber,
        status,
        error: error?.code,
        ms: Math.round(durationMs),
        next: step.kind,
        ...(step.kind === 'retry' && { nextAt: new Date(step.at).toISOString() }),
      },
      'webhook attempt',
    );
    const reason = reasonToDisable(step, streak, now);
    if (reason === undefined) return;
    await store.webhooks.disable(claimed.webhookId, reason);
    metrics.disabled();
    log.warn({ webhookId: claimed.webhookId, accountId: claimed.accountId, reason }, 'webhook disabled');
  };

  return async (claimed: ClaimedDelivery, signal: AbortSignal): Promise<void> => {
    const at = clock.now();
    const body = await bodyOf(claimed, at);
    if ('gone' in body) {
      const next = { state: 'cancelled' as const, reason: body.gone };
      await recorder.add({ ...proofOf(claimed), attempt: null, next });
      metrics.delivery('cancelled');
      log.info({ ...idsOf(claimed), reason: body.gone }, 'webhook delivery cancelled');
      return;
    }
    const headers = signatureHeaders({
      id: claimed.eventId,
      timestampSeconds: Math.floor(at / 1_000),
      body: body.json,
      secrets: claimed.secrets,
    });
    const outcome = await sender.send({ url: claimed.url, headers, body: body.json, signal });
    // Our own stop says nothing about the endpoint: the delivery is claimed again.
    if (outcome.error?.code !== 'aborted') await conclude(claimed, outcome, at);
  };
}

const proofOf = ({ id, webhookId, leasedUntil }: ClaimedDelivery) => ({
  deliveryId: id,
  webhookId,
  leasedUntil,
});

const idsOf = ({ id, webhookId, accountId, eventId, messageId }: ClaimedDelivery) => ({
  deliveryId: id,
  webhookId,
  accountId,
  eventId,
  messageId,
});

function standing(step: NextStep): AttemptResult['next'] {
  if (step.kind === 'retry') return { state: 'pending', at: step.at };
  if (step.kind === 'delivered') return { state: 'delivered', reason: null };
  const reason = step.kind === 'disable' ? step.reason : 'All attempts failed.';
  return { state: 'failed', reason };
}

function reasonToDisable(step: NextStep, streak: FailureStreak | undefined, now: number): string | undefined {
  if (step.kind === 'disable') return step.reason;
  if (streak && hasOnlyFailed(streak, now)) return 'Nothing but failures for five days.';
  return undefined;
}
