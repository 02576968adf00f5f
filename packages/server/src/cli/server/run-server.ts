import type { App, RunningApp } from '../../app.ts';
import type { Clock } from '../../clock.ts';
import type { StopReason, StopRequest, StopSignal } from './stop-request.ts';

/** Reports the start and the stop of a server to the operator: text in `dev`, log lines in `serve`. */
export interface Announcer {
  /** An unknown or ignored setting. */
  warning(text: string): void;
  /** The generated key of the first account. Called before the listeners start: the start may still fail. */
  firstKey(key: string): void;
  started(running: RunningApp): void;
  stopping(reason: StopReason): void;
  /** @param ms duration of the stop, whole milliseconds */
  stopped(ms: number): void;
  /** A second signal or the time limit ends the process at once. */
  stoppedByForce(reason: StopSignal | 'time limit'): void;
}

/** The process must end within 10 s, even if a part does not stop. */
const STOP_LIMIT_MS = 9_500;

export interface RunDeps {
  announcer: Announcer;
  stop: StopRequest;
  clock: Clock;
  exit(code: number): void;
}

/** Runs until a stop is requested, and stops; during the start, after it. @throws what {@link App.start} throws */
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

/** Announces the stop and enforces its time limit. @returns when it began */
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
