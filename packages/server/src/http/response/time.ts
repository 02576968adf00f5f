import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../clock.ts';

let day = Number.NaN;
/** Date part of the last result. Most times in a list have the same date, and computing it takes 1 µs. */
let date = '';
const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`);

/** RFC 3339 in UTC, to the millisecond. @param time epoch milliseconds */
export function toTime(time: number): string {
  const dayOfTime = Math.floor(time / DAY_MS);
  if (dayOfTime !== day) {
    date = new Date(dayOfTime * DAY_MS).toISOString().slice(0, -'T00:00:00.000Z'.length);
    day = dayOfTime;
  }
  const ms = Math.floor(time) - day * DAY_MS;
  const minutes = Math.floor(ms / MINUTE_MS);
  const clock = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${two(Math.floor(ms / SECOND_MS) % 60)}`;
  return `${date}T${clock}.${`${ms % SECOND_MS}`.padStart(3, '0')}Z`;
}

export const toTimeOrNull = (time: number | null): string | null => (time === null ? null : toTime(time));
