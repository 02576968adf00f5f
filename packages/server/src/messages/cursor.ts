import { hash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { MAX_TIME, timeOfId } from '../ids.ts';
import { quoted } from '../text/nearest.ts';

/** Length of the hash in a cursor. It detects mistyped cursors and cursors of other inboxes. */
const BINDING_LETTERS = 11;
const CURSOR = /^a?cur_([0-9a-z]{1,11})_[\w-]{11}$/;
/** Numbers in this range are rejected, because they are probably seconds: as milliseconds, they mean early 1970. */
const SECONDS_FROM = 1e9;
const SECONDS_UNTIL = 1e10;

const RFC3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?([Zz]|[+\- ](?:[01]\d|2[0-3]):[0-5]\d)$/;

const EXPECTED_TIME = 'an RFC 3339 time such as 2026-03-04T05:06:07Z, or milliseconds since 1970';
const EXPECTED = `a cursor of this inbox (cur_…), a message id (msg_…), ${EXPECTED_TIME}`;
const EXPECTED_OF_ACCOUNT = `a cursor of this account (acur_…), ${EXPECTED_TIME}`;

const invalidSince = (message: string): AppError => new AppError('invalid_since', message);

function encode(prefix: string, of: string, place: number): string {
  const digits = place.toString(36);
  const binding = hash('sha256', `${of} ${digits}`, 'base64url');
  return `${prefix}_${digits}_${binding.slice(0, BINDING_LETTERS)}`;
}

/** @param encoded returns the cursor of a number @returns the number; undefined for an invalid cursor */
function decode(cursor: string, encoded: (place: number) => string): number | undefined {
  const place = Number.parseInt(CURSOR.exec(cursor)?.[1] ?? '', 36);
  return Number.isSafeInteger(place) && encoded(place) === cursor ? place : undefined;
}

/** Returns the cursor after all messages up to `receivedAt` (epoch milliseconds). 0 is before the first message. */
export const cursorAt = (inboxId: string, receivedAt: number): string =>
  encode('cur', `cursor ${inboxId}`, receivedAt);

/** Returns the cursor after all messages of an account up to an `accountOrder`. 0 is before the first message. */
export const accountCursorAt = (accountId: string, order: number): string =>
  encode('acur', `account cursor ${accountId}`, order);

const orderOfCursor = (accountId: string, cursor: string): number | undefined =>
  decode(cursor, (order) => accountCursorAt(accountId, order));

/** @returns epoch milliseconds; undefined for invalid times such as February 30, which `Date` would accept */
export function timeOfRfc3339(text: string): number | undefined {
  const [, date, hours, minutes, seconds, fraction = '', offset] = RFC3339.exec(text) ?? [];
  if (date === undefined || offset === undefined) return undefined;
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(date)) return undefined;
  // An unencoded plus in a query string is decoded as a space.
  const zone = offset.toUpperCase().replace(' ', '+');
  // Truncate: a time that is rounded up to the next millisecond would exclude messages of that millisecond.
  const millis = fraction.slice(0, 3).padEnd(3, '0');
  return Math.max(0, Date.parse(`${date}T${hours}:${minutes}:${seconds}.${millis}${zone}`));
}

/** Decodes `before` to an `accountOrder`. @throws AppError `invalid_request` unless it is a valid cursor */
export function placeOfAccountBefore(accountId: string, before: string): number {
  const order = orderOfCursor(accountId, before);
  if (order !== undefined) return order;
  const message = `"before" must be the "before" of an earlier response of GET /v1/messages (acur_…), not ${quoted(before)}.`;
  throw new AppError('invalid_request', message, { errors: [{ path: 'before', message }] });
}

/** @param expected describes valid values in the error @returns epoch ms @throws AppError `invalid_since` */
export function timeOf(since: string, expected = EXPECTED_TIME): number {
  const isNumber = /^\d{1,15}$/.test(since);
  const time = isNumber ? Number(since) : timeOfRfc3339(since);
  if (time === undefined || time > MAX_TIME)
    throw invalidSince(`"since" must be ${expected}, not ${quoted(since)}.`);
  if (!isNumber || time < SECONDS_FROM || time >= SECONDS_UNTIL) return time;
  throw invalidSince(
    `"since" is ${since}, which looks like seconds since 1970. Send milliseconds: ${since}000.`,
  );
}

export function placeOfAccountSince(accountId: string, since: string): { order: number } | { time: number } {
  if (since.startsWith('acur_')) {
    const order = orderOfCursor(accountId, since);
    if (order !== undefined) return { order };
    throw invalidSince(
      `${quoted(since)} in "since" is not a cursor of this account. Use the "cursor" of a response of GET /v1/messages, or the "id" of an event of GET /v1/events.`,
    );
  }
  return { time: timeOf(since, EXPECTED_OF_ACCOUNT) };
}

/** @returns epoch ms; messages after `since` have a later `receivedAt` @throws AppError `invalid_since` */
export function timeOfSince(inboxId: string, since: string): number {
  if (!since.startsWith('cur_')) return timeOfId('msg', since) ?? timeOf(since, EXPECTED);
  const time = decode(since, (place) => cursorAt(inboxId, place));
  if (time !== undefined && time <= MAX_TIME) return time;
  throw invalidSince(
    `${quoted(since)} in "since" is not a cursor of this inbox. Use the "cursor" of a response about the same inbox.`,
  );
}
