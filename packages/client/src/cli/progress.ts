import type { Milliseconds } from '@mayfly/client';
import type { Context } from './commands.ts';

/** Between two updates. The first comes after it, so that short work shows nothing. */
const UPDATE_MS = 250;
const CLEAR_LINE = '\x1b[2K';

/**
 * Shows at a terminal how long the work has taken, in one line that is rewritten and removed at the end.
 * @param limit the longest that it may take, where the caller has chosen one
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
