import { type PlanLimits, Usage, type UsageDay } from '@mayfly/client/contract';
import { limitOrNull, type Plan } from '../accounts/plans.ts';
import { DAY_MS, dayOf, monthAround, monthOf } from '../clock.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { USAGE_THRESHOLDS } from './sql.ts';

const SHOWN_DAYS = 31;

export function usageRoutes(app: App, { deps }: RouteContext): void {
  const { store, clock, plans, usage } = deps;

  routesOf(app, 'Accounts')('GET /v1/usage', {
    access: 'account:read',
    // An account that exceeded its quota can still read its usage.
    free: true,
    operationId: 'getUsage',
    summary: 'Show the usage of the account',
    description:
      'The plan with its limits, and the requests of this month and of the last 31 days. This request is free.',
    response: { 200: json(Usage, 'Used and remaining requests.') },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const now = clock.now();
      const plan = plans.named(account.plan);
      const firstDay = dayOf(now - (SHOWN_DAYS - 1) * DAY_MS);
      const { taken, passed, days } = await store.usage.read(account.id, monthOf(now), firstDay);
      const here = usage.pending(account.id);
      const used = Math.max(0, taken - here.unspent);
      const { start, end } = monthAround(now);
      const hasQuota = Number.isFinite(plan.requestsPerMonth);
      return {
        plan: account.plan,
        limits: toLimits(plan),
        period: { start: toTime(start), end: toTime(end) },
        used,
        remaining: hasQuota ? Math.max(0, plan.requestsPerMonth - used) : null,
        thresholds: hasQuota
          ? USAGE_THRESHOLDS.map((percent) => ({ percent, reachedAt: toTimeOrNull(passed[percent]) }))
          : [],
        days: lastDays(days, here.days, now),
      };
    },
  });
}

const toLimits = (plan: Plan): PlanLimits =>
  Object.fromEntries(Object.entries(plan).map(([name, limit]) => [name, limitOrNull(limit)])) as PlanLimits;

function lastDays(stored: UsageDay[], here: ReadonlyMap<string, number>, now: number): UsageDay[] {
  const known = new Map(stored.map(({ day, requests }) => [day, requests]));
  return Array.from({ length: SHOWN_DAYS }, (_, back) => {
    const day = dayOf(now - back * DAY_MS);
    return { day, requests: Math.max(0, (known.get(day) ?? 0) + (here.get(day) ?? 0)) };
  });
}
