import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';

/** Space is freed within a minute of an expiry: that leaves time for the work itself. */
const SWEEP_EVERY_MS = 15_000;
/** Rows per transaction: a few milliseconds, during which other writes wait. */
const SWEEP_ROWS = 200;

interface SweeperDeps {
  upkeep: Store['upkeep'];
  clock: Clock;
  log: Logger;
}

/** Deletes expired data, which no read returns, until `signal` aborts. */
export async function sweepUntil(signal: AbortSignal, { upkeep, clock, log }: SweeperDeps): Promise<void> {
  let isFailing = false;
  while (!signal.aborted) {
    try {
      let freed = 0;
      for (let step = SWEEP_ROWS; step >= SWEEP_ROWS && !signal.aborted; freed += step) {
        step = await upkeep.sweep(clock.now(), SWEEP_ROWS);
      }
      if (freed > 0) log.info({ freed }, 'Expired rows were deleted');
      isFailing = false;
    } catch (err) {
      if (!isFailing) log.error({ err }, 'Expired rows could not be deleted; each run tries again');
      isFailing = true;
    }
    await clock.sleep(SWEEP_EVERY_MS, signal);
  }
}
