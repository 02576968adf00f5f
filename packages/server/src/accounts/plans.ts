import { didYouMean, quoted } from '../text/nearest.ts';

const MIB = 1024 * 1024;

/** Limits of an account. `Infinity` means no limit. */
export interface Plan {
  requestsPerMonth: number;
  requestsPerSecond: number;
  burst: number;
  maxTtlMinutes: number;
  maxLiveInboxes: number;
  maxMessagesPerInbox: number;
  maxMessageBytes: number;
  /** Webhooks of an account, including those of single inboxes. */
  maxWebhooks: number;
}

export type PlanSettings = Readonly<Record<string, Partial<Plan>>>;

const NO_LIMIT = Number.POSITIVE_INFINITY;

export const limitOrNull = (limit: number): number | null => (limit === NO_LIMIT ? null : limit);

export const BUILT_IN_PLANS = {
  free: {
    requestsPerMonth: 1_000,
    requestsPerSecond: 2,
    burst: 10,
    maxTtlMinutes: 60,
    maxLiveInboxes: 5,
    maxMessagesPerInbox: 50,
    maxMessageBytes: 5 * MIB,
    maxWebhooks: 1,
  },
  developer: {
    requestsPerMonth: 100_000,
    requestsPerSecond: 50,
    burst: 200,
    maxTtlMinutes: 10_080,
    maxLiveInboxes: 1000,
    maxMessagesPerInbox: 1000,
    maxMessageBytes: 25 * MIB,
    maxWebhooks: 50,
  },
  unlimited: {
    requestsPerMonth: NO_LIMIT,
    requestsPerSecond: NO_LIMIT,
    burst: NO_LIMIT,
    maxTtlMinutes: 43_200,
    maxLiveInboxes: NO_LIMIT,
    maxMessagesPerInbox: 10_000,
    maxMessageBytes: 50 * MIB,
    maxWebhooks: NO_LIMIT,
  },
} as const satisfies Record<string, Plan>;

export const LOCAL_PLAN = 'unlimited';

export type Plans = ReturnType<typeof createPlans>;

export function createPlans(settings: PlanSettings = {}) {
  const plans = new Map<string, Plan>(Object.entries(BUILT_IN_PLANS));
  for (const [name, limits] of Object.entries(settings)) {
    plans.set(name, { ...(plans.get(name) as Plan), ...limits });
  }
  return {
    names: [...plans.keys()] as readonly string[],
    largestMessageBytes: Math.max(...[...plans.values()].map((plan) => plan.maxMessageBytes)),
    /** @throws Error if an account has a plan that is not configured */
    named(name: string): Plan {
      const plan = plans.get(name);
      if (!plan)
        throw new Error(
          `The plan "${name}" is not configured. Add it to MAYFLY_PLANS, or put the account on one of ${[...plans.keys()].join(', ')}.`,
        );
      return plan;
    },
  };
}

const LIMITS = Object.keys(BUILT_IN_PLANS.free) as (keyof Plan)[];
const PLAN_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/;

/** Equals `IN_FLIGHT_BYTES`, the memory for all messages in transfer: a larger message could never be received. */
const MAX_MESSAGE_BYTES = 64 * MIB;

function readLimit(plan: string, limit: keyof Plan, value: unknown): number {
  const isLiftable = BUILT_IN_PLANS.unlimited[limit] === NO_LIMIT;
  const maximum = limit === 'maxMessageBytes' ? MAX_MESSAGE_BYTES : NO_LIMIT;
  if (value === null && isLiftable) return NO_LIMIT;
  if (Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= maximum) return Number(value);
  const until = maximum === NO_LIMIT ? '' : ` to ${maximum}`;
  throw new RangeError(
    `"${limit}" in the plan "${plan}" must be a whole number from 1${until}${isLiftable ? ', or null for no limit' : ''}.`,
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses MAYFLY_PLANS, a JSON object of limits by plan name; null means no limit. @throws Error */
export function parsePlans(text: string): PlanSettings {
  const given: unknown = JSON.parse(text);
  if (!isObject(given)) throw new TypeError('It must be an object.');
  const settings: Record<string, Partial<Plan>> = {};
  for (const [name, limits] of Object.entries(given)) {
    if (!PLAN_NAME.test(name)) {
      throw new RangeError(
        `${quoted(name)} is not a plan name. A plan name has 1 to 40 characters of a-z 0-9 _ -.`,
      );
    }
    if (!isObject(limits)) throw new TypeError(`The plan "${name}" must be an object of limits.`);
    const plan: Partial<Plan> = {};
    for (const [limit, value] of Object.entries(limits)) {
      const known = LIMITS.find((one) => one === limit);
      if (!known) {
        throw new RangeError(
          `${quoted(limit)} in the plan "${name}" is not a limit.${didYouMean(limit, LIMITS)} The limits are ${LIMITS.join(', ')}.`,
        );
      }
      plan[known] = readLimit(name, known, value);
    }
    const missing = LIMITS.filter((limit) => plan[limit] === undefined);
    if (missing.length > 0 && !Object.hasOwn(BUILT_IN_PLANS, name)) {
      throw new RangeError(`The plan "${name}" is not built in and lacks ${missing.join(', ')}.`);
    }
    settings[name] = plan;
  }
  return settings;
}
