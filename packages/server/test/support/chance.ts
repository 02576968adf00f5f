import { randomInt } from 'node:crypto';
import { givenSeed } from './form.ts';

/** Repeatable chance: the same seed gives the same numbers. */
export interface Chance {
  seed: number;
  /** From `low` up to and including `high`. */
  between(low: number, high: number): number;
}

/**
 * A small generator (mulberry32): even enough to choose moments and cuts.
 * @param seed by default another one each time; put it into the test's name, so that a failure tells it
 */
export function chance(seed = givenSeed() ?? randomInt(2 ** 31)): Chance {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { seed, between: (low, high) => low + Math.floor(next() * (high - low + 1)) };
}
