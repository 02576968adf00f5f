import { invalid } from './errors.ts';
import type * as api from './generated/api.ts';
import { find, isIn, type LinkMatch, type Message } from './message.ts';

/** Conditions of a message; all must be met. A string must be contained in the field, ignoring case. */
export interface Match {
  from?: string | RegExp;
  to?: string | RegExp;
  rcptTo?: string;
  subject?: string | RegExp;
  text?: string | RegExp;
  hasAttachments?: boolean;
  code?: boolean;
  link?: boolean | LinkMatch;
  /** Extracts a code of a custom format: its first group. */
  pattern?: RegExp;
  /** Any other condition, applied by the client to messages that meet the others. */
  where?: (message: Message) => boolean;
}

/**
 * A match, split into conditions for the server and those that only the client can check: regular expressions
 * and functions.
 */
export interface SplitMatch {
  onServer: Record<string, unknown>;
  /** Whether the client must check conditions. */
  isLocal: boolean;
  /** The conditions that a message failed, in the format of the server. */
  failures: (message: Message) => api.FailedCondition[];
}

/** Returns the value that violates the condition; undefined if the message meets it. */
type Check = (message: Message) => string | undefined;

const people = (list: api.MailAddress[]) =>
  list.map(({ name, address }) => `${name} <${address}>`).join(', ');

/** The text of a field, to compare with a string or regular expression. */
const fieldOf = (message: Message, name: string): string => {
  if (name === 'subject') return message.subject;
  if (name === 'from') return people(message.from ? [message.from] : []);
  if (name === 'to') return people([...message.to, ...message.cc]);
  if (name === 'rcptTo') return message.envelope.rcptTo.join(', ');
  return message.text ?? message.htmlText ?? '';
};

/** @throws MayflyError for a function that returns a promise, which would always be truthy */
function isMet(where: (message: Message) => unknown, message: Message): boolean {
  const met = where(message);
  if (typeof (met as PromiseLike<unknown> | undefined)?.then === 'function')
    throw invalid('The function "where" returned a promise. It must return true or false at once.');
  return Boolean(met);
}

function checkOf(name: string, value: unknown): Check {
  const unless = (isMet: boolean, got: string) => (isMet ? undefined : got);
  if (name === 'where') return (message) => unless(isMet(value as () => unknown, message), 'false');
  if (name === 'pattern')
    return (message) => unless(find(message, value as RegExp) !== undefined, `no code like ${value}`);
  if (name === 'code') return ({ codes }) => unless(codes.length > 0 === value, codes[0]?.value ?? 'no code');
  if (name === 'hasAttachments')
    return ({ hasAttachments }) => unless(hasAttachments === value, String(hasAttachments));
  if (name === 'link')
    return (message) => {
      const wanted = typeof value === 'object' ? (value as LinkMatch) : {};
      const hrefs = message.links.map(({ href }) => href).join(' ') || 'no link';
      return unless(message.linksLike(wanted).length > 0 === (value !== false), hrefs);
    };
  return (message) => {
    const got = fieldOf(message, name);
    return unless(isIn(got, value as string | RegExp), got);
  };
}

/** Whether a condition contains a regular expression or a function, which the server cannot check. */
const isLocal = (value: unknown): boolean =>
  typeof value === 'function' ||
  value instanceof RegExp ||
  (typeof value === 'object' && value !== null && Object.values(value).some(isLocal));

const given = (match: Match) => Object.entries(match).filter(([, value]) => value !== undefined);

/**
 * Whether a message meets all conditions. Stricter than the server, which treats all kinds of spaces and
 * quotation marks alike.
 */
export const meets = (message: Message, match: Match): boolean =>
  given(match).every(([name, value]) => checkOf(name, value)(message) === undefined);

export function split(match: Match): SplitMatch {
  const onServer: Record<string, unknown> = {};
  const checks: Array<[name: string, wanted: unknown, check: Check]> = [];
  for (const [name, value] of given(match)) {
    if (isLocal(value)) checks.push([name, value, checkOf(name, value)]);
    if (!isLocal(value)) onServer[name] = value;
    // The server can at least skip mails without links.
    else if (name === 'link' && !(value instanceof RegExp)) onServer[name] = true;
  }
  const failures = (message: Message) =>
    checks.flatMap(([name, wanted, check]) => {
      const got = check(message);
      if (got === undefined) return [];
      const condition = name === 'pattern' ? 'code' : name;
      return [{ condition, expected: String(wanted), got } as api.FailedCondition];
    });
  return { onServer, isLocal: checks.length > 0, failures };
}

/** Options of a wait, which are not conditions. */
const OPTIONS = ['timeout', 'since', 'signal', 'within'];

/** The conditions of a match or a wait in words, such as ` with subject "reset" and a code`. */
export function describeMatch(match: object): string {
  const words = Object.entries(match).flatMap(([name, value]) => {
    if (value === undefined || OPTIONS.includes(name)) return [];
    if (typeof value === 'boolean')
      return [`${value ? 'a' : 'no'} ${name === 'hasAttachments' ? 'attachment' : name}`];
    if (name === 'where') return ['the given "where"'];
    if (name === 'pattern') return [`a code like ${value}`];
    const isLink = name === 'link' && !(value instanceof RegExp) && typeof value === 'object';
    const parts = isLink ? Object.entries(value).filter(([, wanted]) => wanted !== undefined) : [['', value]];
    if (parts.length === 0) return ['a link'];
    return parts.map(
      ([part, wanted]) =>
        `${name}${part && ` ${part}`} ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`,
    );
  });
  return words.length > 0 ? ` with ${words.join(' and ')}` : '';
}
