import type { App } from '../../app.ts';
import type { Clock } from '../../clock.ts';
import type { Announcer } from './announcer.ts';
import type { StopRequest } from './stop-request.ts';

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
