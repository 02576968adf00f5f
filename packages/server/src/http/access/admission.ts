import type { FastifyRequest } from 'fastify';
import type { Plan, Plans } from '../../accounts/plans.ts';
import type { AccountRecord, KeyRecord } from '../../accounts/sql.ts';
import { type Clock, repeat, SECOND_MS } from '../../clock.ts';
import { AppError, toError } from '../../errors.ts';
import { newSessionId } from '../../ids.ts';
import { type Logger, oncePerMinute } from '../../log.ts';
import type { Store } from '../../store.ts';
import { quoted } from '../../text/nearest.ts';
import type { Charge, UsageMeter } from '../../usage/usage-meter.ts';

/** Above this number, the least recently used bucket is dropped: it is probably full, like a new one. */
const MAX_BUCKETS = 100_000;
/** Tolerance in tokens: a rounding error must not reject a client that waited for `Retry-After`. */
const ROUNDING = 1e-6;

export interface Taken {
  /** 0 if the request is admitted, otherwise the seconds until a request can be admitted. */
  retryAfterSeconds: number;
  left: number;
  fullInSeconds: number;
}

type Rate = Pick<Plan, 'requestsPerSecond' | 'burst'>;

const limitsRate = ({ requestsPerSecond, burst }: Rate): boolean =>
  Number.isFinite(requestsPerSecond) && Number.isFinite(burst);

/** Token buckets in memory, the least recently used first. `at`: when `tokens` was computed, monotonic milliseconds. */
export class RateLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  #nodes = 1;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  take(key: string, rate: Rate): Taken | null {
    if (!limitsRate(rate)) return null;
    const now = this.#clock.monotonic();
    const size = Math.max(1, rate.burst / this.#nodes);
    const perMs = rate.requestsPerSecond / this.#nodes / SECOND_MS;
    const { tokens, at } = this.#buckets.get(key) ?? { tokens: size, at: now };
    const available = Math.min(size, tokens + Math.max(0, now - at) * perMs);
    const missing = 1 - available;
    const isAdmitted = missing <= ROUNDING;
    const left = isAdmitted ? available - 1 : available;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: left, at: now });
    if (this.#buckets.size > MAX_BUCKETS) this.#buckets.delete(this.#buckets.keys().next().value ?? key);
    return {
      retryAfterSeconds: isAdmitted ? 0 : Math.ceil(missing / perMs / SECOND_MS),
      left: Math.max(0, Math.floor(left + ROUNDING)),
      fullInSeconds: Math.ceil((size - left) / perMs / SECOND_MS),
    };
  }

  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.tokens += 1;
  }

  divideBy(nodes: number): void {
    this.#nodes = Math.max(1, nodes);
  }
}

const BEAT_EVERY_MS = 3 * SECOND_MS;

/** Keeps rate limits divided by the number of live nodes. @returns a function that stops this and removes this node */
export async function divideByLiveNodes(
  rate: RateLimit,
  { store, clock, log }: { store: Pick<Store, 'nodes'>; clock: Clock; log: Logger },
): Promise<() => Promise<void>> {
  const id = newSessionId();
  const report = oncePerMinute(clock, (err, count) =>
    log.warn({ err, count }, 'The number of servers could not be read; rates stay divided as before'),
  );
  const beat = async (): Promise<void> => {
    try {
      rate.divideBy(await store.nodes.beat(id, clock.now()));
    } catch (error) {
      report(toError(error));
    }
  };
  await beat();
  const stop = repeat(clock, BEAT_EVERY_MS, beat);
  return async () => {
    await stop();
    await store.nodes.leave(id, clock.now()).catch((err) => {
      log.warn({ err }, 'The other servers learn late that this one has stopped');
    });
  };
}

export interface Admitted {
  readonly accountId: string;
  readonly plan: Plan;
  readonly rate: Taken | null;
  /** Null unless the request counts against the quota. */
  charge: Charge | null;
}

const UNLIMITED = 'unlimited';
/** Approximate window of the monthly quota. In the RateLimit header, `t` is the exact time until its end. */
const MONTH_SECONDS = 30 * 24 * 60 * 60;

/** The RateLimit-Policy header (draft-ietf-httpapi-ratelimit-headers-10 section 3). */
function policyOf(plan: Plan): string {
  const items: string[] = [];
  if (limitsRate(plan))
    items.push(`"burst";q=${plan.burst};w=${Math.ceil(plan.burst / plan.requestsPerSecond)}`);
  if (Number.isFinite(plan.requestsPerMonth))
    items.push(`"month";q=${plan.requestsPerMonth};w=${MONTH_SECONDS}`);
  return items.join(', ');
}

function rateLimited(planName: string, { requestsPerSecond, burst }: Plan, retryAfterSeconds: number) {
  const whole = Math.ceil(retryAfterSeconds);
  return new AppError(
    'rate_limited',
    `The account exceeded the rate of its plan ${quoted(planName)}: ${requestsPerSecond} requests per second, or ${burst} at once. Retry after ${whole} second${whole === 1 ? '' : 's'}.`,
    { retryAfterSeconds },
  );
}

export type Admission = ReturnType<typeof createAdmission>;

/** Applies the limits of an account to its requests: first the rate, then the quota of the month. */
export function createAdmission(deps: { plans: Plans; rate: RateLimit; usage: UsageMeter; clock: Clock }) {
  const { plans, rate, usage, clock } = deps;
  const refund = (admitted: Admitted): void => {
    if (admitted.charge) usage.refund(admitted.charge);
    admitted.charge = null;
  };
  return {
    /** Sets `request.admitted` even if it throws. @throws AppError `rate_limited`, `quota_exceeded`, `unavailable` */
    async admit(
      request: Pick<FastifyRequest, 'admitted'>,
      account: AccountRecord,
      key: KeyRecord | null,
      isFree: boolean,
    ): Promise<void> {
      const plan = plans.named(account.plan);
      const taken = rate.take(account.id, plan);
      const admitted: Admitted = { accountId: account.id, plan, rate: taken, charge: null };
      request.admitted = admitted;
      if (key) usage.recordKeyUse(key.id);
      if (taken && taken.retryAfterSeconds > 0)
        throw rateLimited(account.plan, plan, taken.retryAfterSeconds);
      try {
        admitted.charge = await usage.charge(account.id, plan.requestsPerMonth);
      } catch (error) {
        // A free request may exceed the quota. It is charged and refunded only to state the quota in its response.
        if (!isFree || !(error instanceof AppError) || error.code !== 'quota_exceeded') throw error;
      }
      if (isFree) refund(admitted);
    },

    settle(admitted: Admitted, status: number): void {
      if (status === 304 || status === 429 || status >= 500) refund(admitted);
    },

    headers({ accountId, plan, rate: taken }: Admitted): Record<string, string> {
      const { remaining, resetAt } = usage.standing(accountId, plan.requestsPerMonth);
      const left: string[] = [];
      if (taken) left.push(`"burst";r=${taken.left};t=${taken.fullInSeconds}`);
      if (remaining !== null)
        left.push(`"month";r=${remaining};t=${Math.ceil((resetAt - clock.now()) / 1_000)}`);
      return {
        'x-quota-limit': remaining === null ? UNLIMITED : String(plan.requestsPerMonth),
        'x-quota-remaining': remaining === null ? UNLIMITED : String(remaining),
        'x-quota-reset': String(resetAt / 1_000),
        ...(left.length > 0 && { 'ratelimit-policy': policyOf(plan), ratelimit: left.join(', ') }),
      };
    },
  };
}
