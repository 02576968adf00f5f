import { randomInt } from 'node:crypto';
import { givenSeed } from './form.ts';

/** Pseudo-random numbers: the same seed gives the same sequence. */
export type Chance = ReturnType<typeof chance>;

/**
 * Creates a mulberry32 generator.
 * @param seed random by default; the title of a test should contain it, so that a failure can be repeated
 */
export function chance(seed = givenSeed() ?? randomInt(2 ** 31)) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    seed,
    /** @returns an integer from `low` up to and including `high` */
    between: (low: number, high: number): number => low + Math.floor(next() * (high - low + 1)),
  };
}
