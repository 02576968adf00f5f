import { type Static, Type } from 'typebox';
import {
  closed,
  EXAMPLE_HOOK,
  HasMore,
  InboxId,
  Limit,
  PLAIN_TEXT,
  Timestamp,
  WebhookId,
  WebhookSecret,
  WebhookUrl,
} from './common.ts';
import { Labels } from './inboxes/inboxes.ts';
import { MAX_SINCE, Message, MessageSummary } from './messages/messages.ts';
import { nullable, ref } from './ref.ts';

/** Longest description of a webhook, characters. */
const MAX_DESCRIPTION = 256;

const Description = Type.String({
  description: 'A note for people.',
  maxLength: MAX_DESCRIPTION,
  pattern: PLAIN_TEXT,
});

/** Body of `POST /v1/webhooks`. */
export const CreateWebhook = Type.Object(
  {
    url: WebhookUrl,
    inboxId: Type.Optional(
      Type.String({
        description:
          'Send only messages of this inbox; the webhook ends with the inbox. Default: messages of all inboxes.',
        examples: ['inb_01kk4m2t9vq8z3w6x5y7c1d2e3'],
      }),
    ),
    description: Type.Optional(Description),
  },
  {
    ...closed,
    $id: 'CreateWebhook',
    description: 'Properties of the new webhook.',
    examples: [
      { url: EXAMPLE_HOOK },
      { url: EXAMPLE_HOOK, inboxId: 'inb_01kk4m2t9vq8z3w6x5y7c1d2e3', description: 'Sign-up tests' },
    ],
  },
);
export type CreateWebhook = Static<typeof CreateWebhook>;

/** Body of `PATCH /v1/webhooks/{id}`. */
export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(WebhookUrl),
    enabled: Type.Optional(
      Type.Boolean({
        description:
          'False cancels pending deliveries and sends no new ones. True resets the record of failures; deliveries that failed before can be replayed.',
      }),
    ),
    description: Type.Optional(Description),
  },
  {
    ...closed,
    $id: 'UpdateWebhook',
    description: 'Fields to change.',
    examples: [{ description: 'Sign-up tests', enabled: true }],
  },
);
export type UpdateWebhook = Static<typeof UpdateWebhook>;

const webhook = {
  id: WebhookId,
  url: WebhookUrl,
  inboxId: nullable(InboxId, {
    description: 'The inbox whose messages it sends; null for all inboxes of the account.',
  }),
  description: Type.String({ description: "Your note; '' without one." }),
  enabled: Type.Boolean({ description: 'Whether new messages are delivered.' }),
  disabledReason: nullable(Type.String(), {
    description:
      'Why the server disabled it: a 410 response, only failures for five days, or its inbox ended. Null if it did not.',
  }),
  failingSince: nullable(Timestamp('The first failed attempt.'), {
    description: 'The first failed attempt since the last success; null if the last attempt succeeded.',
  }),
  createdAt: Timestamp('When the webhook was registered.'),
};

/** A webhook, without its secret. */
export const Webhook = Type.Object(webhook, { $id: 'Webhook', description: 'A webhook.' });
export type Webhook = Static<typeof Webhook>;

/** The responses to registration and rotation. Only these contain the secret. */
export const WebhookWithSecret = Type.Object(
  { ...webhook, secret: WebhookSecret },
  { $id: 'WebhookWithSecret', description: 'A webhook with its new secret.' },
);
export type WebhookWithSecret = Static<typeof WebhookWithSecret>;

export const WebhookList = Type.Object(
  { webhooks: Type.Array(ref(Webhook), { description: 'Newest first.' }), hasMore: HasMore },
  { $id: 'WebhookList', description: 'A page of webhooks.' },
);
export type WebhookList = Static<typeof WebhookList>;

export const DeliveryAttempt = Type.Object(
  {
    at: Timestamp('When the attempt began.'),
    status: nullable(Type.Integer(), { description: 'Status of the response; null if there was none.' }),
    durationMs: Type.Integer({ description: 'Duration of the attempt in milliseconds.' }),
    error: nullable(
      Type.Object({
        code: Type.String({ description: 'The kind of failure, for programs.', examples: ['timeout'] }),
        message: Type.String({ description: 'The failure in words, for people.' }),
      }),
      { description: 'Why the attempt failed; null after a 2xx response.' },
    ),
    responseStart: Type.String({ description: "The first kilobyte of the response body; '' without one." }),
  },
  { $id: 'DeliveryAttempt', description: 'One request to an endpoint.' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** The states of a delivery. */
const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const;

export const WebhookDelivery = Type.Object(
  {
    id: Type.String({
      description: 'Identifier of the delivery.',
      examples: ['dlv_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    eventId: Type.String({
      description: 'Identifier of the event, sent as `webhook-id`; the same for every attempt.',
      examples: ['evt_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    inboxId: nullable(Type.String(), { description: 'The inbox of the message; null for a test event.' }),
    messageId: nullable(Type.String(), { description: 'The message; null for a test event.' }),
    state: Type.Enum(DELIVERY_STATES, {
      description:
        '`pending`: to be attempted. `delivered`: a 2xx response. `failed`: all attempts failed, or the response was 410. `cancelled`: not attempted to the end; `reason` says why.',
    }),
    reason: nullable(Type.String(), {
      description: 'Why it failed or was cancelled, for example `The inbox ended.`; null otherwise.',
    }),
    createdAt: Timestamp('When it was recorded, in one transaction with its message.'),
    nextAttemptAt: nullable(Timestamp('When the next attempt is due.'), {
      description: 'When the next attempt is due; null after the last one, and during an attempt.',
    }),
    attempts: Type.Array(ref(DeliveryAttempt), {
      description: 'The newest 100 attempts of all replays, oldest first.',
    }),
  },
  { $id: 'WebhookDelivery', description: 'One event for one webhook.' },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WebhookDeliveryList = Type.Object(
  { deliveries: Type.Array(ref(WebhookDelivery), { description: 'Newest first.' }), hasMore: HasMore },
  { $id: 'WebhookDeliveryList', description: 'A page of deliveries.' },
);
export type WebhookDeliveryList = Static<typeof WebhookDeliveryList>;

/** Body of `POST /v1/webhooks/{id}/deliveries/replay`. */
export const ReplayDeliveries = Type.Object(
  {
    state: Type.Enum(['failed', 'cancelled', 'delivered'], {
      description: 'Replay the deliveries in this state. Those that are pending are attempted anyway.',
    }),
    since: Type.Optional(
      Type.String({
        description:
          'Only deliveries that were recorded at this time or later: an RFC 3339 time, or milliseconds since 1970. Default: all that are kept.',
        maxLength: MAX_SINCE,
        examples: ['2026-03-04T05:06:07Z'],
      }),
    ),
  },
  {
    ...closed,
    $id: 'ReplayDeliveries',
    description: 'Which deliveries to replay.',
    examples: [{ state: 'failed' }, { state: 'failed', since: '2026-03-04T05:06:07Z' }],
  },
);
export type ReplayDeliveries = Static<typeof ReplayDeliveries>;

export const ReplayedDeliveries = Type.Object(
  {
    replayed: Type.Integer({
      description: 'How many deliveries are pending again.',
      minimum: 0,
      examples: [12],
    }),
  },
  { $id: 'ReplayedDeliveries', description: 'The result of a replay.' },
);
export type ReplayedDeliveries = Static<typeof ReplayedDeliveries>;

/** The body of every webhook request. */
export const MessageReceivedEvent = Type.Object(
  {
    id: Type.String({
      description: 'Identifier of the event; the same as the header `webhook-id`.',
      examples: ['evt_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    type: Type.Literal('message.received', { description: 'The kind of event; there is only this one.' }),
    timestamp: Timestamp('When the message was stored.'),
    test: Type.Optional(
      Type.Literal(true, { description: 'Only in test events, whose inbox and message do not exist.' }),
    ),
    data: Type.Object(
      {
        inbox: Type.Object(
          {
            id: InboxId,
            address: Type.String({ description: 'Address of the inbox.' }),
            labels: ref(Labels),
          },
          { description: 'The inbox that received the message.' },
        ),
        message: Type.Object(
          {
            ...MessageSummary.properties,
            html: Message.properties.html,
            text: Message.properties.text,
            links: Message.properties.links,
            attachments: Message.properties.attachments,
            truncated: Type.Boolean({
              description:
                'True if something was left out: `html` and `text` have at most 256 KiB together, each list 64 KiB.',
            }),
            url: Type.String({
              description:
                'URL of the message in full; a path where the server has no `MAYFLY_PUBLIC_URL`. Requests need a credential.',
            }),
          },
          { description: 'The message, without the content of attachments.' },
        ),
      },
      { description: 'The inbox and the message.' },
    ),
  },
  { $id: 'MessageReceivedEvent', description: 'A new message arrived.' },
);
export type MessageReceivedEvent = Static<typeof MessageReceivedEvent>;

export const WebhookQuery = Type.Object(
  {
    limit: Type.Optional(Limit),
    before: Type.Optional(
      Type.String({ description: 'A webhook id: only webhooks that were registered earlier.' }),
    ),
  },
  closed,
);
export type WebhookQuery = Static<typeof WebhookQuery>;

export const DeliveryQuery = Type.Object(
  {
    limit: Type.Optional(Limit),
    before: Type.Optional(Type.String({ description: 'A delivery id: only older deliveries.' })),
    state: Type.Optional(
      Type.Enum(DELIVERY_STATES, { description: 'Only deliveries in this state.', examples: ['failed'] }),
    ),
  },
  closed,
);
export type DeliveryQuery = Static<typeof DeliveryQuery>;

export const WebhookParams = Type.Object({ id: WebhookId });
export const DeliveryParams = Type.Object({
  id: WebhookId,
  deliveryId: Type.String({
    description: 'Identifier of a delivery.',
    examples: ['dlv_01kk4m6c8rq2t5v7w9x1y3z5b7'],
  }),
});
