import { DAY_MS } from '../clock.ts';
import { type Day, dayOf } from '../store/contract/usage.ts';

/** The first moments of the calendar month (UTC) of a time and of the next month, epoch milliseconds. */
export function monthAround(time: number): { start: number; end: number } {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) };
}

/** {@link dayOf} that formats each day only once: it is called for every request. */
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
