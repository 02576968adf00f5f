import type { App, RunningApp } from '../../app.ts';
import type { Clock } from '../../clock.ts';
import type { StopReason, StopRequest, StopSignal } from './stop-request.ts';

/** Messages to the operator at the start and the stop of a server: text in `dev`, log lines in `serve`. */
export interface Announcer {
  /** A setting that is not known, or is ignored. */
  warning(text: string): void;
  /** The generated key of the first account. Called before the listeners start: the start may still fail. */
  firstKey(key: string): void;
  started(running: RunningApp): void;
  stopping(reason: StopReason): void;
  /** @param ms how long the stop took, whole milliseconds */
  stopped(ms: number): void;
  /** A second signal, or a part that does not stop, ends the process at once. */
  stoppedByForce(reason: StopSignal | 'time limit'): void;
}

/** A stop is promised within 10 s; a part that does not stop must not break that. */
const STOP_LIMIT_MS = 9_500;

export interface RunDeps {
  announcer: Announcer;
  stop: StopRequest;
  clock: Clock;
  /** Ends the process now, with an exit code. */
  exit(code: number): void;
}

/**
 * Starts the server, waits for a reason to stop, and stops it. During the start a reason is announced, and
 * acted on when the start is complete.
 * @throws what {@link App.start} throws
 */
export async function runServer(app: App, deps: RunDeps): Promise<void> {
  const { announcer, clock } = deps;
  const ended = new AbortController();
  const stopBegan = untilStop(deps, ended.signal);
  try {
    announcer.started(await app.start(announcer.firstKey));
    const begunAt = await stopBegan;
    await app.stop();
    announcer.stopped(Math.round(clock.monotonic() - begunAt));
  } finally {
    ended.abort();
  }
}

/** Announces the stop, and keeps its time limit. @returns when it began */
async function untilStop({ announcer, stop, clock, exit }: RunDeps, ended: AbortSignal): Promise<number> {
  announcer.stopping(await stop.requested);
  const begunAt = clock.monotonic();
  void clock.sleep(STOP_LIMIT_MS, ended).then(() => {
    if (ended.aborted) return;
    announcer.stoppedByForce('time limit');
    exit(1);
  });
  return begunAt;
}
