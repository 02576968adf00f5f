/*
 * Preloaded into a server (`node --import`): its wall clock is CLOCK_AHEAD_MS milliseconds ahead. The server
 * reads the wall clock by Date.now only (src/clock.ts). The monotonic clock is left alone.
 */
const ahead = Number(process.env.CLOCK_AHEAD_MS);
const realNow = Date.now;

Date.now = () => realNow() + ahead;
