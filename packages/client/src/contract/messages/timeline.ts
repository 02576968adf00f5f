import { type Static, Type } from 'typebox';
import { Timestamp, WebhookId } from '../common.ts';
import { nullable, ref } from '../ref.ts';

export const TimelineWebhook = Type.Object(
  {
    webhookId: WebhookId,
    deliveryId: Type.String({
      description: 'Id of the delivery.',
      examples: ['dlv_01kk4m3a8rq2t5v7w9x1y3z5b7'],
    }),
    attempt: Type.Integer({ description: 'Number of the attempt, from 1.', minimum: 1 }),
    status: nullable(Type.Integer({ minimum: 100, maximum: 599 }), {
      description: 'Status of the response; null without a response.',
    }),
    durationMs: Type.Integer({ description: 'How long the attempt took, milliseconds.', minimum: 0 }),
    error: nullable(Type.String({ examples: ['timeout'] }), {
      description: 'Code of the error; null if and only if the attempt succeeded.',
    }),
  },
  { $id: 'TimelineWebhook', description: 'The outcome of an attempt to deliver the event of a message.' },
);
export type TimelineWebhook = Static<typeof TimelineWebhook>;

export const TimelineEvent = Type.Object(
  {
    at: nullable(Timestamp('When it happened, by the clock that `clock` names.'), {
      description:
        'When it happened, by the clock that `clock` names; null where the message does not say. Headers give whole seconds.',
    }),
    event: Type.Enum(
      [
        'date-header',
        'received-header',
        'earlier-attempt',
        'connected',
        'tls',
        'authenticated',
        'fault',
        'mail-from',
        'rcpt-to',
        'data',
        'injected',
        'provider-call',
        'imported',
        'end-of-data',
        'parsed',
        'sender-checked',
        'committed',
        'replied',
        'webhook-attempt',
        'sent-back',
      ],
      {
        description:
          '`date-header`: the Date header. `received-header`: a Received header of another server. `earlier-attempt`: mail of the same sender for the same address that was put off by a fault, a 4xx reply or the end of its connection, since the last message of that author, within 24 hours. `connected`, `tls`, `authenticated`, `mail-from`, `rcpt-to` (the last recipient was accepted), `data`, `end-of-data`: the SMTP session. `fault`: a fault that the inbox asked for, since the last message of the session. `injected`: the request that injected the message. `provider-call`: the request to the interface of a provider. `imported`: it was read from a recording. `parsed`: it was read. `sender-checked`: SPF, DKIM and DMARC were checked. `committed`: `receivedAt`, the time of the transaction that stored it. `replied`: the 250 reply was sent, when that was on the disk and the delays of faults were over; known on the server that received the message, for at least its newest 10,000. `webhook-attempt`: an attempt to deliver its event. `sent-back`: an outcome or a reply was made for it, with what became of that.',
      },
    ),
    clock: Type.Enum(['sender', 'relay', 'mayfly'], {
      description:
        'Whose clock `at` was read from: that of the sender, of another mail server, or of Mayfly.',
    }),
    sincePreviousMs: nullable(Type.Integer(), {
      description:
        'Milliseconds since the event before that has a time; negative where the two clocks differ. Null for the first one.',
    }),
    detail: Type.String({
      description: 'What happened, in one line.',
      examples: ['MAIL FROM:<app@shop.example>'],
    }),
    note: nullable(Type.String(), {
      description:
        'What is odd about the time, such as a Date header in the future or hops out of order; null where nothing is.',
    }),
    webhook: nullable(ref(TimelineWebhook), {
      description: 'Of a `webhook-attempt`; null for other events.',
    }),
  },
  { $id: 'TimelineEvent', description: 'One step of a message.' },
);
export type TimelineEvent = Static<typeof TimelineEvent>;

export const Timeline = Type.Object(
  {
    events: Type.Array(ref(TimelineEvent), {
      description:
        'In the order in which they must have happened: the Date header, the hops, the SMTP session, webhooks. A connection that is older than the Date header comes before it.',
    }),
  },
  { $id: 'Timeline', description: 'When what happened to a message.' },
);
export type Timeline = Static<typeof Timeline>;
