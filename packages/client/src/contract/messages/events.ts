import { type Static, Type } from 'typebox';
import { closed, InboxId } from '../common.ts';
import { ref } from '../ref.ts';
import { MAX_SINCE, MessageSummary } from './messages.ts';

/** The only kind of event. */
export const MESSAGE_RECEIVED = 'message.received';

/** The data of an event of a stream, as JSON. */
export const StreamedMessage = Type.Object(
  { inboxId: InboxId, message: ref(MessageSummary) },
  { $id: 'StreamedMessage', description: 'The data of an event: a new message.' },
);
export type StreamedMessage = Static<typeof StreamedMessage>;

const since = (description: string, example: string) =>
  Type.Optional(Type.String({ description, maxLength: MAX_SINCE, examples: [example] }));

/** Query of `GET /v1/inboxes/{id}/events`. */
export const InboxEventsQuery = Type.Object(
  {
    since: since(
      'Start after this position: a `cursor` of this inbox, a message id, an RFC 3339 time, or milliseconds since 1970. Default: start with the oldest message of the inbox. `Last-Event-ID` takes precedence.',
      'cur_mmbq2x6a_3vZxk1b0Qd8',
    ),
  },
  closed,
);
export type InboxEventsQuery = Static<typeof InboxEventsQuery>;

/** Query of `GET /v1/events`. */
export const AccountEventsQuery = Type.Object(
  {
    since: since(
      'Start after this position: the `id` of an event of this stream, an RFC 3339 time, or milliseconds since 1970; a time in the future starts now. Default: start with the oldest message of the account. `Last-Event-ID` takes precedence.',
      'acur_2s_3vZxk1b0Qd8',
    ),
  },
  closed,
);
export type AccountEventsQuery = Static<typeof AccountEventsQuery>;

/** Headers of a request that resumes a stream. */
export const EventsHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description: 'The `id` of the last event that was received: the stream continues after it.',
      maxLength: MAX_SINCE,
    }),
  ),
});
