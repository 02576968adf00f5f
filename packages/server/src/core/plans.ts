const MIB = 1024 * 1024;

/** What an account of a plan may use. */
export interface Plan {
  /** Longest lifetime of an inbox, minutes. */
  maxTtlMinutes: number;
  maxLiveInboxes: number;
  maxMessagesPerInbox: number;
  /** Largest message, bytes as received. */
  maxMessageBytes: number;
  /** Those of single inboxes included. */
  maxWebhooks: number;
}

/** The built-in plans (decisions, section 7). */
export const PLANS: Readonly<Record<string, Plan>> = {
  free: {
    maxTtlMinutes: 60,
    maxLiveInboxes: 5,
    maxMessagesPerInbox: 50,
    maxMessageBytes: 5 * MIB,
    maxWebhooks: 1,
  },
  developer: {
    maxTtlMinutes: 10_080,
    maxLiveInboxes: 1000,
    maxMessagesPerInbox: 1000,
    maxMessageBytes: 25 * MIB,
    maxWebhooks: 50,
  },
  unlimited: {
    maxTtlMinutes: 43_200,
    maxLiveInboxes: Number.POSITIVE_INFINITY,
    maxMessagesPerInbox: 10_000,
    maxMessageBytes: 50 * MIB,
    maxWebhooks: Number.POSITIVE_INFINITY,
  },
};

/** The plan of the account that a local start makes. */
export const LOCAL_PLAN = 'unlimited';

/**
 * The limits of a plan.
 * @throws Error when an account names a plan that is not configured: an operator's mistake
 */
export function planNamed(name: string): Plan {
  const plan = PLANS[name];
  if (!plan) throw new Error(`no plan is called ${name}`);
  return plan;
}
