import { describe, expect, it } from 'vitest';
import { createScheduleClock } from '../../src/webhooks/schedule-clock.ts';
import { FakeClock } from '../support/fake-clock.ts';

const HOUR = 60 * 60_000;

describe('the time of schedules', () => {
  it('of a single server begins with its wall clock and goes on whatever that does', async () => {
    const clock = new FakeClock();
    const begun = clock.now();
    const schedule = createScheduleClock(clock, async () => null);
    clock.step(HOUR);
    await clock.advance(10);
    expect(await schedule.read()).toBe(begun + 10);
    clock.step(-2 * HOUR);
    await clock.advance(10);
    expect([schedule.now(), await schedule.read()]).toEqual([begun + 20, begun + 20]);
  });

  it('of several servers is that of their storage, taken half way between question and answer', async () => {
    const clock = new FakeClock();
    let storage = 5_000_000;
    const schedule = createScheduleClock(clock, async () => {
      await clock.advance(40);
      return storage;
    });
    expect(await schedule.read()).toBe(storage + 20);
    await clock.advance(100);
    expect(schedule.now()).toBe(storage + 120);
    clock.step(HOUR);
    expect(schedule.now()).toBe(storage + 120);
    storage -= HOUR;
    expect(await schedule.read()).toBe(storage + 20);
  });

  it('is in whole milliseconds', async () => {
    const clock = { ...new FakeClock(), now: () => 1_000, monotonic: () => 0.4 };
    const schedule = createScheduleClock({ ...clock, sleep: async () => undefined }, async () => null);
    expect(Number.isInteger(schedule.now())).toBe(true);
  });
});
