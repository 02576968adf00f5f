import type { Clock } from '../clock.ts';

/** Follows PostgreSQL's clock or, with SQLite, the monotonic clock, because the wall clock may jump. */
export type ScheduleClock = ReturnType<typeof createScheduleClock>;

/** @param storageTime the database's time; null if the store has no clock of its own */
export function createScheduleClock(clock: Clock, storageTime: () => Promise<number | null>) {
  let offset = clock.now() - clock.monotonic();
  const now = () => Math.floor(offset + clock.monotonic());
  return {
    now,
    /** Synchronizes with the database's clock, and returns the time. @throws AppError `unavailable` */
    async read(): Promise<number> {
      const asked = clock.monotonic();
      const time = await storageTime();
      // Assume that the database read its clock halfway between request and response.
      if (time !== null) offset = time - (asked + clock.monotonic()) / 2;
      return now();
    },
  };
}
