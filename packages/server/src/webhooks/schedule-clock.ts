import type { Clock } from '../clock.ts';

/**
 * The time by which deliveries are scheduled and leased: epoch milliseconds that a step of this machine's wall
 * clock does not move.
 *
 * A storage with several servers has a clock that all of them can read, and each server follows it, so that
 * their wall clocks may differ. A single server begins with its wall clock and goes on with the monotonic one;
 * after the machine was suspended, delays go on where they stood.
 */
export interface ScheduleClock {
  /** The time, estimated since the last {@link ScheduleClock.read}. */
  now(): number;
  /** The time, after comparing it with the storage's clock. @throws AppError `unavailable` */
  read(): Promise<number>;
}

/** @param storageTime returns the storage's own time, null if it has none */
export function createScheduleClock(clock: Clock, storageTime: () => Promise<number | null>): ScheduleClock {
  let offset = clock.now() - clock.monotonic();
  const now = () => Math.floor(offset + clock.monotonic());
  return {
    now,
    async read() {
      const asked = clock.monotonic();
      const time = await storageTime();
      // It was read about half way between the question and the answer.
      if (time !== null) offset = time - (asked + clock.monotonic()) / 2;
      return now();
    },
  };
}
