import type * as api from './generated/api.ts';
import { isIn, type LinkMatch, type Message } from './message.ts';

/** Conditions of a message; all must be met. A string must be contained in the field, and case is ignored. */
export interface Match {
  from?: string | RegExp;
  to?: string | RegExp;
  rcptTo?: string;
  subject?: string | RegExp;
  text?: string | RegExp;
  hasAttachments?: boolean;
  code?: boolean;
  link?: boolean | LinkMatch;
  /** Any other condition; it is applied here, to messages that meet the others. */
  where?: (message: Message) => boolean;
}

/** A match, split into what the server checks and what is left. */
export interface SplitMatch {
  onServer: Record<string, unknown>;
  /** Conditions that a message failed, as the server tells them. Undefined when the server checks all. */
  failures: ((message: Message) => api.FailedCondition[]) | undefined;
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

/** Plain conditions go to the server; regular expressions and functions stay here. */
export function splitMatch(match: Match): SplitMatch {
  const onServer: Record<string, unknown> = {};
  const checks: Array<[string, Check]> = [];
  for (const [name, value] of Object.entries(match)) {
    if (name === 'where') {
      checks.push([name, (message) => (value(message) ? undefined : { expected: 'where', got: 'false' })]);
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
  return { onServer, failures: checks.length > 0 ? failures : undefined };
}

/** A match in words, such as `with subject "reset" and a code`. */
export function describe(match: Match): string {
  const words = Object.entries(match).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === 'boolean') {
      const noun = name === 'hasAttachments' ? 'attachment' : name;
      return [`${value ? 'a' : 'no'} ${noun}`];
    }
    if (name === 'where') return ['the given "where"'];
    const isLink = name === 'link' && Object.keys(value).length > 0;
    const parts = isLink ? Object.entries(value) : [['', value]];
    return parts.map(
      ([part, wanted]) =>
        `${name}${part && ` ${part}`} ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`,
    );
  });
  return words.length > 0 ? ` with ${words.join(' and ')}` : '';
}
