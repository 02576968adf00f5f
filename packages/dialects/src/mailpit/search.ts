import type { api } from '@mayfly/client';
import { phrase } from '../api.ts';
import type { Details } from '../mailbox.ts';

/** A search in Mailpit's language, split into a query for Mayfly's API and a test of its results. */
export interface Search {
  /** A query for Mayfly's API that finds at least all matching messages. */
  q: string;
  /** Whether a message found by `q` really matches. */
  matches(message: api.MessageSummary, details: () => Promise<Details>): Promise<boolean>;
}

type Truth = boolean | undefined;
type Test = (message: api.MessageSummary, details: () => Promise<Details>) => Truth | Promise<Truth>;

interface Term {
  /** Undefined if only the test decides. */
  q?: string;
  /** Undefined if `q` is exact, also when negated. */
  test?: Test;
}

/** A term: characters other than white space; quotes may enclose white space. */
const TERM = /(?:"[^"]*"?|[^\s"])+/g;
const SIZE = /^(\d+(?:\.\d+)?)\s?(k|kb|m|mb)?$/i;
/** A date with an optional time, without a time zone. */
const LOCAL = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;

const isIn =
  (value: string) =>
  ({ address, name }: api.MailAddress): boolean =>
    `${name} <${address}>`.toLowerCase().includes(value.toLowerCase());

function bytesOf(value: string): number | undefined {
  const [, number, unit = ''] = SIZE.exec(value) ?? [];
  if (number === undefined) return undefined;
  return Number(number) * 1024 ** ['', 'k', 'm'].indexOf(unit.slice(0, 1).toLowerCase());
}

/** @returns epoch milliseconds; undefined for an invalid date @param timeZone IANA name; unknown ones count as UTC */
export function timeOf(value: string, timeZone: string): number | undefined {
  const parts = LOCAL.exec(value);
  if (!parts) return Number.isNaN(Date.parse(value)) ? undefined : Date.parse(value);
  const [year = 0, month = 1, ...rest] = parts.slice(1).map((part) => Number(part ?? 0));
  const utc = Date.UTC(year, month - 1, ...rest);
  return utc - offsetAt(utc, timeZone);
}

/** Offset of a time zone from UTC, milliseconds. */
function offsetAt(time: number, timeZone: string): number {
  try {
    const clock = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    return Date.parse(`${clock.format(time).replace(' ', 'T')}Z`) - time;
  } catch {
    return 0;
  }
}

/** Tags are compared ignoring case. */
export const isTag = (one: string) => (other: string) => one.toLowerCase() === other.toLowerCase();

const flag = (q: string): Term => ({ q });
const test = (run: Test): Term => ({ test: run });
const STATES: Readonly<Record<string, Term>> = {
  'is:read': flag('is:read'),
  'is:unread': flag('is:unread'),
  'is:tagged': test(({ tags }) => tags.length > 0),
  'has:attachment': flag('has:attachment'),
  'has:inline': test(({ inlineCount }) => inlineCount > 0),
};

/** Search terms with a value; undefined for an invalid value. */
const FIELDS: Readonly<Record<string, (value: string, timeZone: string) => Term | undefined>> = {
  from: (value) => ({ q: `from:${phrase(value)}` }),
  subject: (value) => ({ q: `subject:${phrase(value)}` }),
  'message-id': (value) => ({ q: `message-id:${phrase(value)}` }),
  // Mayfly's "to:" also matches Cc and envelope recipients.
  to: (value) => ({ q: `to:${phrase(value)}`, test: ({ to }) => to.some(isIn(value)) }),
  cc: (value) => ({ q: `cc:${phrase(value)}`, test: ({ cc }) => cc.some(isIn(value)) }),
  bcc: (value) => test(async (_, details) => (await details()).bcc.some(isIn(value))),
  'reply-to': (value) => test(async (_, details) => (await details()).replyTo.some(isIn(value))),
  addressed: (value) =>
    test(async ({ from, to, cc }, details) => {
      const { bcc, replyTo } = await details();
      return [from, ...to, ...cc, ...bcc, ...replyTo].some((one) => one && isIn(value)(one));
    }),
  tag: (value) => ({ q: `tag:${phrase(value)}`, test: ({ tags }) => tags.some(isTag(value)) }),
  // A value that is not a size is searched as text.
  larger: (value) =>
    compare(bytesOf(value), ({ size }, bytes) => size > bytes) ?? flag(phrase(`larger:${value}`)),
  smaller: (value) =>
    compare(bytesOf(value), ({ size }, bytes) => size < bytes) ?? flag(phrase(`smaller:${value}`)),
  after: (value, zone) => compare(timeOf(value, zone), (message, time) => createdAt(message) >= time),
  before: (value, zone) => compare(timeOf(value, zone), (message, time) => createdAt(message) <= time),
};

const createdAt = ({ receivedAt }: api.MessageSummary): number => Date.parse(receivedAt);

const compare = (
  bound: number | undefined,
  is: (message: api.MessageSummary, bound: number) => boolean,
): Term | undefined => (bound === undefined ? undefined : test((message) => is(message, bound)));

function termOf(term: string, timeZone: string): Term | undefined {
  const plain = term.replaceAll('"', '');
  const state = STATES[plain.toLowerCase().replace(/(?<=^has:.*)s$/, '')];
  if (state) return state;
  const [, name = '', value = ''] = /^([a-z-]+):(.*)$/is.exec(plain) ?? [];
  const field = FIELDS[name.toLowerCase()];
  if (field) return value === '' ? undefined : field(value, timeZone);
  return plain.trim() === '' ? undefined : { q: phrase(plain) };
}

/**
 * Parses a search as Mailpit does: all terms must match, `-` and `!` negate, and invalid terms are ignored.
 * @param timeZone IANA name, for dates without a time zone
 */
export function readSearch(query: string, timeZone: string): Search {
  const words: string[] = [];
  const tests: Test[] = [];
  for (const [given] of query.matchAll(TERM)) {
    const isNegated = /^[-!]./.test(given);
    const term = termOf(isNegated ? given.slice(1) : given, timeZone);
    if (!term) continue;
    const { q, test: isMet } = term;
    if (q !== undefined && !isNegated) words.push(q);
    if (q !== undefined && isNegated && !isMet) words.push(`-${q}`);
    if (isMet) tests.push(async (...args) => ((await isMet(...args)) ?? false) !== isNegated);
  }
  return {
    q: words.join(' '),
    async matches(message, details) {
      for (const isMet of tests) if (!(await isMet(message, details))) return false;
      return true;
    },
  };
}
