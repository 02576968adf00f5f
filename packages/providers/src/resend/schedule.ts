import { invalid } from './errors.ts';

const SECOND = 1_000;
const [MINUTE, HOUR, DAY] = [60 * SECOND, 3_600 * SECOND, 86_400 * SECOND];
/** How far ahead mails can be scheduled in Resend. */
const MAX_AHEAD = 30 * DAY;

const UNITS: readonly [RegExp, number][] = [
  [/^s(?:ec(?:ond)?s?)?$/, SECOND],
  [/^m(?:in(?:ute)?s?)?$/, MINUTE],
  [/^h(?:(?:ou)?rs?)?$/, HOUR],
  [/^d(?:ays?)?$/, DAY],
  [/^w(?:eeks?)?$/, 7 * DAY],
];
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const ZONES: Readonly<Record<string, string>> = {
  ...{ et: 'America/New_York', ct: 'America/Chicago', mt: 'America/Denver', pt: 'America/Los_Angeles' },
  ...{ utc: 'UTC', gmt: 'UTC' },
};

const ISO = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;
const IN = /^in (an?|\d{1,6}) ?([a-z]+)$/;
const DAY_AT = /^(?:(?:on|next) )?([a-z]+)(?:,? at)? (\d{1,2})(?::(\d\d))? ?(am|pm)?(?: ([a-z]{2,3}))?$/;

/**
 * ISO 8601, `in 5 minutes`, `tomorrow at 9am` or `Friday at 3:30pm ET`. @returns epoch milliseconds @throws
 * NamedRefusal for other formats, and for times more than 30 days ahead
 */
export function timeOf(text: unknown, now: number): number {
  const given = typeof text === 'string' ? text.trim().toLowerCase() : '';
  const time = ISO.test(given) ? isoTime(given) : (spanTime(given, now) ?? dayTime(given, now));
  if (time === undefined || Number.isNaN(time))
    throw invalid(
      'Invalid `scheduled_at` field. Use ISO 8601 (`2026-08-05T11:52:01Z`), `in 5 minutes`, `tomorrow at 9am` or `Friday at 3pm ET`.',
    );
  if (time > now + MAX_AHEAD)
    throw invalid('The `scheduled_at` field must be at most 30 days in the future.');
  return time;
}

/** Times without an offset are UTC, as elsewhere in Resend's API. */
const isoTime = (text: string): number =>
  Date.parse(/t|\d \d/.test(text) && !/z|[+-]\d\d:?\d\d$/.test(text.slice(10)) ? `${text}z` : text);

function spanTime(text: string, now: number): number | undefined {
  const [, count = '', name = ''] = IN.exec(text) ?? [];
  const unit = UNITS.find(([pattern]) => pattern.test(name))?.[1];
  return unit && now + unit * (/^an?$/.test(count) ? 1 : Number(count));
}

function dayTime(text: string, now: number): number | undefined {
  const [, day = '', hours = '', minutes = '0', half, zoneName = 'utc'] = DAY_AT.exec(text) ?? [];
  const zone = ZONES[zoneName.replace(/^([ecmp])[sd]t$/, '$1t')];
  const hour = half ? (Number(hours) % 12) + (half === 'pm' ? 12 : 0) : Number(hours);
  if (!zone || hours === '' || hour > 23 || Number(hours) > (half ? 12 : 23) || Number(minutes) > 59)
    return undefined;
  const local = new Date(now + offsetOf(zone, now));
  const ahead = daysAhead(day, local.getUTCDay());
  if (ahead === undefined) return undefined;
  const midnight = Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + ahead);
  const wall = midnight + hour * HOUR + Number(minutes) * MINUTE;
  // Applied twice, because the offset may change between now and then.
  const time = wall - offsetOf(zone, wall - offsetOf(zone, wall));
  return time <= now && WEEKDAYS.includes(day) ? time + 7 * DAY : time;
}

function daysAhead(day: string, today: number): number | undefined {
  if (day === 'today') return 0;
  if (day === 'tomorrow' || day === 'day') return 1;
  const weekday = WEEKDAYS.indexOf(day);
  return weekday < 0 ? undefined : (weekday - today + 7) % 7;
}

/** Offset of a time zone from UTC, milliseconds. */
function offsetOf(timeZone: string, time: number): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(time);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE);
}
