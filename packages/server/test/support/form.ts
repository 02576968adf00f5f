/*
 * The two forms of a test. `TEST_FORM=long` runs the long form: more cases, kills and requests of the same promises.
 * It takes hours for all tests, and is for the few that concern a change.
 */

const isLong = process.env.TEST_FORM === 'long';

/** @returns what the form that runs needs: a count, a list of cases, … */
export const inForm = <T>(short: T, long: T): T => (isLong ? long : short);

/** Options of a property test of fast-check. The short form always checks the same cases. */
export const runs = (short: number, long: number): { numRuns: number; seed?: number } =>
  isLong ? { numRuns: long } : { numRuns: short, seed: 20261121 };

/**
 * Milliseconds after which a test is ended because it hangs. Every test may take two minutes: on a machine
 * with five times more to do than it can, that is what tests of twenty seconds need.
 * @param long for the long form
 */
export const timeLimit = (long: number): number => (isLong ? long : 120_000);

/** The seed of random choices that TEST_SEED repeats; otherwise a new one for each run. */
export const givenSeed = (): number | undefined =>
  process.env.TEST_SEED === undefined ? undefined : Number(process.env.TEST_SEED);
