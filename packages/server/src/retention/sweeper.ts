import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';

/** Space is freed within a minute of an expiry: that leaves time for the work itself. */
const SWEEP_EVERY_MS = 15_000;
/** Rows per transaction: a few milliseconds, during which other writes wait. */
const SWEEP_ROWS = 200;
/** Smaller steps are ordinary corrections by time servers. */
const MAX_STEP_BACK_MS = 1_000;

interface SweeperDeps {
  upkeep: Store['upkeep'];
  clock: Clock;
  log: Logger;
}

/** Deletes expired data, which no read returns, until `signal` aborts. Warns if the wall clock was set back. */
export async function sweepUntil(signal: AbortSignal, { upkeep, clock, log }: SweeperDeps): Promise<void> {
  const checkClock = createClockCheck(upkeep, log);
  let isFailing = false;
  while (!signal.aborted) {
    try {
      await checkClock(clock.now());
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

function createClockCheck(upkeep: Store['upkeep'], log: Logger): (now: number) => Promise<void> {
  let newest: number | undefined;
  let isBehind = false;
  return async (now) => {
    newest ??= await upkeep.newestTime();
    const behindMs = newest - now;
    newest = Math.max(newest, now);
    const wasBehind = isBehind;
    isBehind = behindMs > MAX_STEP_BACK_MS;
    if (!isBehind || wasBehind) return;
    log.warn(
      { behindSeconds: Math.round(behindMs / 1000) },
      'The clock of this machine ran back behind times that are stored; until it has caught up, new messages get the times after those, and inboxes expire late. Check the time synchronization.',
    );
  };
}
