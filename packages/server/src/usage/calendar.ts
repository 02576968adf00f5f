/** A calendar month in UTC, `2026-11`. */
export type Month = string;
/** A day in UTC, `2026-11-21`. */
export type Day = string;

/** @param time epoch milliseconds */
export const dayOf = (time: number): Day => new Date(time).toISOString().slice(0, 10);
export const monthOf = (time: number): Month => dayOf(time).slice(0, 7);

/** Start of the month (UTC) of a time and of the next month, epoch milliseconds. */
export function monthAround(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}
