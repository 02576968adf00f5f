import type { Clock } from '../../clock.ts';

/** How often a server that npm started checks its parent: each check is a system call. */
const PARENT_CHECK_MS = 250;
/**
 * Ctrl+C in `npm start` sends SIGINT twice: the terminal sends it to the whole process group, and npm
 * forwards it. Within this time a second signal is that copy, afterwards it is a person who will not wait.
 */
const SAME_SIGNAL_MS = 1_000;

/** SIGHUP to a whole process group reaches npm and the server at the same moment; npm ends a little later. */
const SAME_HANGUP_MS = 2_000;

const STOP_SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof STOP_SIGNALS;
export type StopReason = StopSignal | 'terminal closed' | 'parent exited';

export interface StopSources {
  onSignal(signal: StopSignal | 'SIGHUP', listener: () => void): void;
  /** True when the process had a terminal and lost it. */
  isTerminalGone(): boolean;
  /** True when the process that started this one is gone; null when the server is to outlive it. */
  isParentGone: (() => boolean) | null;
  clock: Clock;
}

export interface StopActions {
  /** A signal that comes while the server is stopping already. */
  onSecondSignal(signal: StopSignal): void;
  /** SIGHUP to a server that has no terminal, or still has it. */
  onReload(): void;
}

export interface StopRequest {
  /** Resolves with the first reason to stop. */
  readonly requested: Promise<StopReason>;
  /** Ends the watch for the parent. */
  close(): void;
}

/** Exit code of a process that ended because of a signal, by the convention of shells. */
export const exitCodeOf = (signal: StopSignal): number => 128 + STOP_SIGNALS[signal];

/** Watches for reasons to stop, and for SIGHUP, from the call on. */
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
      // npm does not survive SIGHUP, not even below nohup. A server whose output was redirected is meant to.
      if (clock.monotonic() - hungUpAt >= SAME_HANGUP_MS) request('parent exited');
      return;
    }
  };
  if (isParentGone) void watchParent(isParentGone);
  return { requested: promise, close: () => watching.abort() };
}

/*
 * npm runs a script as `sh -c "mayfly serve"` and passes SIGTERM to that shell only. Some shells (bash) replace
 * themselves by a simple command; others (dash, the sh of Debian and Ubuntu) start it as a child, which SIGTERM
 * orphans. `npm start` avoids this by `exec` in package.json; `npx mayfly` cannot. So a server that npm started
 * in the foreground stops when its parent is gone.
 */

/** A simple command that runs `mayfly`: optionally after assignments, `exec` or `cross-env`. */
const RUNS_MAYFLY = /^\s*(?:exec\s+|cross-env\s+|\w+=\S*\s+)*['"]?(?:\S*\/)?mayfly['"]?(?:\s|$)/;
/** `mayfly dev & …`: the script means the server to outlive its shell. `&&`, `2>&1` and `&>` are other things. */
const RUNS_IN_BACKGROUND = /(?<![&>])&(?![&>])/;

/**
 * True when npm (or another runner that sets npm's variables) started this process as the foreground command
 * of a script or of `npx mayfly`.
 * @param env the environment of the process
 */
export function isForegroundScript(env: Record<string, string | undefined>): boolean {
  const { npm_lifecycle_script: script = '' } = env;
  return RUNS_MAYFLY.test(script) && !RUNS_IN_BACKGROUND.test(script);
}
