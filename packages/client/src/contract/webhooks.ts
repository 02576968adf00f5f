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
import { Labels } from './inboxes.ts';
import { Message, MessageSummary } from './messages.ts';
import { nullable, ref } from './ref.ts';

/** A note for people. */
const MAX_DESCRIPTION = 256;

const Description = Type.String({
  description: 'A note of your own.',
  maxLength: MAX_DESCRIPTION,
  pattern: PLAIN_TEXT,
});

/** Body of `POST /v1/webhooks`. */
export const CreateWebhook = Type.Object(
  {
    url: WebhookUrl,
    inboxId: Type.Optional(
      Type.String({
        description: 'Only messages of this inbox; the webhook ends with it. Default: all inboxes.',
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
          'False ends pending deliveries and makes no new ones. True also forgets past failures; what was missed can be replayed.',
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
  inboxId: nullable(InboxId, { description: 'The inbox it is for; null for all of the account.' }),
  description: Type.String({ description: "Your note; '' when there is none." }),
  enabled: Type.Boolean({ description: 'Whether new messages are delivered.' }),
  disabledReason: nullable(Type.String(), {
    description:
      'Why the server disabled it: the endpoint answered 410, nothing but failures for five days, or its inbox ended.',
  }),
  failingSince: nullable(Timestamp('The first failed attempt.'), {
    description: 'The first failed attempt since the last success; null when the last attempt succeeded.',
  }),
  createdAt: Timestamp('When it was registered.'),
};

/** A webhook, without its secret. */
export const Webhook = Type.Object(webhook, { $id: 'Webhook', description: 'A webhook.' });
export type Webhook = Static<typeof Webhook>;

/** The answers of registration and rotation: the only ones that show a secret. */
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
    at: Timestamp('When it began.'),
    status: nullable(Type.Integer(), { description: 'Status of the answer; null when none came.' }),
    durationMs: Type.Integer({ description: 'How long it took, milliseconds.' }),
    error: nullable(
      Type.Object({
        code: Type.String({ description: 'For programs.', examples: ['timeout'] }),
        message: Type.String({ description: 'For people.' }),
      }),
      { description: 'Why it failed; null after a 2xx answer.' },
    ),
    responseStart: Type.String({ description: "The first kilobyte of the answer's body; '' without one." }),
  },
  { $id: 'DeliveryAttempt', description: 'One POST to an endpoint.' },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const WebhookDelivery = Type.Object(
  {
    id: Type.String({
      description: 'Identifier of the delivery.',
      examples: ['dlv_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    eventId: Type.String({
      description: 'The event; goes out as `webhook-id`, the same on every attempt.',
      examples: ['evt_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    inboxId: nullable(Type.String(), { description: 'The inbox of the message; null for a test event.' }),
    messageId: nullable(Type.String(), { description: 'The message; null for a test event.' }),
    state: Type.Enum(['pending', 'delivered', 'failed', 'cancelled'], {
      description:
        '`delivered`: answered 2xx. `failed`: all attempts failed, or the endpoint wants no more. `cancelled`: ended before that, `reason` says why.',
    }),
    reason: nullable(Type.String(), {
      description: 'Why it failed or was cancelled, such as `The inbox ended.`',
    }),
    createdAt: Timestamp('When it was recorded, together with its message.'),
    nextAttemptAt: nullable(Timestamp('When it is tried next.'), {
      description: 'When it is tried next; null when it ended, and while an attempt is under way.',
    }),
    attempts: Type.Array(ref(DeliveryAttempt), { description: 'All attempts, oldest first.' }),
  },
  { $id: 'WebhookDelivery', description: 'One event on its way to one webhook.' },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WebhookDeliveryList = Type.Object(
  { deliveries: Type.Array(ref(WebhookDelivery), { description: 'Newest first.' }), hasMore: HasMore },
  { $id: 'WebhookDeliveryList', description: 'A page of deliveries.' },
);
export type WebhookDeliveryList = Static<typeof WebhookDeliveryList>;

/** The body of every webhook request. */
export const MessageReceivedEvent = Type.Object(
  {
    id: Type.String({
      description: 'The event; the same as the header `webhook-id`.',
      examples: ['evt_01kk4m6c8rq2t5v7w9x1y3z5b7'],
    }),
    type: Type.Literal('message.received', { description: 'The kind of event; there is one.' }),
    timestamp: Timestamp('When the message was stored.'),
    test: Type.Optional(
      Type.Literal(true, { description: 'Only in test events, whose inbox and message are made up.' }),
    ),
    data: Type.Object(
      {
        inbox: Type.Object(
          {
            id: InboxId,
            address: Type.String({ description: 'Its address.' }),
            labels: ref(Labels),
          },
          { description: 'The inbox that received it.' },
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
                'True when something was left out: html and text have 256 KiB together, each list 64 KiB.',
            }),
            url: Type.String({ description: 'Where the whole message is. Needs a credential.' }),
          },
          { description: 'The message; attachments without their content.' },
        ),
      },
      { description: 'What happened.' },
    ),
  },
  { $id: 'MessageReceivedEvent', description: 'A new message arrived.' },
);
export type MessageReceivedEvent = Static<typeof MessageReceivedEvent>;

export const WebhookQuery = Type.Object(
  {
    limit: Type.Optional(Limit),
    before: Type.Optional(
      Type.String({ description: 'A webhook id: only webhooks registered before that one.' }),
    ),
  },
  closed,
);
export type WebhookQuery = Static<typeof WebhookQuery>;

export const DeliveryQuery = Type.Object(
  {
    limit: Type.Optional(Limit),
    before: Type.Optional(
      Type.String({ description: 'A delivery id: only deliveries older than that one.' }),
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
