import { type Static, Type } from 'typebox';
import { closed, HasMore, Limit, MessageId, Timestamp, unit, WebhookUrl } from './common.ts';
import { PROVIDER_NAMES, ProviderName } from './providers.ts';
import { nullable, ref } from './ref.ts';

export const OUTCOMES = ['bounce', 'soft-bounce', 'complaint', 'delay', 'unsubscribe'] as const;
/** Rules of one inbox: more than a test needs. */
const MAX_OUTCOME_RULES = 20;
/** Applications of one rule. */
const MAX_OUTCOME_TIMES = 1_000;
/** A year: longer than any schedule of a tested application. */
const MAX_ADVANCE_MINUTES = 366 * 24 * 60;
/** Longest text of a reply, characters. */
const MAX_REPLY = 100_000;
/** Attachments of one reply. */
const MAX_REPLY_ATTACHMENTS = 20;
const MAX_FILENAME = 200;

const OutcomeName = Type.Enum([...OUTCOMES], {
  description:
    'What becomes of the message after it was accepted: it bounces for good, bounces for now, is reported as spam, is delayed, or its recipient unsubscribes.',
});

export const OutcomeRule = Type.Object(
  {
    outcome: OutcomeName,
    times: Type.Optional(
      Type.Integer({
        ...unit('times'),
        description: 'How many messages get it before the next rule applies. Default: 1.',
        minimum: 1,
        maximum: MAX_OUTCOME_TIMES,
      }),
    ),
  },
  { ...closed, $id: 'OutcomeRule', description: 'What becomes of the next messages.' },
);
export type OutcomeRule = Static<typeof OutcomeRule>;

/** Body of `PUT /v1/inboxes/{id}/outcomes`. */
export const SetOutcomes = Type.Object(
  {
    rules: Type.Array(ref(OutcomeRule), {
      description: 'Applied in this order, each to `times` messages. None: messages have no outcome.',
      maxItems: MAX_OUTCOME_RULES,
    }),
  },
  {
    ...closed,
    $id: 'SetOutcomes',
    description: 'The outcomes of an inbox. They replace the ones before.',
    examples: [{ rules: [{ outcome: 'bounce' }] }, { rules: [{ outcome: 'delay', times: 2 }] }],
  },
);
export type SetOutcomes = Static<typeof SetOutcomes>;

export const OutcomeState = Type.Object(
  {
    outcome: OutcomeName,
    times: Type.Integer({ description: 'How often the rule was to apply.' }),
    left: Type.Integer({ description: 'How often it still applies.' }),
  },
  { $id: 'OutcomeState', description: 'A rule and how often it still applies.' },
);
export type OutcomeState = Static<typeof OutcomeState>;

export const Outcomes = Type.Object(
  {
    rules: Type.Array(ref(OutcomeState), {
      description: 'All rules in their order, also those of which nothing is left.',
    }),
  },
  { $id: 'Outcomes', description: 'The outcomes of an inbox.' },
);
export type Outcomes = Static<typeof Outcomes>;

/** Body of `POST /v1/inboxes/{id}/advance`. */
export const Advance = Type.Object(
  {
    minutes: Type.Integer({
      ...unit('minutes'),
      description: 'How much earlier everything that the inbox waits for comes.',
      minimum: 1,
      maximum: MAX_ADVANCE_MINUTES,
      examples: [4320],
    }),
  },
  { ...closed, $id: 'Advance', description: 'A span of time.', examples: [{ minutes: 4320 }] },
);
export type Advance = Static<typeof Advance>;

export const Advanced = Type.Object(
  {
    released: Type.Integer({ description: 'How many became due: scheduled messages, and attempts to send.' }),
  },
  { $id: 'Advanced', description: 'What an advance released.' },
);
export type Advanced = Static<typeof Advanced>;

const ReplyAttachment = Type.Object(
  {
    filename: Type.String({
      description: 'Its name.',
      minLength: 1,
      maxLength: MAX_FILENAME,
      examples: ['a.txt'],
    }),
    contentType: Type.Optional(Type.String({ description: 'Its media type.', maxLength: 100 })),
    content: Type.String({ description: 'Its bytes in base64.', examples: ['aGVsbG8='] }),
  },
  closed,
);

/** Body of `POST /v1/inboxes/{id}/messages/{messageId}/reply`. */
export const Reply = Type.Object(
  {
    text: Type.String({
      description: 'What the recipient answers, without the quoted message.',
      maxLength: MAX_REPLY,
      examples: ['Thanks, that helped.'],
    }),
    html: Type.Optional(Type.String({ description: 'The same as HTML.', maxLength: MAX_REPLY })),
    all: Type.Optional(
      Type.Boolean({ description: 'True replies to the other recipients (To, Cc), too. Default: false.' }),
    ),
    attachments: Type.Optional(
      Type.Array(ReplyAttachment, { description: 'Files.', maxItems: MAX_REPLY_ATTACHMENTS }),
    ),
    style: Type.Optional(
      Type.Enum(['gmail', 'outlook', 'apple'], {
        description: 'The mail program whose way of quoting the reply has. Default: `gmail`.',
      }),
    ),
    to: Type.Optional(
      Type.Enum(['smtp', ...PROVIDER_NAMES], {
        description:
          'How the reply reaches the application: `smtp`, or in the inbound format of a provider at its `inboundUrl`. Default: that of the provider through which the message came if it has an `inboundUrl`, else `smtp`.',
      }),
    ),
  },
  { ...closed, $id: 'Reply', description: 'A reply.', examples: [{ text: 'Thanks, that helped.' }] },
);
export type Reply = Static<typeof Reply>;

export const SentRecord = Type.Object(
  {
    id: Type.String({ description: 'Its id.', examples: ['out_01kk4m3a8rq2t5v7w9x1y3z5b7'] }),
    type: Type.Enum(['event', 'report', 'reply'], {
      description:
        '`event`: an event of a provider; `report`: a delivery status notification, a feedback report or a request to unsubscribe; `reply`: a reply.',
    }),
    messageId: MessageId,
    outcome: nullable(OutcomeName, { description: 'What it tells; null for a reply.' }),
    via: nullable(ProviderName, { description: 'The provider in whose format it is; null for mail.' }),
    to: Type.Array(Type.String(), {
      description: 'Addresses or the URL that it goes to; none until the first attempt.',
    }),
    subject: Type.String({ description: "Of a reply; '' for others." }),
    text: Type.String({ description: "Of a reply, without the quoted message; '' for others." }),
    rfcMessageId: nullable(Type.String(), { description: 'The Message-ID of a reply; null for others.' }),
    state: Type.Enum(['pending', 'delivered', 'failed', 'cancelled'], {
      description: 'Whether it was taken. `cancelled`: its message was deleted, or there is nothing to send.',
    }),
    attempts: Type.Integer({ description: 'Attempts so far.' }),
    error: nullable(Type.String(), { description: 'Why the last attempt failed, or there is none.' }),
    createdAt: Timestamp('When it was made.'),
    dueAt: nullable(Timestamp('When the next attempt is due.'), {
      description: 'When the next attempt is due; null once it has ended.',
    }),
  },
  { $id: 'SentRecord', description: 'What an inbox sent back.' },
);
export type SentRecord = Static<typeof SentRecord>;

export const SentId = Type.String({
  description: 'Only older ones: the id of the last entry of the page before.',
  examples: ['out_01kk4m3a8rq2t5v7w9x1y3z5b7'],
});

export const SentQuery = Type.Object({ limit: Type.Optional(Limit), before: Type.Optional(SentId) }, closed);
export type SentQuery = Static<typeof SentQuery>;

export const SentList = Type.Object(
  { sent: Type.Array(ref(SentRecord), { description: 'Newest first.' }), hasMore: HasMore },
  { $id: 'SentList', description: 'A page of what an inbox sent.' },
);
export type SentList = Static<typeof SentList>;

export const ThreadEntry = Type.Object(
  {
    kind: Type.Enum(['received', 'sent'], { description: 'A message of the inbox, or a reply from it.' }),
    id: Type.String({ description: 'Id of the message or of the sent record.' }),
    at: Timestamp('When it was received or made.'),
    subject: Type.String({ description: 'Its subject.' }),
  },
  { $id: 'ThreadEntry', description: 'A message of a thread.' },
);
export const Thread = Type.Object(
  {
    subject: Type.String({ description: 'The subject without prefixes such as `Re:`.' }),
    entries: Type.Array(ref(ThreadEntry), { description: 'Oldest first.' }),
  },
  { $id: 'Thread', description: 'Messages and replies that belong together.' },
);
export type Thread = Static<typeof Thread>;
export const ThreadList = Type.Object(
  { threads: Type.Array(ref(Thread), { description: 'The thread with the newest message first.' }) },
  { $id: 'ThreadList', description: 'The threads of an inbox.' },
);
export type ThreadList = Static<typeof ThreadList>;

export const ProviderParams = Type.Object({ name: ProviderName });

/** Body of `PUT /v1/providers/{name}`. */
export const SetProvider = Type.Object(
  { webhookUrl: Type.Optional(WebhookUrl), inboundUrl: Type.Optional(WebhookUrl) },
  {
    ...closed,
    $id: 'SetProvider',
    description: 'Where events and replies go. A URL that is not given is removed.',
    examples: [{ webhookUrl: 'http://127.0.0.1:3000/hooks/mail' }],
  },
);
export type SetProvider = Static<typeof SetProvider>;

export const ProviderSettings = Type.Object(
  {
    name: ProviderName,
    webhookUrl: nullable(Type.String(), { description: 'Where events are posted; null if nowhere.' }),
    inboundUrl: nullable(Type.String(), { description: 'Where replies are posted; null if nowhere.' }),
    verification: Type.Record(Type.String(), Type.String(), {
      description:
        'What the application needs to verify events: a signing secret, a public key or a user name with its password, by the name that the provider has for it.',
    }),
  },
  { $id: 'ProviderSettings', description: 'The settings of a provider for an account.' },
);
export type ProviderSettings = Static<typeof ProviderSettings>;
