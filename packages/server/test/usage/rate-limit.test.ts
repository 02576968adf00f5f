import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { BUILT_IN_PLANS, type Plan } from '../../src/accounts/plans.ts';
import { RateLimit } from '../../src/http/access/admission.ts';
import { FakeClock } from '../support/fake-clock.ts';

const planOf = (requestsPerSecond: number, burst: number): Plan => ({
  ...BUILT_IN_PLANS.developer,
  requestsPerSecond,
  burst,
});
const FREE = planOf(2, 10);

/** Pauses in milliseconds: mostly none or short, now and then long enough for a full bucket. */
const pauses = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 }), fc.nat({ max: 3_000 })), {
  minLength: 1,
  maxLength: 200,
});
const plans = fc.record({ rate: fc.integer({ min: 1, max: 1_000 }), burst: fc.integer({ min: 1, max: 50 }) });

/** One account's bucket on a clock that the test moves. */
function bucketOf(plan: Plan) {
  const limit = new RateLimit({ monotonic: () => bucket.now });
  const ask = () => limit.take('acc', plan);
  const bucket = {
    now: Date.UTC(2026, 2, 4),
    ask,
    take: () => ask()?.retryAfterSeconds,
    wait: (ms: number) => {
      bucket.now += ms;
    },
  };
  return bucket;
}

describe('the rate limit', () => {
  let clock: FakeClock;
  let limit: RateLimit;
  beforeEach(() => {
    clock = new FakeClock();
    limit = new RateLimit(clock);
  });
  /** Takes one request of an account. @returns after how many seconds it may come; 0 if it is accepted */
  const take = (accountId: string, plan = FREE) => limit.take(accountId, plan)?.retryAfterSeconds;

  it('allows at most burst + rate × t requests in any window of t seconds, for every plan and pattern', () => {
    fc.assert(
      fc.property(plans, pauses, ({ rate, burst }, pattern) => {
        const bucket = bucketOf(planOf(rate, burst));
        const through: number[] = [];
        for (const ms of pattern) {
          bucket.wait(ms);
          if (bucket.take() === 0) through.push(bucket.now);
        }
        for (const [first, from] of through.entries()) {
          for (const [last, to] of through.entries()) {
            if (last < first) continue;
            const allowed = burst + (rate * (to - from)) / 1_000;
            expect(last - first + 1).toBeLessThanOrEqual(allowed + 1e-3);
          }
        }
      }),
    );
  });

  it('never rejects a client that keeps to the rate', () => {
    fc.assert(
      fc.property(plans, fc.integer({ min: 1, max: 300 }), ({ rate, burst }, times) => {
        const bucket = bucketOf(planOf(rate, burst));
        for (let i = 0; i < burst; i++) expect(bucket.take()).toBe(0);
        for (let i = 0; i < times; i++) {
          bucket.wait(Math.ceil(1_000 / rate));
          expect(bucket.take()).toBe(0);
        }
      }),
    );
  });

  it('accepts a client that waits for Retry-After, even if it asked in the meantime', () => {
    fc.assert(
      fc.property(plans, pauses, fc.integer({ min: 1, max: 300 }), ({ rate, burst }, pattern, every) => {
        const bucket = bucketOf(planOf(rate, burst));
        for (const ms of pattern) {
          bucket.wait(ms);
          const seconds = bucket.take();
          if (seconds === 0) continue;
          expect(Number.isInteger(seconds)).toBe(true);
          const until = bucket.now + Number(seconds) * 1_000;
          let isIn = false;
          while (!isIn && bucket.now < until) {
            bucket.wait(Math.min(every, until - bucket.now));
            isIn = bucket.take() === 0;
          }
          expect(isIn).toBe(true);
        }
      }),
    );
  });

  it('reports what is left and when the bucket is full', () => {
    const bucket = bucketOf(FREE);
    for (let i = 0; i < 3; i++) bucket.take();
    expect(bucket.ask()).toEqual({ retryAfterSeconds: 0, left: 6, fullInSeconds: 2 });
    bucket.wait(700);
    expect(bucket.ask()).toEqual({ retryAfterSeconds: 0, left: 6, fullInSeconds: 2 });
    bucket.wait(10_000);
    expect(bucket.ask()).toEqual({ retryAfterSeconds: 0, left: 9, fullInSeconds: 1 });
    for (let i = 0; i < 9; i++) bucket.take();
    expect(bucket.ask()).toEqual({ retryAfterSeconds: 1, left: 0, fullInSeconds: 5 });
  });

  it('applies to each account, and not to a plan without a rate or without a burst', () => {
    for (let i = 0; i < 10; i++) expect(take('one')).toBe(0);
    expect([take('one'), take('two')]).toEqual([1, 0]);
    for (const plan of [BUILT_IN_PLANS.unlimited, planOf(Infinity, 1), planOf(1, Infinity)]) {
      for (let i = 0; i < 100; i++) expect(limit.take('one', plan)).toBeNull();
    }
  });

  it('gives each of several nodes its part of the rate and of the burst, and at least one request', async () => {
    const ask = (accountId: string) => limit.take(accountId, FREE);
    expect(ask('acc')).toEqual({ retryAfterSeconds: 0, left: 9, fullInSeconds: 1 });
    limit.divideBy(2);
    // What was left of the whole is more than the half of it that this node has now.
    expect(ask('acc')).toEqual({ retryAfterSeconds: 0, left: 4, fullInSeconds: 1 });
    for (let i = 0; i < 4; i++) expect(take('acc')).toBe(0);
    expect(ask('acc')).toEqual({ retryAfterSeconds: 1, left: 0, fullInSeconds: 5 });
    await clock.advance(3_000);
    expect(ask('acc')).toEqual({ retryAfterSeconds: 0, left: 2, fullInSeconds: 3 });
    limit.divideBy(100);
    expect([take('new'), take('new')]).toEqual([0, 50]);
    limit.divideBy(1);
    await clock.advance(5_000);
    expect(ask('new')).toEqual({ retryAfterSeconds: 0, left: 9, fullInSeconds: 1 });
  });

  it('follows a change of plan without credit from a larger bucket or debt from a slower one', () => {
    const large = planOf(1, 1_000);
    expect(take('acc', large)).toBe(0);
    for (let i = 0; i < 10; i++) expect(take('acc')).toBe(0);
    expect(take('acc')).toBe(1);
    for (let i = 0; i < 1_000; i++) take('slow', large);
    expect(take('slow')).toBe(1);
  });

  it('keeps every bucket that is not full again, however many accounts there are', async () => {
    const slow = planOf(1, 1_000);
    for (let i = 0; i < 1_000; i++) limit.take('acc', slow);
    for (let minute = 0; minute < 3; minute++) {
      await clock.advance(60_000);
      for (let i = 0; i < 20_000; i++) limit.take(`other-${minute}-${i}`, slow);
    }
    expect(limit.take('acc', slow)).toEqual({ retryAfterSeconds: 0, left: 179, fullInSeconds: 821 });
  });
});
