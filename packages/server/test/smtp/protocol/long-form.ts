/** Set to run the long form of the property tests: more cases, and other ones each time. */
const LONG = process.env.MAYFLY_TEST_LONG !== undefined;

/** In the short form always the same cases. */
export const runs = (short: number, long: number): { numRuns: number; seed?: number } =>
  LONG ? { numRuns: long } : { numRuns: short, seed: 20261121 };

/** Milliseconds that a test may take. */
export const timeLimit = (long: number): number => (LONG ? long : 30_000);
