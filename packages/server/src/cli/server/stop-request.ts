import type { Clock } from '../../clock.ts';

const PARENT_CHECK_MS = 250;
/** Ctrl+C in `npm start` sends SIGINT twice, from the terminal and from npm. A later signal is a second Ctrl+C. */
const SAME_SIGNAL_MS = 1_000;

/** npm also gets SIGHUP. If npm ends this soon after it, SIGHUP was the cause, and the server continues. */
const SAME_HANGUP_MS = 2_000;

const STOP_SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof STOP_SIGNALS;
export type StopReason = StopSignal | 'terminal closed' | 'parent exited';

export interface StopSources {
  onSignal(signal: StopSignal | 'SIGHUP', listener: () => void): void;
  isTerminalGone(): boolean;
  /** True when the parent process has ended; null when the server may outlive it. */
  isParentGone: (() => boolean) | null;
  clock: Clock;
  onSecondSignal(signal: StopSignal): void;
  /** Called on SIGHUP unless the process lost its terminal. */
  onReload(): void;
}

/** 128 plus the signal number, as in shells. */
export const exitCodeOf = (signal: StopSignal): number => 128 + STOP_SIGNALS[signal];

export function watchForStop(sources: StopSources) {
  const { onSignal, isParentGone, clock } = sources;
  const { promise, resolve } = Promise.withResolvers<StopReason>();
  const watching = new AbortController();
  let requestedAt: number | undefined;
  let hungUpAt = Number.NEGATIVE_INFINITY;
  const request = (reason: StopReason): void => {
    requestedAt ??= clock.monotonic();
    resolve(reason);
    watching.abort();
  };
  for (const signal of Object.keys(STOP_SIGNALS) as StopSignal[]) {
    onSignal(signal, () => {
      if (requestedAt === undefined) request(signal);
      else if (clock.monotonic() - requestedAt > SAME_SIGNAL_MS) sources.onSecondSignal(signal);
    });
  }
  onSignal('SIGHUP', () => {
    if (sources.isTerminalGone()) return request('terminal closed');
    hungUpAt = clock.monotonic();
    sources.onReload();
  });

  const watchParent = async (isGone: () => boolean): Promise<void> => {
    while (!watching.signal.aborted) {
      const wasGone = isGone();
      await clock.sleep(PARENT_CHECK_MS, watching.signal);
      if (!wasGone) continue;
      // Under nohup, a SIGHUP that ends npm must not stop the server.
      if (clock.monotonic() - hungUpAt >= SAME_HANGUP_MS) request('parent exited');
      return;
    }
  };
  if (isParentGone) void watchParent(isParentGone);
  return { requested: promise, close: () => watching.abort() };
}

/** A simple command that runs `mayfly`, optionally after assignments, `exec` or `cross-env`. */
const RUNS_MAYFLY = /^\s*(?:exec\s+|cross-env\s+|\w+=\S*\s+)*['"]?(?:\S*\/)?mayfly['"]?(?:\s|$)/;
/** Matches `mayfly dev & …`, but not `&&`, `2>&1` and `&>`. */
const RUNS_IN_BACKGROUND = /(?<![&>])&(?![&>])/;

/** True if npm runs `mayfly` in the foreground. Mayfly then watches npm, because a shell may not forward SIGTERM. */
export function isForegroundScript(env: Record<string, string | undefined>): boolean {
  const { npm_lifecycle_script: script = '' } = env;
  return RUNS_MAYFLY.test(script) && !RUNS_IN_BACKGROUND.test(script);
}
