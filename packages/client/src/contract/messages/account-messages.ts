import { type Static, Type } from 'typebox';
import { closed, Limit, unit } from '../common.ts';
import { nullable, ref } from '../ref.ts';
import { MAX_SINCE, MAX_WAIT, MessageSummary, messageFilters, SearchedTo, SearchQuery } from './messages.ts';

const CURSOR_EXAMPLE = 'acur_2s_3vZxk1b0Qd8';

export const AccountMessageList = Type.Object(
  {
    messages: Type.Array(ref(MessageSummary), { description: 'Newest first.' }),
    cursor: Type.String({
      description:
        "Stands for the newest message that this response knows of, also when the list is empty. Pass it as `since` to get every later message exactly once, or as `Last-Event-ID` to continue with the account's stream. While you page down with `before`, keep the cursor of the first page.",
      examples: [CURSOR_EXAMPLE],
    }),
    hasMore: Type.Boolean({
      description:
        'True when older messages match too, or when the search has not looked at all of them yet: repeat the request with `before` set to the `before` of this response. A page of a search can be empty and still have more.',
    }),
    before: nullable(Type.String({ examples: ['acur_1k_3vZxk1b0Qd8'] }), {
      description: 'Where to continue, to be passed as `before`; null when there is nothing more.',
    }),
    searchedTo: SearchedTo('the `before` of this response as `before`'),
  },
  { $id: 'AccountMessageList', description: 'A page of messages of all inboxes of the account.' },
);
export type AccountMessageList = Static<typeof AccountMessageList>;

/** Query of `GET /v1/messages`. */
export const AccountMessageQuery = Type.Object(
  {
    q: SearchQuery,
    since: Type.Optional(
      Type.String({
        description:
          "Only messages newer than this: the `cursor` of an earlier response, the `id` of an event of the account's stream, an RFC 3339 time, or milliseconds since 1970. A time selects from the first message on that was stored after it.",
        maxLength: MAX_SINCE,
        examples: [CURSOR_EXAMPLE],
      }),
    ),
    before: Type.Optional(
      Type.String({
        description: 'The `before` of an earlier response: only messages older than that page.',
        maxLength: MAX_SINCE,
        examples: ['acur_1k_3vZxk1b0Qd8'],
      }),
    ),
    limit: Type.Optional(Limit),
    wait: Type.Optional(
      Type.Integer({
        ...unit('seconds'),
        description:
          'Seconds for which the response is held while no message matches. After that the list is empty, and `cursor` is still valid.',
        minimum: 0,
        maximum: MAX_WAIT,
        default: 0,
      }),
    ),
    ...messageFilters,
  },
  closed,
);
export type AccountMessageQuery = Static<typeof AccountMessageQuery>;
