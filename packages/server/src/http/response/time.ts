/** RFC 3339 in UTC, to the millisecond. @param time epoch milliseconds */
export const toTime = (time: number): string => new Date(time).toISOString();

export const toTimeOrNull = (time: number | null): string | null => (time === null ? null : toTime(time));
