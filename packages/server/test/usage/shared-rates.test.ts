import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_PLANS, type Plan } from '../../src/accounts/plans.ts';
import { createLog } from '../../src/log.ts';
import type { LimitStore, RateUse } from '../../src/store/contract/index.ts';
import { createRateLimit } from '../../src/usage/rate-limit.ts';
import { SharedRates } from '../../src/usage/shared-rates.ts';
import { runs } from '../support/form.ts';

const planOf = (requestsPerSecond: number, burst: number): Plan => ({
  ...BUILT_IN_PLANS.developer,
  requestsPerSecond,
  burst,
});
const FREE = planOf(2, 10);
const SHARE_MS = 500;

/** Nodes with clocks of their own, and one database. */
function cluster(count: number) {
  let time = 1_000_000;
  const fullAt = new Map<string, number>();
  let isDown = false;
  const use = async (uses: RateUse[]) => {
    if (isDown) throw new Error('down');
    return uses.map(({ accountId, refillMs, sinceMs }) => {
      if (refillMs > 0) {
        fullAt.set(accountId, Math.max(fullAt.get(accountId) ?? 0, time - sinceMs) + refillMs);
      }
      return { accountId, fullInMs: Math.max(0, (fullAt.get(accountId) ?? 0) - time) };
    });
  };
  const limits: LimitStore = { use, admit: async () => null };
  const nodes = Array.from({ length: count }, (_, n) => {
    const clock = { now: () => 0, monotonic: () => time + n * 12_345, sleep: async () => undefined };
    const rate = createRateLimit(clock);
    const shared = new SharedRates({ rate, store: { limits }, clock, log: createLog('silent') });
    return {
      take: (plan: Plan) => rate.take('acc', plan)?.retryAfterSeconds,
      share: () => shared.share(),
      rate,
    };
  });
  let next = time + SHARE_MS;
  return {
    nodes,
    get time() {
      return time;
    },
    setDown(value: boolean) {
      isDown = value;
    },
    async wait(ms: number): Promise<void> {
      const end = time + ms;
      while (next <= end) {
        time = next;
        for (const node of nodes) await node.share();
        next += SHARE_MS;
      }
      time = end;
    },
  };
}

describe('the rate of an account on several nodes', () => {
  it('is at most that of the plan, and a burst and an interval for each other node, in any window', async () => {
    const cases = fc.record({
      count: fc.integer({ min: 2, max: 4 }),
      rate: fc.integer({ min: 1, max: 100 }),
      burst: fc.integer({ min: 1, max: 50 }),
      steps: fc.array(
        fc.record({ node: fc.nat({ max: 3 }), ms: fc.oneof(fc.constant(0), fc.nat({ max: 900 })) }),
        {
          minLength: 50,
          maxLength: 400,
        },
      ),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ count, rate, burst, steps }) => {
        const on = cluster(count);
        const plan = planOf(rate, burst);
        const admitted: number[] = [];
        for (const { node, ms } of steps) {
          await on.wait(ms);
          if (on.nodes[node % count]?.take(plan) === 0) admitted.push(on.time);
        }
        const extra = (count - 1) * (burst + (rate * (SHARE_MS + 100)) / 1_000);
        for (const [first, from] of admitted.entries()) {
          const last = admitted.length - 1;
          const to = admitted[last] ?? from;
          expect(last - first + 1).toBeLessThanOrEqual(burst + (rate * (to - from)) / 1_000 + extra + 1);
        }
      }),
      runs(60, 1_000),
    );
  });

  it('is exactly that of the plan in the long run, whichever node is asked', async () => {
    for (const count of [2, 3]) {
      const on = cluster(count);
      let admitted = 0;
      const seconds = 120;
      for (let step = 0; step < seconds * 20; step++) {
        await on.wait(50);
        if (on.nodes[step % count]?.take(FREE) === 0) admitted += 1;
      }
      expect(admitted).toBeGreaterThanOrEqual(2 * seconds);
      expect(admitted).toBeLessThanOrEqual(10 + 2 * seconds + (count - 1) * 11);
    }
  });

  it('is all of the plan for a client of one node, as if there were no others', async () => {
    const cases = fc.record({
      rate: fc.integer({ min: 1, max: 20 }),
      burst: fc.integer({ min: 1, max: 20 }),
      steps: fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 1_500 })), { minLength: 30, maxLength: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ rate, burst, steps }) => {
        const [on, alone] = [cluster(3), cluster(1)];
        const plan = planOf(rate, burst);
        const unshared = createRateLimit({ monotonic: () => alone.time });
        for (const ms of steps) {
          await on.wait(ms);
          await alone.wait(ms);
          expect(on.nodes[0]?.take(plan)).toBe(unshared.take('acc', plan)?.retryAfterSeconds);
        }
      }),
      runs(60, 1_000),
    );
  });

  it('is waited for as Retry-After says, also after other nodes admitted too much', async () => {
    const on = cluster(3);
    for (const node of on.nodes) for (let n = 0; n < 10; n++) expect(node.take(FREE)).toBe(0);
    // The first to report hears of the others with its next report.
    await on.wait(2 * SHARE_MS);
    const [node] = on.nodes;
    const seconds = node?.take(FREE) ?? 0;
    // 30 were admitted, 10 of them by the plan: the others take ten seconds, one of which has passed.
    expect(seconds).toBeGreaterThanOrEqual(9);
    expect(seconds).toBeLessThanOrEqual(11);
    await on.wait(seconds * 1_000);
    expect(node?.take(FREE)).toBe(0);
  });

  it('goes on by node while the database is away, and counts what was used meanwhile afterwards', async () => {
    const on = cluster(2);
    const [first, second] = on.nodes;
    on.setDown(true);
    for (let n = 0; n < 10; n++) expect(first?.take(FREE)).toBe(0);
    await on.wait(SHARE_MS * 2);
    for (let n = 0; n < 10; n++) expect(second?.take(FREE)).toBe(0);
    on.setDown(false);
    await on.wait(SHARE_MS);
    expect(second?.take(FREE)).toBeGreaterThan(0);
  });

  it('costs no statement while no account with a limit sends requests', async () => {
    const on = cluster(1);
    const [node] = on.nodes;
    expect(node?.rate.takeUses()).toEqual([]);
    node?.take(BUILT_IN_PLANS.unlimited);
    expect(node?.rate.takeUses()).toEqual([]);
    node?.take(FREE);
    expect(node?.rate.takeUses()).toHaveLength(1);
    await on.wait(20_000);
    expect(node?.rate.takeUses()).toEqual([]);
  });
});
