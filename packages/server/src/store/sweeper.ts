import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Upkeep } from './contract/index.ts';

/** Space is freed within a minute of an expiry; four runs a minute leave time for the work itself. */
const SWEEP_EVERY_MS = 15_000;
/** Rows in one transaction: a few milliseconds, during which other writes wait. */
const SWEEP_ROWS = 200;

/**
 * Deletes expired data in small transactions until `signal` aborts. No read depends on it: expired data is
 * never returned.
 */
export async function sweepUntil(
  signal: AbortSignal,
  deps: { upkeep: Upkeep; clock: Clock; log: Logger },
): Promise<void> {
  const { upkeep, clock, log } = deps;
  while (!signal.aborted) {
    try {
      let freed = 0;
      for (let step = SWEEP_ROWS; step >= SWEEP_ROWS && !signal.aborted; freed += step) {
        step = await upkeep.sweep(clock.now(), SWEEP_ROWS);
      }
      if (freed > 0) log.info({ freed }, 'deleted expired rows');
    } catch (error) {
      log.error({ err: error }, 'expired rows could not be deleted; the next run tries again');
    }
    await clock.sleep(SWEEP_EVERY_MS, signal);
  }
}
