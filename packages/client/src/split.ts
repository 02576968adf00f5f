/** Conditions that the server does not know. Loaded by the first wait that has one, or that fails. */
import { MayflyError } from './errors.ts';
import type * as api from './generated/api.ts';
import type { Match } from './match.ts';
import { isIn, type LinkMatch, type Message } from './message.ts';

/** A match, split into what the server checks and what is left. */
interface SplitMatch {
  onServer: Record<string, unknown>;
  /** Conditions that a message failed, as the server tells them. */
  failures: (message: Message) => api.FailedCondition[];
}

const people = (list: api.MailAddress[]) =>
  list.map(({ name, address }) => `${name} <${address}>`).join(', ');

/** The text of the field that a regular expression is tried on. */
const fieldOf = (message: Message, name: string): string => {
  if (name === 'subject') return message.subject;
  if (name === 'from') return people(message.from ? [message.from] : []);
  if (name === 'to') return people([...message.to, ...message.cc]);
  return message.text ?? message.htmlText ?? '';
};

type Check = (message: Message) => Omit<api.FailedCondition, 'condition'> | undefined;

function linkCheck(link: LinkMatch): Check {
  return (message) =>
    message.linksLike(link).length > 0
      ? undefined
      : {
          expected: String(link.href ?? link.text),
          got: message.links.map(({ href }) => href).join(' ') || 'no link',
        };
}

/** @throws MayflyError `invalid_option` by the check, for a function that returns a promise: it would always be met */
function whereCheck(where: (message: Message) => unknown): Check {
  return (message) => {
    const met = where(message);
    if (typeof (met as PromiseLike<unknown> | undefined)?.then === 'function')
      throw new MayflyError(
        'invalid_option',
        'The function "where" returned a promise. It must return true or false at once.',
      );
    return met ? undefined : { expected: 'where', got: 'false' };
  };
}

/** Plain conditions go to the server; regular expressions and functions stay here. */
export function split(match: Match): SplitMatch {
  const onServer: Record<string, unknown> = {};
  const checks: Array<[string, Check]> = [];
  for (const [name, value] of Object.entries(match)) {
    if (name === 'where') {
      checks.push([name, whereCheck(value)]);
    } else if (name === 'pattern') {
      const got = `no code like ${value}`;
      checks.push([
        'code',
        (message) => (message.find(value) === undefined ? { expected: String(value), got } : undefined),
      ]);
    } else if (value instanceof RegExp) {
      checks.push([
        name,
        (message) => {
          const got = fieldOf(message, name);
          return isIn(got, value) ? undefined : { expected: String(value), got };
        },
      ]);
    } else if (name === 'link' && (value?.href instanceof RegExp || value?.text instanceof RegExp)) {
      onServer[name] = true;
      checks.push([name, linkCheck(value)]);
    } else if (value !== undefined) onServer[name] = value;
  }
  const failures = (message: Message) =>
    checks.flatMap(([condition, check]) => {
      const failed = check(message);
      return failed ? [{ condition, ...failed } as api.FailedCondition] : [];
    });
  return { onServer, failures };
}
