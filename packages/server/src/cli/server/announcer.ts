import type { RunningApp } from '../../app.ts';
import type { StopReason, StopSignal } from './stop-request.ts';

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
