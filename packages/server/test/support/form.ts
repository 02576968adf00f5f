/*
 * Tests have a short and a long form. `TEST_FORM=long` selects the long form, with more cases of the same behaviour. It
 * takes hours for all tests, and is meant for the few that concern a change.
 */

const isLong = process.env.TEST_FORM === 'long';

/** @returns the value for the selected form */
export const inForm = <T>(short: T, long: T): T => (isLong ? long : short);

/** Options of a fast-check property. The short form has a fixed seed. */
export const runs = (short: number, long: number): { numRuns: number; seed?: number } =>
  isLong ? { numRuns: long } : { numRuns: short, seed: 20261121 };

/**
 * @param long timeout in the long form
 * @returns the timeout of a test in milliseconds; 2 minutes in the short form, because the machine may be busy
 */
export const timeLimit = (long: number): number => (isLong ? long : 120_000);

/** @returns the seed in TEST_SEED, which repeats the random choices of a run */
export const givenSeed = (): number | undefined =>
  process.env.TEST_SEED === undefined ? undefined : Number(process.env.TEST_SEED);
