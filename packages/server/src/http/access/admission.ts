import type { Plan, Plans } from '../../accounts/plans.ts';
import { AppError } from '../../errors.ts';
import type { AccountRecord, KeyRecord } from '../../store/contract/index.ts';
import { quoted } from '../../text/nearest.ts';
import type { Charge } from '../../usage/account-month.ts';
import { limitsRate, type RateLimit, type Taken } from '../../usage/rate-limit.ts';
import type { UsageMeter } from '../../usage/usage-meter.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** A request with the state of its account's limits. */
export interface Admitted {
  readonly accountId: string;
  readonly plan: Plan;
  /** State of the rate limit when the request arrived; null for a plan without one. */
  readonly rate: Taken | null;
  /** What the request cost; null for a free one. */
  charge: Charge | null;
}

/** Applies the limits of an account to its requests: first the rate, then the quota of the month. */
export interface Admission {
  /**
   * @param isFree does not count against the quota; the rate limit applies all the same
   * @param note called with the state of the limits before anything is thrown
   * @throws AppError `rate_limited`, `quota_exceeded`, `unavailable`
   */
  admit(
    account: AccountRecord,
    key: KeyRecord | null,
    isFree: boolean,
    note: (admitted: Admitted) => void,
  ): MaybePromise<void>;
  /** Refunds the request where its response is free. */
  settle(admitted: Admitted, status: number): void;
  /** The headers that state the limits of the account; names in lower case. */
  headers(admitted: Admitted): Record<string, string>;
}

const NOT_MODIFIED = 304;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERROR = 500;
/** Value of the quota headers for a plan without a quota. */
const UNLIMITED = 'unlimited';
/** A month as the policy's window, seconds: the real length differs, and `t` of RateLimit is exact. */
const MONTH_SECONDS = 30 * 24 * 60 * 60;

/** The parts of the headers that depend on the plan only. */
interface PlanTexts {
  policy: string;
  quota: string;
}

/** draft-ietf-httpapi-ratelimit-headers-10 section 3; '' for a plan without limits. */
function policyOf(plan: Plan): string {
  const items: string[] = [];
  if (limitsRate(plan)) {
    items.push(`"burst";q=${plan.burst};w=${Math.ceil(plan.burst / plan.requestsPerSecond)}`);
  }
  if (Number.isFinite(plan.requestsPerMonth)) {
    items.push(`"month";q=${plan.requestsPerMonth};w=${MONTH_SECONDS}`);
  }
  return items.join(', ');
}

/** For a request above the rate of its account's plan. */
function rateLimited(
  planName: string,
  { requestsPerSecond, burst }: Pick<Plan, 'requestsPerSecond' | 'burst'>,
  retryAfterSeconds: number,
): AppError {
  return new AppError(
    'rate_limited',
    `The account exceeded the rate of its plan ${quoted(planName)}: ${requestsPerSecond} requests per second, or ${burst} at once. Retry after ${seconds(retryAfterSeconds)}.`,
    { retryAfterSeconds },
  );
}

const seconds = (count: number): string => {
  const whole = Math.ceil(count);
  return whole === 1 ? '1 second' : `${whole} seconds`;
};

export function createAdmission(
  plans: Plans,
  rate: RateLimit,
  usage: UsageMeter,
  now: () => number,
): Admission {
  const texts = new WeakMap<Plan, PlanTexts>();
  const textsOf = (plan: Plan): PlanTexts => {
    const known = texts.get(plan);
    if (known) return known;
    const made = { policy: policyOf(plan), quota: String(plan.requestsPerMonth) };
    texts.set(plan, made);
    return made;
  };
  let reset = { at: 0, text: '' };

  return {
    admit(account, key, isFree, note) {
      const plan = plans.named(account.plan);
      const taken = rate.take(account.id, plan);
      const admitted: Admitted = { accountId: account.id, plan, rate: taken, charge: null };
      note(admitted);
      if (key) usage.recordKeyUse(key.id);
      if (taken && taken.retryAfterSeconds > 0) {
        throw rateLimited(account.plan, plan, taken.retryAfterSeconds);
      }
      // The response to a free request also states what is left.
      if (isFree) return usage.lookUp(account.id, plan.requestsPerMonth);
      const charge = usage.charge(account.id, plan.requestsPerMonth);
      if (!(charge instanceof Promise)) {
        admitted.charge = charge;
        return undefined;
      }
      return charge.then((made) => {
        admitted.charge = made;
      });
    },

    settle(admitted, status) {
      const isFree = status === NOT_MODIFIED || status === TOO_MANY_REQUESTS || status >= SERVER_ERROR;
      if (!isFree || !admitted.charge) return;
      usage.refund(admitted.charge);
      admitted.charge = null;
    },

    headers({ accountId, plan, rate: bucket }) {
      const { remaining, resetAt } = usage.standing(accountId, plan.requestsPerMonth);
      if (reset.at !== resetAt) reset = { at: resetAt, text: String(resetAt / 1_000) };
      const { policy, quota } = textsOf(plan);
      const burst = bucket ? `"burst";r=${bucket.left};t=${bucket.fullInSeconds}` : '';
      if (remaining === null) {
        const unlimited = {
          'x-quota-limit': UNLIMITED,
          'x-quota-remaining': UNLIMITED,
          'x-quota-reset': reset.text,
        };
        return bucket ? { ...unlimited, 'ratelimit-policy': policy, ratelimit: burst } : unlimited;
      }
      const left = String(remaining);
      const month = `"month";r=${left};t=${Math.ceil((resetAt - now()) / 1_000)}`;
      return {
        'x-quota-limit': quota,
        'x-quota-remaining': left,
        'x-quota-reset': reset.text,
        'ratelimit-policy': policy,
        ratelimit: bucket ? `${burst}, ${month}` : month,
      };
    },
  };
}
