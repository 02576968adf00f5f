const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** A time zone of the United States, such as EST (RFC 5322 section 4.3). All other names are read as UTC. */
const ZONE = /^([ecmp])([sd])t$/i;

const DATE_TIME =
  /^(?:[a-z]+\.?,?\s*)?(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?,?[\s-]+(\d{2,4})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?\s*([+-]\d{4}|[a-z]+)\b/i;

function offsetOf(zone: string): number | undefined {
  const numeric = /^([+-])(\d{2})(\d{2})$/.exec(zone);
  if (numeric === null) {
    const [, place = '', season = ''] = ZONE.exec(zone.toLowerCase()) ?? [];
    return place === '' ? 0 : -60 * (5 + 'ecmp'.indexOf(place) - (season === 'd' ? 1 : 0));
  }
  const minutes = Number(numeric[2]) * 60 + Number(numeric[3]);
  if (minutes >= 24 * 60 || Number(numeric[3]) > 59) return undefined;
  return numeric[1] === '-' ? -minutes : minutes;
}

/** Adds 1900 to a year of three digits, and to a year of two digits from 50 on (RFC 5322 section 4.3). */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  return digits.length === 2 && year < 50 ? year + 2000 : year + 1900;
}

/** Converts a Date header (RFC 5322 section 3.3) to RFC 3339 in UTC; null if a part is missing or invalid. */
export function parseDate(value: string): string | null {
  const match = DATE_TIME.exec(value.slice(0, 200).trim());
  if (match === null) return null;
  const [, day = '', monthName = '', yearDigits = '', hour = '', minute = '', second = '0', zone = ''] =
    match;
  const month = MONTHS.indexOf(monthName.toLowerCase());
  const offset = offsetOf(zone);
  if (month < 0 || offset === undefined) return null;
  const year = fullYear(yearDigits);
  if (year < 1900 || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  const midnight = new Date(Date.UTC(year, month, Number(day)));
  // `Date.UTC` has moved an invalid day, such as 31 February, into the next month.
  if (midnight.getUTCDate() !== Number(day)) return null;
  const seconds = (Number(hour) * 60 + Number(minute) - offset) * 60 + Number(second);
  return new Date(midnight.getTime() + seconds * 1000).toISOString();
}

/** Returns a Date header value (RFC 5322 section 3.3) in UTC. @param at epoch milliseconds */
export const formatDate = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000');
