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

  const run = async (steps: ReplayStep[], over: AbortSignal): Promise<ReplayOutcome> => {
    const begin = clock.monotonic();
    const cut = AbortSignal.any([stopping.signal, over]);
    for (const { afterMs, deliver } of steps) {
      const ms = begin + afterMs - clock.monotonic();
      if (ms > 0) await clock.sleep(ms, cut);
      if (cut.aborted) return 'cut';
      await deliver();
    }
    return 'complete';
  };

  return {
    /** Delivers the steps one after another, each after its delay; ends early if one fails, or with `over`. */
    start(steps: ReplayStep[], over: AbortSignal, onEnd: (outcome: ReplayOutcome) => Promise<void>): void {
      const replay = run(steps, over)
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
