import type { Plan, Plans } from '../../accounts/plans.ts';
import type { AccountRecord, KeyRecord } from '../../accounts/sql.ts';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';
import { limitsRate, type RateLimit, type Taken } from '../../usage/rate-limit.ts';
import type { Charge, UsageMeter } from '../../usage/usage-meter.ts';

export interface Admitted {
  readonly accountId: string;
  readonly plan: Plan;
  /** State of the rate limit when the request arrived; null for a plan without one. */
  readonly rate: Taken | null;
  /** What the request was charged; null if it is free or was refunded. */
  charge: Charge | null;
}

const UNLIMITED = 'unlimited';
/** Window of the monthly quota in the RateLimit-Policy header, seconds. Approximate; `t` in the RateLimit header is exact. */
const MONTH_SECONDS = 30 * 24 * 60 * 60;

/** Value of the RateLimit-Policy header (draft-ietf-httpapi-ratelimit-headers-10 section 3). */
function policyOf(plan: Plan): string {
  const items: string[] = [];
  if (limitsRate(plan))
    items.push(`"burst";q=${plan.burst};w=${Math.ceil(plan.burst / plan.requestsPerSecond)}`);
  if (Number.isFinite(plan.requestsPerMonth))
    items.push(`"month";q=${plan.requestsPerMonth};w=${MONTH_SECONDS}`);
  return items.join(', ');
}

function rateLimited(
  planName: string,
  { requestsPerSecond, burst }: Plan,
  retryAfterSeconds: number,
): AppError {
  const whole = Math.ceil(retryAfterSeconds);
  return new AppError(
    'rate_limited',
    `The account exceeded the rate of its plan ${quoted(planName)}: ${requestsPerSecond} requests per second, or ${burst} at once. Retry after ${whole} second${whole === 1 ? '' : 's'}.`,
    { retryAfterSeconds },
  );
}

export type Admission = ReturnType<typeof createAdmission>;

interface AdmissionDeps {
  plans: Plans;
  rate: RateLimit;
  usage: UsageMeter;
  clock: Clock;
}

/** Applies the limits of an account to its requests: first the rate, then the quota of the month. */
export function createAdmission({ plans, rate, usage, clock }: AdmissionDeps) {
  const refund = (admitted: Admitted): void => {
    if (admitted.charge) usage.refund(admitted.charge);
    admitted.charge = null;
  };
  return {
    /**
     * Counts a request against the rate limit and, unless it is free, against the monthly quota. `note` is called
     * before any error is thrown.
     * @throws AppError `rate_limited`, `quota_exceeded`, `unavailable`
     */
    async admit(
      account: AccountRecord,
      key: KeyRecord | null,
      isFree: boolean,
      note: (admitted: Admitted) => void,
    ): Promise<void> {
      const plan = plans.named(account.plan);
      const taken = rate.take(account.id, plan);
      const admitted: Admitted = { accountId: account.id, plan, rate: taken, charge: null };
      note(admitted);
      if (key) usage.recordKeyUse(key.id);
      if (taken && taken.retryAfterSeconds > 0)
        throw rateLimited(account.plan, plan, taken.retryAfterSeconds);
      try {
        admitted.charge = await usage.charge(account.id, plan.requestsPerMonth);
      } catch (error) {
        // A free request is charged only so that its response states what is left, so a used-up quota does not reject it.
        if (!isFree || !(error instanceof AppError) || error.code !== 'quota_exceeded') throw error;
      }
      if (isFree) refund(admitted);
    },

    /** Refunds the request if its response is free: 304, 429 or 5xx. */
    settle(admitted: Admitted, status: number): void {
      if (status === 304 || status === 429 || status >= 500) refund(admitted);
    },

    /** The headers that state the limits of the account; names in lower case. */
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
