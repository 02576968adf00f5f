import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasOnlyFailed,
  MAX_ATTEMPTS,
  MAX_RETRY_AFTER_MS,
  MIN_FAILED_ATTEMPTS,
  nextStep,
  parseRetryAfter,
  RETRY_DELAYS_MS,
} from '../../src/webhooks/schedule.ts';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const failed = { ok: false, status: 500, retryAfter: null };

describe('the retries of a delivery', () => {
  it('vary by 20 % either way and never by more', () => {
    const attempts = fc.integer({ min: 1, max: RETRY_DELAYS_MS.length });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(attempts, chance, fc.integer({ min: 0, max: 2 ** 42 }), (attempt, random, now) => {
        const step = nextStep(attempt, failed, now, random);
        const delay = RETRY_DELAYS_MS[attempt - 1] ?? 0;
        if (step.state !== 'pending') throw new Error('It is not retried.');
        expect(Number.isInteger(step.inMs)).toBe(true);
        expect(step.inMs).toBeGreaterThanOrEqual(delay * 0.8);
        expect(step.inMs).toBeLessThanOrEqual(delay * 1.2);
      }),
    );
    expect(nextStep(1, failed, NOW, 0)).toEqual({ state: 'pending', inMs: 4000 });
    expect(nextStep(1, failed, NOW, 0.999_999)).toEqual({ state: 'pending', inMs: 6000 });
  });

  it('wait as long as Retry-After asks, in seconds or until a date', () => {
    const at = (attempt: number, retryAfter: string) =>
      nextStep(attempt, { ok: false, status: 429, retryAfter }, NOW, 0.5);
    expect(at(1, '3600')).toEqual({ state: 'pending', inMs: HOUR });
    expect(at(4, '1'), 'it puts off, it does not hurry').toEqual({ state: 'pending', inMs: 10 * MINUTE });
    expect(at(1, 'soon'), 'nonsense is ignored').toEqual({ state: 'pending', inMs: 5000 });
    const last = { state: 'failed', reason: 'All attempts failed.', isGone: false };
    expect(at(8, '1'), 'it adds no attempt').toEqual(last);
  });
});

describe('a Retry-After header', () => {
  it.each([
    ['0', 0],
    [' 120 ', 2 * MINUTE],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu Jan  1 00:00:30 2026', 30_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
    ['Thu, 01 Jan 2099 00:00:00 GMT', MAX_RETRY_AFTER_MS],
  ])('reads %j', (header, wait) => {
    expect(parseRetryAfter(header, NOW)).toBe(wait);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', 'Thu, 99 Foo 2026 00:00:30 GMT', 'tomorrow'])(
    'delays nothing: %j',
    (header) => expect(parseRetryAfter(header, NOW) ?? 0).toBe(0),
  );

  it('is within its bounds for any text', () => {
    const date = fc.date({ noInvalidDate: true }).map((one) => one.toUTCString());
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.nat().map(String), date), (header) => {
        const wait = parseRetryAfter(header, NOW) ?? 0;
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(MAX_RETRY_AFTER_MS);
      }),
    );
  });
});

it.each([
  ['disabled after five days of failures', NOW - 5 * DAY, MIN_FAILED_ATTEMPTS, true],
  ['kept for a moment less', NOW - 5 * DAY + 1, MIN_FAILED_ATTEMPTS, false],
  ['kept when it has hardly been tried', NOW - 30 * DAY, MIN_FAILED_ATTEMPTS - 1, false],
  ['kept when nothing has failed since the last success', null, 0, false],
])('an endpoint that only fails is %s', (_what, failingSince, failedAttempts, isDisabled) => {
  expect(hasOnlyFailed({ failingSince, failedAttempts }, NOW)).toBe(isDisabled);
  expect(MIN_FAILED_ATTEMPTS).toBeGreaterThan(MAX_ATTEMPTS);
});
