import { hash } from 'node:crypto';
import { AppError } from '../errors.ts';
import { MAX_TIME, timeOfId } from '../ids.ts';
import { quoted } from '../text/nearest.ts';
import { LruCache } from '../workers/ttl-cache.ts';

/** Enough of a hash to detect a mistyped cursor, or one of another inbox. It is not a secret. */
const BINDING_LETTERS = 11;
const ACCOUNT_CURSOR = /^acur_([0-9a-z]{1,11})_[\w-]{11}$/;
const CURSOR = /^cur_([0-9a-z]{1,10})_[\w-]{11}$/;
/** As milliseconds these are days of early 1970, as seconds any day since 2001: probably seconds. */
const SECONDS_FROM = 1e9;
const SECONDS_UNTIL = 1e10;

const RFC3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))[Tt ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?([Zz]|[+\- ](?:[01]\d|2[0-3]):[0-5]\d)$/;

const EXPECTED =
  'a cursor of this inbox (cur_…), a message id (msg_…), an RFC 3339 time such as 2026-03-04T05:06:07Z, or milliseconds since 1970';
const EXPECTED_TIME = 'an RFC 3339 time such as 2026-03-04T05:06:07Z, or milliseconds since 1970';
const EXPECTED_OF_ACCOUNT =
  'a cursor of this account (acur_…), an RFC 3339 time such as 2026-03-04T05:06:07Z, or milliseconds since 1970';

const invalidSince = (since: string, expected: string): AppError =>
  new AppError('invalid_since', `"since" must be ${expected}, not ${quoted(since)}.`);

/**
 * The cursor of an inbox that stands for all messages up to `receivedAt`.
 * @param receivedAt epoch milliseconds of the newest of them; 0 when there is none
 */
export function cursorAt(inboxId: string, receivedAt: number): string {
  const time = receivedAt.toString(36);
  const place = `${inboxId} ${time}`;
  const known = madeLately.get(place);
  if (known !== undefined) return known;
  const binding = hash('sha256', `cursor ${place}`, 'base64url');
  const cursor = `cur_${time}_${binding.slice(0, BINDING_LETTERS)}`;
  madeLately.set(place, cursor);
  return cursor;
}

/** Cursors made recently: a list's cursor stays the same until a message arrives, and its hash is the costly part. */
const madeLately = new LruCache<string>(2_000);

function timeOfCursor(inboxId: string, cursor: string): number {
  const time = Number.parseInt(CURSOR.exec(cursor)?.[1] ?? '', 36);
  if (Number.isNaN(time) || time > MAX_TIME || cursorAt(inboxId, time) !== cursor) {
    throw new AppError(
      'invalid_since',
      `${quoted(cursor)} in "since" is not a cursor of this inbox. Use the "cursor" of a response about the same inbox.`,
    );
  }
  return time;
}

function timeOfMillis(digits: string, expected: string): number {
  const time = Number(digits);
  if (time >= SECONDS_FROM && time < SECONDS_UNTIL) {
    throw new AppError(
      'invalid_since',
      `"since" is ${digits}, which looks like seconds since 1970. Send milliseconds: ${digits}000.`,
    );
  }
  if (time > MAX_TIME) throw invalidSince(digits, expected);
  return time;
}

/** Undefined for anything else, also for a day such as February 30, which `Date` would roll over. */
export function timeOfRfc3339(text: string): number | undefined {
  const [, date, hours, minutes, seconds, fraction = '', offset] = RFC3339.exec(text) ?? [];
  if (date === undefined || offset === undefined) return undefined;
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(date)) return undefined;
  // An unencoded plus in a query string reads as a space.
  const zone = offset.toUpperCase().replace(' ', '+');
  // Truncated, not rounded: a message of the same millisecond is not newer.
  const millis = fraction.slice(0, 3).padEnd(3, '0');
  return Math.max(0, Date.parse(`${date}T${hours}:${minutes}:${seconds}.${millis}${zone}`));
}

/**
 * The cursor of an account that stands for all its messages up to a place in their order.
 * @param order of the last of them; 0 when there is none
 */
export function accountCursorAt(accountId: string, order: number): string {
  const place = order.toString(36);
  const binding = hash('sha256', `account cursor ${accountId} ${place}`, 'base64url');
  return `acur_${place}_${binding.slice(0, BINDING_LETTERS)}`;
}

/** Undefined for anything but a cursor of this account. */
function orderOfCursor(accountId: string, cursor: string): number | undefined {
  const order = Number.parseInt(ACCOUNT_CURSOR.exec(cursor)?.[1] ?? '', 36);
  return Number.isSafeInteger(order) && accountCursorAt(accountId, order) === cursor ? order : undefined;
}

/**
 * Reads `before` of an account's list.
 * @returns the place in the account's order that the cursor names
 * @throws AppError `invalid_request` for anything but a cursor of this account
 */
export function placeOfAccountBefore(accountId: string, before: string): number {
  const order = orderOfCursor(accountId, before);
  if (order !== undefined) return order;
  const message = `"before" must be the "before" of an earlier response of GET /v1/messages (acur_…), not ${quoted(before)}.`;
  throw new AppError('invalid_request', message, { errors: [{ path: 'before', message }] });
}

/**
 * Reads a `since` that is a time.
 * @param expected what it may be, for the error
 * @returns epoch milliseconds
 * @throws AppError `invalid_since`
 */
export function timeOf(since: string, expected = EXPECTED_TIME): number {
  const time = /^\d{1,15}$/.test(since) ? timeOfMillis(since, expected) : timeOfRfc3339(since);
  if (time === undefined) throw invalidSince(since, expected);
  return time;
}

/**
 * Reads `since` of an account's stream or list.
 * @returns a place in the account's order, or a time in epoch milliseconds
 * @throws AppError `invalid_since` for anything but a cursor of this account, an RFC 3339 time or
 *   milliseconds since 1970
 */
export function placeOfAccountSince(accountId: string, since: string): { order: number } | { time: number } {
  if (since.startsWith('acur_')) {
    const order = orderOfCursor(accountId, since);
    if (order !== undefined) return { order };
    throw new AppError(
      'invalid_since',
      `${quoted(since)} in "since" is not a cursor of this account. Use the "cursor" of a response of GET /v1/messages, or the "id" of an event of GET /v1/events.`,
    );
  }
  return { time: timeOf(since, EXPECTED_OF_ACCOUNT) };
}

/**
 * Reads `since`.
 * @returns epoch milliseconds; messages with a later `receivedAt` are newer
 * @throws AppError `invalid_since` for anything but a cursor of this inbox, a message id, an RFC 3339
 *   time or milliseconds since 1970
 */
export function timeOfSince(inboxId: string, since: string): number {
  if (since.startsWith('cur_')) return timeOfCursor(inboxId, since);
  return timeOfId('msg', since) ?? timeOf(since, EXPECTED);
}
