/**
 * How long a test waits for what takes a moment on a machine that keeps up, milliseconds. The tests also run on
 * machines that are slow and busy: a shorter limit would fail there, and what hangs or waits for a timeout of a
 * minute takes longer than this. How fast things are is measured in bench/.
 */
export const DEADLINE_MS = 30_000;
