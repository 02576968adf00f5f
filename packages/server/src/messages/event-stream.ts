import type { ServerResponse } from 'node:http';
import { MESSAGE_RECEIVED, type StreamedMessage } from '@mayfly/client/contract';
import { STREAM_QUIET_MS, STREAM_RETRY_MS, STREAM_STALLED_MS } from '../http/limits.ts';
import { type Followable, type Followed, follow } from './follow.ts';
import type { WaitDeps } from './held/change-signal.ts';
import { toSummary } from './json.ts';

export interface EventStream {
  followable: Followable;
  deps: WaitDeps;
  /** @throws AppError if the caller may no longer read */
  recheck(): Promise<unknown>;
}

function eventText({ message, cursor }: Followed): string {
  const data: StreamedMessage = { inboxId: message.inboxId, message: toSummary(message) };
  return `event: ${MESSAGE_RECEIVED}\nid: ${cursor}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A comment line, which clients ignore. */
export const comment = (text: string): string => `: ${text}\n\n`;

/** Ends with the signal, or when the client stops reading; it can resume. @throws as `next` and `recheck` */
export async function writeEvents(
  raw: ServerResponse,
  { followable, deps, recheck }: EventStream,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = deps;
  let checkedAt = clock.monotonic();
  // An id alone is no event, but a client that is disconnected before the first one can resume there.
  raw.write(`retry: ${STREAM_RETRY_MS}\nid: ${followable.cursor}\n\n`);
  for await (const page of follow(followable, { ...deps, quietMs: STREAM_QUIET_MS }, signal)) {
    if (clock.monotonic() - checkedAt >= STREAM_QUIET_MS) {
      await recheck();
      checkedAt = clock.monotonic();
    }
    if (raw.destroyed) return;
    raw.write(page.length > 0 ? page.map(eventText).join('') : comment('still here'));
    if (!(await isDrained(raw, clock, signal))) {
      raw.destroy();
      return;
    }
  }
}

/** Whether the client has read what was written; false after a timeout or the signal. */
async function isDrained(
  raw: ServerResponse,
  clock: WaitDeps['clock'],
  signal: AbortSignal,
): Promise<boolean> {
  if (!raw.writableNeedDrain) return true;
  const over = new AbortController();
  const end = () => over.abort();
  raw.once('drain', end);
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  await clock.sleep(STREAM_STALLED_MS, over.signal);
  raw.off('drain', end);
  signal.removeEventListener('abort', end);
  return !raw.writableNeedDrain;
}
