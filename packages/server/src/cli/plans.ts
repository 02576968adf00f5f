import type { Plan, Plans } from '../accounts/plans.ts';
import { readPlan } from './arguments.ts';
import { details, json, table } from './text.ts';

const COLUMNS: readonly (readonly [head: string, limit: keyof Plan])[] = [
  ['REQ/MONTH', 'requestsPerMonth'],
  ['REQ/S', 'requestsPerSecond'],
  ['BURST', 'burst'],
  ['INBOXES', 'maxLiveInboxes'],
  ['TTL MINUTES', 'maxTtlMinutes'],
  ['MSG/INBOX', 'maxMessagesPerInbox'],
  ['BYTES/MSG', 'maxMessageBytes'],
  ['WEBHOOKS', 'maxWebhooks'],
];

const shown = (limit: number, none: string) => (Number.isFinite(limit) ? String(limit) : none);

/** The limits of a plan, one line each, by their names in MAYFLY_PLANS. */
export const describePlan = (plan: Plan): string =>
  details(COLUMNS.map(([, limit]) => [limit, shown(plan[limit], 'no limit')]));

export function listPlans(plans: Plans, asJson = false): string {
  const all = plans.names.map((name) => ({ name, ...plans.named(name) }));
  if (asJson) return json(all);
  return table(
    ['PLAN', ...COLUMNS.map(([head]) => head)],
    all.map((plan) => [plan.name, ...COLUMNS.map(([, limit]) => shown(plan[limit], '-'))]),
  );
}

/** @throws ArgumentError for a plan that is not configured */
export function showPlan(plans: Plans, name: string, asJson = false): string {
  const plan = plans.named(readPlan(name, plans));
  return asJson ? json({ name, ...plan }) : describePlan(plan);
}
