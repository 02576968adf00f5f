import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../store/contract/index.ts';

/** Clocks that are kept by NTP differ by milliseconds; above this, times that users see are visibly wrong. */
const WARN_ABOVE_MS = 1_000;

interface Deps {
  store: Pick<Store, 'upkeep'>;
  clock: Clock;
}

/**
 * Compares the clock of this machine with that of the database.
 * @returns milliseconds by which this one is ahead, and how far that may be wrong because the answer took a while
 */
async function compareClocks({ store, clock }: Deps): Promise<{ aheadMs: number; errorMs: number }> {
  const asked = clock.now();
  const theirs = (await store.upkeep.time()) ?? asked;
  const answered = clock.now();
  return { aheadMs: (asked + answered) / 2 - theirs, errorMs: Math.abs(answered - asked) / 2 };
}

/** For the gauge. */
export async function clockAheadSeconds(deps: Deps): Promise<number> {
  return (await compareClocks(deps)).aheadMs / 1_000;
}

/** Logs a warning when the clocks differ by more than a second. */
export async function warnOfClock(deps: Deps & { log: Logger }): Promise<void> {
  const { aheadMs, errorMs } = await compareClocks(deps);
  if (Math.abs(aheadMs) - errorMs <= WARN_ABOVE_MS) return;
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  deps.log.warn(
    { aheadMs: Math.round(aheadMs) },
    `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database. Synchronize both, for example by NTP: each node ends inboxes and makes attempts of webhooks by its own clock.`,
  );
}
