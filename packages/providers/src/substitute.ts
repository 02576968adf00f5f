import { Refused } from './provider.ts';

/**
 * Limit of characters searched plus twice those written by the substitutions of one request: half a second of
 * the main thread. 1,000 recipients of 7 KB with three tags stay below it.
 */
const MAX_WORK = 64 * 1024 * 1024;

export type Substitute = (text: string, pairs: Iterable<readonly [string, unknown]>) => string;

/**
 * Returns a function for one request that replaces tags by values, in order. @throws Refused 413 above {@link
 * MAX_WORK}
 */
export function createSubstitute(): Substitute {
  let left = MAX_WORK;
  const spend = (characters: number): void => {
    left -= characters;
    if (left < 0)
      throw new Refused(
        413,
        'The substitutions of this request are too large together. Send to fewer recipients at once.',
      );
  };
  return (text, pairs) => {
    let filled = text;
    for (const [tag, value] of pairs) {
      spend(filled.length + 1);
      if (tag === '' || !filled.includes(tag)) continue;
      const parts = filled.split(tag);
      const put = String(value);
      spend(2 * (filled.length + (parts.length - 1) * put.length));
      filled = parts.join(put);
    }
    return filled;
  };
}
