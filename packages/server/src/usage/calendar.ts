import { DAY_MS } from '../clock.ts';

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

/** {@link dayOf} that formats each day once: it is called for every request. */
export class DayCache {
  #day: Day = '';
  #from = 0;
  #to = 0;

  dayOf(time: number): Day {
    if (time < this.#from || time >= this.#to) {
      this.#from = time - (time % DAY_MS);
      this.#to = this.#from + DAY_MS;
      this.#day = dayOf(time);
    }
    return this.#day;
  }
}
