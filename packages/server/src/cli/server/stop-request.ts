import type { Clock } from '../../clock.ts';

/** Interval of checks whether the parent process has ended; each is a system call. */
const PARENT_CHECK_MS = 250;
/**
 * Ctrl+C in `npm start` sends SIGINT twice: the terminal sends it to the process group, and npm forwards it. A second
 * signal after this time is another Ctrl+C.
 */
const SAME_SIGNAL_MS = 1_000;

/** SIGHUP to a process group reaches npm and the server at the same time; npm ends a little later. */
const SAME_HANGUP_MS = 2_000;

const STOP_SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof STOP_SIGNALS;
export type StopReason = StopSignal | 'terminal closed' | 'parent exited';

export interface StopSources {
  onSignal(signal: StopSignal | 'SIGHUP', listener: () => void): void;
  /** True when the process had a terminal and lost it. */
  isTerminalGone(): boolean;
  /** True when the parent process has ended; null when the server may outlive it. */
  isParentGone: (() => boolean) | null;
  clock: Clock;
}

export interface StopActions {
  /** Called at a signal during the stop. */
  onSecondSignal(signal: StopSignal): void;
  /** Called on SIGHUP unless the process lost its terminal. */
  onReload(): void;
}

export interface StopRequest {
  readonly requested: Promise<StopReason>;
  /** Stops watching the parent. */
  close(): void;
}

/** 128 + signal number, the convention of shells. */
export const exitCodeOf = (signal: StopSignal): number => 128 + STOP_SIGNALS[signal];

export function watchForStop(sources: StopSources, actions: StopActions): StopRequest {
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
      else if (clock.monotonic() - requestedAt > SAME_SIGNAL_MS) actions.onSecondSignal(signal);
    });
  }
  onSignal('SIGHUP', () => {
    if (sources.isTerminalGone()) return request('terminal closed');
    hungUpAt = clock.monotonic();
    actions.onReload();
  });

  const watchParent = async (isGone: () => boolean): Promise<void> => {
    while (!watching.signal.aborted) {
      const wasGone = isGone();
      await clock.sleep(PARENT_CHECK_MS, watching.signal);
      if (!wasGone) continue;
      // A parent that ends right after a SIGHUP is no request to stop: npm ends then even under nohup, but a server
      // with redirected output must survive the hangup.
      if (clock.monotonic() - hungUpAt >= SAME_HANGUP_MS) request('parent exited');
      return;
    }
  };
  if (isParentGone) void watchParent(isParentGone);
  return { requested: promise, close: () => watching.abort() };
}

/*
 * npm runs `sh -c "mayfly serve"` and sends SIGTERM to that shell only. Some shells (dash) run the command as a
 * child, which SIGTERM orphans; `npx mayfly` cannot prevent this with `exec`. So a server that npm started in the
 * foreground stops when its parent has ended.
 */

/** A simple command that runs `mayfly`, optionally after assignments, `exec` or `cross-env`. */
const RUNS_MAYFLY = /^\s*(?:exec\s+|cross-env\s+|\w+=\S*\s+)*['"]?(?:\S*\/)?mayfly['"]?(?:\s|$)/;
/** `mayfly dev & …` is meant to outlive its shell. Does not match `&&`, `2>&1` and `&>`. */
const RUNS_IN_BACKGROUND = /(?<![&>])&(?![&>])/;

/** True if npm started this process in the foreground, for a script or for `npx mayfly`. */
export function isForegroundScript(env: Record<string, string | undefined>): boolean {
  const { npm_lifecycle_script: script = '' } = env;
  return RUNS_MAYFLY.test(script) && !RUNS_IN_BACKGROUND.test(script);
}
