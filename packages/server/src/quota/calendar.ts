import type { Day, Month } from '../store/contract/index.ts';

/** The UTC day of a time, `2026-11-21`. */
export const dayOf = (time: number): Day => new Date(time).toISOString().slice(0, 10);
/** The UTC month of a time, `2026-11`. */
export const monthOf = (time: number): Month => new Date(time).toISOString().slice(0, 7);

/** The first moments of the calendar month (UTC) of a time and of the next one, epoch milliseconds. */
export function monthAround(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
