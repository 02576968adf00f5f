/*
 * Preloaded into the server under test (`node --import`): its wall clock runs as many milliseconds ahead as
 * the file SOAK_CLOCK_FILE says. The server reads the wall clock by Date.now only (src/clock.ts), on each of
 * its threads; the monotonic clock is left alone, as by a correction of a machine's clock.
 */
import { readFileSync } from 'node:fs';

/** How often the file is read at most, milliseconds. */
const REREAD_MS = 100;

const { SOAK_CLOCK_FILE: file = '' } = process.env;
const realNow = Date.now;
let offset = 0;
let readAt = Number.NEGATIVE_INFINITY;

Date.now = () => {
  if (performance.now() - readAt > REREAD_MS) {
    readAt = performance.now();
    offset = Number(readFileSync(file, 'utf8'));
  }
  return realNow() + offset;
};
