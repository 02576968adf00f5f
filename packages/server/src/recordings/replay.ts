import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';

type ReplayOutcome = 'complete' | 'cut';

export type Replays = ReturnType<typeof createReplays>;

interface ReplayStep {
  afterMs: number;
  deliver(): Promise<void>;
}

/** Runs replays in this process. Messages that are not delivered before the server stops are lost. */
export function createReplays({ clock, log }: { clock: Clock; log: Logger }) {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  const run = async (steps: ReplayStep[]): Promise<ReplayOutcome> => {
    const begin = clock.monotonic();
    for (const { afterMs, deliver } of steps) {
      const ms = begin + afterMs - clock.monotonic();
      if (ms > 0) await clock.sleep(ms, stopping.signal);
      if (stopping.signal.aborted) return 'cut';
      await deliver();
    }
    return 'complete';
  };

  return {
    /** Delivers the steps one after another, each after its delay; ends early if one fails. */
    start(steps: ReplayStep[], onEnd: (outcome: ReplayOutcome) => Promise<void>): void {
      const replay = run(steps)
        .catch((err: unknown) => {
          log.warn({ err }, 'A replay ended before its last message');
          return 'cut' as const;
        })
        .then(onEnd)
        .catch((err: unknown) => log.warn({ err }, 'The end of a replay could not be stored'))
        .finally(() => running.delete(replay));
      running.add(replay);
    },
    /** Ends all replays. Resolves when no step is running. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
