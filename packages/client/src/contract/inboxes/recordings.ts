import { type Static, Type } from 'typebox';
import { closed, Timestamp, unit } from '../common.ts';
import { Envelope } from '../messages/messages.ts';
import { nullable, ref } from '../ref.ts';
import { Domain } from './addresses.ts';
import { CreatedInbox, Labels } from './inboxes.ts';

/** At a thousand times the recorded speed, an hour takes 3.6 s; without `speed` there is no delay at all. */
const MAX_SPEED = 1000;
/** Version of the format of a recording's `inbox.json`. */
export const RECORDING_VERSION = 1;

/** One message of a {@link Recording}. */
export const RecordedMessage = Type.Object(
  {
    file: Type.String({
      description: 'Name of the raw source in the archive.',
      examples: ['messages/00001.eml'],
    }),
    receivedAt: Timestamp('When the message arrived.'),
    size: Type.Integer({ description: 'Size of the raw source in bytes.' }),
    envelope: ref(Envelope),
  },
  { description: 'A message of a recorded inbox.' },
);
export type RecordedMessage = Static<typeof RecordedMessage>;

/** `inbox.json` in the archive of a recorded inbox. It has no `$id`, because no response of the API has it. */
export const Recording = Type.Object(
  {
    format: Type.Literal('mayfly-recording'),
    version: Type.Literal(RECORDING_VERSION),
    inbox: Type.Object({
      address: Type.String({ description: 'The address of the recorded inbox.' }),
      labels: ref(Labels),
      createdAt: Timestamp('When the inbox was created.'),
    }),
    messages: Type.Array(RecordedMessage, { description: 'In the order in which they arrived.' }),
  },
  { description: '`inbox.json` in the archive of a recorded inbox.' },
);
export type Recording = Static<typeof Recording>;

/** Query of `POST /v1/inboxes/import`. */
export const ImportQuery = Type.Object(
  {
    speed: Type.Optional(
      Type.Integer({
        ...unit('times the recorded speed'),
        description:
          'Deliver the messages in the recorded rhythm, this many times faster: 1 is the recorded rhythm, 10 a tenth of each gap. The response comes before the messages. Default: all at once, before the response.',
        minimum: 1,
        maximum: MAX_SPEED,
        examples: [10],
      }),
    ),
    ttlMinutes: Type.Optional(
      Type.Integer({
        ...unit('minutes'),
        description: 'Lifetime in minutes, from 1 to the maximum of your plan. Default: 60.',
        examples: [60],
      }),
    ),
    domain: Type.Optional(Domain),
    localPart: Type.Optional(
      Type.String({
        description: 'The part before the @. Default: a random one.',
        examples: ['signup-replay'],
      }),
    ),
  },
  closed,
);
export type ImportQuery = Static<typeof ImportQuery>;

/** The response of an import. */
export const ImportedInbox = Type.Object(
  {
    ...CreatedInbox.properties,
    recordedMessages: Type.Integer({ description: 'Number of messages in the recording.', examples: [3] }),
    replayEndsAt: nullable(Timestamp('When the last message is delivered.'), {
      description:
        'When the last message will be delivered, with `speed`; null without, since all messages are in the inbox then.',
    }),
  },
  { $id: 'ImportedInbox', description: 'A new inbox with the messages of a recording.' },
);
export type ImportedInbox = Static<typeof ImportedInbox>;
