import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Upkeep } from './contract/index.ts';

/** Space is promised back within a minute; four looks a minute leave time for the work itself. */
const SWEEP_EVERY_MS = 15_000;
/** Rows a transaction: a few milliseconds of the writer's time. */
const SWEEP_ROWS = 200;

/**
 * The broom: frees what is past its time, in small steps, until `signal` aborts. Nothing readable
 * depends on it.
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
      if (freed > 0) log.info({ freed }, 'swept');
    } catch (error) {
      log.error({ err: error }, 'sweeping failed, will try again');
    }
    await clock.sleep(SWEEP_EVERY_MS, signal);
  }
}
