import type { Milliseconds } from '@mayfly/client';
import type { Context } from './commands.ts';

/** Milliseconds between two updates. The first appears after this time, so that short work shows nothing. */
const UPDATE_MS = 250;
const CLEAR_LINE = '\x1b[2K';

/**
 * Shows the elapsed time on a terminal, in one line that is removed at the end.
 * @param limit the maximum duration, if the caller chose one
 */
export async function withProgress<T>(
  { isTerminal, note }: Pick<Context, 'isTerminal' | 'note'>,
  text: string,
  work: () => Promise<T>,
  limit?: Milliseconds,
): Promise<T> {
  if (!isTerminal) return work();
  const began = performance.now();
  const of = limit === undefined ? '' : ` of ${limit / 1000}`;
  let isShown = false;
  const timer = setInterval(() => {
    isShown = true;
    note(`${CLEAR_LINE}${text}: ${Math.floor((performance.now() - began) / 1000)}${of} s\r`);
  }, UPDATE_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (isShown) note(CLEAR_LINE);
  }
}
