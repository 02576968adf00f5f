import {
  AccountMessageList,
  AccountMessageQuery,
  DEFAULT_LIMIT,
  InboxParams,
  MAX_SEARCH_TERMS,
  MessageList,
  MessageQuery,
} from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import type { AppError } from '../errors.ts';
import { callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { ConditionalHeaders, ETAG, json, NOT_MODIFIED } from '../http/openapi/responses.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { contentTag, sendJson } from '../http/response/etag.ts';
import { routesOf } from '../http/route.ts';
import { type Condition, conditionsOf, type TextField } from '../mail/matching/conditions.ts';
import { didYouMean, quoted } from '../text/nearest.ts';
import { timeOfRfc3339 } from './cursor.ts';
import { type ListQuery, listAccountMessages, listMessages, pageJson } from './list.ts';

const NEVER = new AbortController().signal;

export function listRoutes(app: App, { deps, held, heldDeps, responses }: RouteContext): void {
  const route = routesOf(app, 'Messages');
  route('GET /v1/inboxes/:id/messages', {
    access: 'inbox:read',
    operationId: 'listMessages',
    summary: 'List messages, or wait for one',
    description:
      '**Newest first**; an explained wait (`POST …/wait`) returns the oldest matching messages first. Pass `cursor` as `since` in the next request to get every message exactly once; if there are more than `limit`, `hasMore` is true and `before` returns the rest. With `wait` the response is held until a message matches; two identical requests return the same message again unless the second passes the `cursor` of the first as `since`. Responses to requests without `wait` carry an `ETag`.',
    params: InboxParams,
    querystring: MessageQuery,
    headers: ConditionalHeaders,
    response: { 200: json(MessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const query = listQuery(request.query);
      const list = async (signal: AbortSignal) => {
        const page = await listMessages(heldDeps, inbox, query, signal);
        return { isEmpty: page.messages.length === 0, body: pageJson(page) };
      };
      if (query.waitMs > 0) {
        const { isEmpty, body } = await held.hold(reply, list);
        deps.waitLog.addHeld(inbox, 'list', !isEmpty);
        return sendJson(reply, body, null);
      }
      const { body, tag } = await responses.json(inbox, request.url, async () => {
        const isSearch = query.conditions.length > 0;
        const { body: json } = await (isSearch ? held.hold(reply, list) : list(NEVER));
        return { json };
      });
      return sendJson(reply, body, tag);
    },
  });

  route('GET /v1/messages', {
    access: 'account:read',
    operationId: 'listAccountMessages',
    summary: 'List and search the messages of all inboxes',
    description:
      'The messages of all live inboxes of the account, in the order in which they were stored, **newest first**. `q` searches; `q` and the filters can be combined, and all conditions must be met. Follow `cursor` with `since` and you see every message exactly once. With `wait` the response is held until a message matches.\n\nA search goes on until it has a page or has looked at all messages. Only when that takes more than a second does it end before, and then `searchedTo` is there. Responses to requests without `wait` carry an `ETag`.',
    querystring: AccountMessageQuery,
    headers: ConditionalHeaders,
    response: { 200: json(AccountMessageList, 'A page of messages.', ETAG), 304: NOT_MODIFIED },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const query = listQuery(request.query);
      const list = (signal: AbortSignal) => listAccountMessages(heldDeps, account.id, query, signal);
      const isHeld = query.waitMs > 0 || query.conditions.length > 0;
      const body = pageJson(await (isHeld ? held.hold(reply, list) : list(NEVER)));
      return sendJson(reply, body, query.waitMs > 0 ? null : contentTag(body));
    },
  });
}

// The language of `q`: words, "phrases", and operators such as `from:ada`; `-` negates. Other names before a
// colon are rejected unless white space or a slash follows, as in `Re: x` and `https://…`.

const TEXT_FIELDS: Readonly<Record<string, TextField>> = {
  ...{ from: 'from', to: 'to', cc: 'cc', subject: 'subject', text: 'text' },
  ...{ code: 'code', 'message-id': 'messageId', tag: 'tag' },
};
const STATES: Readonly<Record<string, Readonly<Record<string, Condition>>>> = {
  is: { read: { field: 'read' }, unread: { field: 'read', not: true } },
  has: { attachment: { field: 'attachments' }, attachments: { field: 'attachments' } },
};
const VALUES = ['larger', 'smaller', 'before', 'after'] as const;
const OPERATORS: readonly string[] = [...Object.keys(TEXT_FIELDS), ...Object.keys(STATES), ...VALUES];

const TERM = new RegExp(
  String.raw`\s*(-(?=\S))?(?:(${OPERATORS.join('|')}|[a-z]+(?:-[a-z]+)*(?=:[^\s/\\])):)?(?:"((?:[^"\\]|\\.)*)"|(\S*))`,
  'gisy',
);

const SIZE = /^(\d{1,9}(?:\.\d{1,9})?)(?:([kmg])i?)?b?$/i;
const KIB = 1024;
const UNITS: Readonly<Record<string, number>> = { k: KIB, m: KIB ** 2, g: KIB ** 3 };

const invalidQuery = (message: string): AppError => invalidField('q', message);

function listQuery(query: AccountMessageQuery | MessageQuery): ListQuery {
  const { q, wait = 0, limit = DEFAULT_LIMIT, since, before, ...filters } = query;
  const conditions = [...conditionsOf(filters), ...(q === undefined ? [] : parseQuery(q))];
  return { since, before, limit, conditions, waitMs: wait * SECOND_MS };
}

function parseQuery(q: string): Condition[] {
  const conditions: Condition[] = [];
  for (const term of q.trim().matchAll(TERM)) {
    const [all, minus, operator, phrase, word = ''] = term;
    if (all === '') break;
    if (word.startsWith('"')) {
      const rest = quoted(term.input.slice(term.index + all.length - word.length));
      throw invalidQuery(
        `The phrase ${rest} in "q" has no closing quote. Add one; inside a phrase write \\".`,
      );
    }
    const value = phrase === undefined ? word : phrase.replaceAll(/\\(["\\])/g, '$1').trim();
    const condition = operator ? conditionOf(operator.toLowerCase(), value) : anywhere(value);
    conditions.push(minus ? { ...condition, not: condition.not !== true } : condition);
  }
  if (conditions.length > 0 && conditions.length <= MAX_SEARCH_TERMS) return conditions;
  throw invalidQuery(`"q" must contain 1 to ${MAX_SEARCH_TERMS} terms, not ${quoted(q)}.`);
}

function anywhere(text: string): Condition {
  if (text !== '') return { field: 'any', text };
  throw invalidQuery('The quotes "" in "q" contain nothing. Write words between them, or remove them.');
}

function conditionOf(operator: string, value: string): Condition {
  const shown = quoted(`${operator}:`);
  if (!OPERATORS.includes(operator)) throw unknownOperator(operator, value);
  if (value === '') {
    throw invalidQuery(
      `${shown} in "q" needs a value right after the colon, such as ${exampleOf(operator)}. To search for ${shown} itself, put it in quotes.`,
    );
  }
  const field = TEXT_FIELDS[operator];
  if (field !== undefined) return { field, text: field === 'messageId' ? withoutBrackets(value) : value };
  const states = STATES[operator];
  if (states) return stateOf(operator, value, states);
  const number = operator === 'before' || operator === 'after' ? timeOf(value) : sizeOf(value);
  if (number === undefined)
    throw invalidQuery(
      `${quoted(value)} is no value of ${shown} in "q". Write one such as ${exampleOf(operator)}.`,
    );
  return { field: operator as (typeof VALUES)[number], value: number };
}

function stateOf(operator: string, value: string, states: Readonly<Record<string, Condition>>): Condition {
  const state = Object.hasOwn(states, value.toLowerCase()) ? states[value.toLowerCase()] : undefined;
  if (state) return state;
  const known = Object.keys(states).map((name) => `"${operator}:${name}"`);
  throw invalidQuery(`${quoted(value)} is no value of "${operator}:" in "q". Write ${known.join(' or ')}.`);
}

function unknownOperator(operator: string, value: string): AppError {
  const names = OPERATORS.map((name) => `${name}:`);
  const hint = didYouMean(`${operator}:`, names) || ` The operators are ${names.join(', ')}.`;
  const literal = quoted(`${operator}:${value}`);
  return invalidQuery(
    `${quoted(`${operator}:`)} in "q" is no search operator.${hint} To search for ${literal} itself, put it in quotes.`,
  );
}

const exampleOf = (operator: string): string => `${operator}:${EXAMPLES[operator] ?? 'ada'}`;
const EXAMPLES: Readonly<Record<string, string>> = {
  ...{ is: 'unread', has: 'attachment', larger: '10k', smaller: '1.5m', code: '482913', tag: 'reviewed' },
  ...{ before: '2026-03-04', after: '2026-03-04T05:06:07Z', 'message-id': 'abc@mail.example' },
};

const withoutBrackets = (id: string): string => id.replace(/^<|>$/g, '');

function sizeOf(value: string): number | undefined {
  const [, number, unit = ''] = SIZE.exec(value) ?? [];
  return number === undefined ? undefined : Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? 1));
}

const timeOf = (value: string): number | undefined =>
  timeOfRfc3339(/^[\d-]+$/.test(value) ? `${value}T00:00:00Z` : value);
