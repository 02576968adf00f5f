import { type Static, Type } from 'typebox';
import { closed, InboxId, Limit, Timestamp, WaitId } from '../common.ts';
import { nullable, ref } from '../ref.ts';
import { LABEL_NAME, Labels } from './inboxes.ts';

const Count = (description: string) => Type.Integer({ description, minimum: 0 });

export const ReportedWait = Type.Object(
  {
    waitId: WaitId,
    endedAt: Timestamp('When the wait ended.'),
    waitedMs: Count('How long it was held, milliseconds.'),
    count: Count('How many messages were wanted; 0 for silence.'),
    match: Type.Record(Type.String(), Type.String(), {
      description: 'The conditions of the wait as texts, cut after 100 characters.',
      examples: [{ subject: 'confirm', code: 'true' }],
    }),
    reason: Type.Enum(['timeout', 'unexpected_message'], {
      description: '`unexpected_message`: a message came although none was wanted.',
    }),
    seenCount: Count('How many messages arrived that did not match.'),
    summary: Type.String({
      description:
        'Why it failed, in one or more sentences. They name conditions and addresses, and nothing that a message said.',
      examples: ['3 messages arrived; none has "confirm" in its subject.'],
    }),
  },
  { $id: 'ReportedWait', description: 'A wait that failed.' },
);
export type ReportedWait = Static<typeof ReportedWait>;

export const ReportedRefusal = Type.Object(
  {
    at: Timestamp('When it was refused.'),
    reply: Type.String({
      description: 'The SMTP reply to the sender.',
      examples: ['452 4.2.2 The inbox is full'],
    }),
    mailFrom: Type.String({ description: "Reverse-path of the MAIL command; '' for a bounce." }),
    remoteAddress: Type.String({ description: 'The IP address of the client.' }),
  },
  { $id: 'ReportedRefusal', description: 'Mail for an inbox of the run that was refused.' },
);
export type ReportedRefusal = Static<typeof ReportedRefusal>;

export const HeldCounts = Type.Object(
  {
    withMessages: Count('Those that returned at least one message.'),
    empty: Count('Those that ended without a message.'),
  },
  { $id: 'HeldCounts', description: 'How many ended, by whether they had a message.' },
);
export type HeldCounts = Static<typeof HeldCounts>;

export const ReportedInbox = Type.Object(
  {
    id: InboxId,
    address: Type.String({
      description: 'The email address of the inbox.',
      examples: ['brave.otter48213377@mayfly.test'],
    }),
    labels: ref(Labels),
    createdAt: Timestamp('When the inbox was created.'),
    state: Type.Enum(['live', 'expired', 'deleted'], { description: 'Whether and how the inbox ended.' }),
    endedAt: nullable(Timestamp('When it ended.'), { description: 'When it ended; null for a live one.' }),
    messageCount: Count('Messages received so far, deleted ones included.'),
    firstMessageAt: nullable(Timestamp('When the first message arrived.'), {
      description: 'When the first message arrived; null before it.',
    }),
    firstMessageAfterMs: nullable(Type.Integer(), {
      description: 'Milliseconds from the creation of the inbox to its first message; null before it.',
    }),
    waits: Type.Object(
      {
        succeeded: Count('Waits that succeeded.'),
        failed: Count('Waits that failed.'),
        lists: ref(HeldCounts),
        streams: ref(HeldCounts),
        failures: Type.Array(ref(ReportedWait), {
          description: 'The first 10 that failed, oldest first.',
          maxItems: 10,
        }),
      },
      {
        description:
          'Ended waits of `POST /v1/inboxes/{id}/wait`; `lists` are those with `wait`, `streams` those of the inbox.',
      },
    ),
    refusals: Type.Object(
      {
        count: Count('How often SMTP refused mail for the address, within the last 24 hours.'),
        last: nullable(ref(ReportedRefusal), { description: 'The last one; null without any.' }),
      },
      { description: 'Refused mail, also after the end of the inbox; not what faults of the inbox refused.' },
    ),
  },
  { $id: 'ReportedInbox', description: 'An inbox of a run.' },
);
export type ReportedInbox = Static<typeof ReportedInbox>;

export const RunReport = Type.Object(
  {
    labels: ref(Labels),
    totals: Type.Object(
      {
        inboxes: Count('Inboxes of the run.'),
        inboxesWithoutMail: Count('Inboxes that received nothing.'),
        messages: Count('Messages received.'),
        waitsSucceeded: Count('Waits that succeeded.'),
        waitsFailed: Count('Waits that failed.'),
        lists: ref(HeldCounts),
        streams: ref(HeldCounts),
        refusals: Count('Refused mails.'),
      },
      { description: 'Sums over all inboxes of the run, also those that `inboxes` leaves out.' },
    ),
    problems: Type.Array(Type.String(), {
      description:
        'What was wrong, in sentences that begin with the address: failed waits, then lists and streams of which none had a message, then refused mail. At most 100.',
      maxItems: 100,
      examples: [
        [
          'brave.otter48213377@mayfly.test: A wait of 30.0 s for a message failed. No message arrived.',
          'calm.finch91237756@mayfly.test: 2 mails were refused, the last one with "452 4.2.2 The inbox is full".',
        ],
      ],
    }),
    inboxes: Type.Array(ref(ReportedInbox), {
      description: 'Newest first, at most 1,000: those with a problem, then the newest others.',
      maxItems: 1000,
    }),
    hasMore: Type.Boolean({ description: 'True if `inboxes` leaves some out.' }),
  },
  { $id: 'RunReport', description: 'What became of the mail of a test run.' },
);
export type RunReport = Static<typeof RunReport>;

export const LabelQuery = Type.Object(
  {
    name: Type.Optional(
      Type.String({ description: 'Only labels of this name.', pattern: LABEL_NAME, examples: ['run'] }),
    ),
    limit: Type.Optional(Limit),
  },
  closed,
);
export type LabelQuery = Static<typeof LabelQuery>;

export const Label = Type.Object(
  {
    name: Type.String({ description: 'Name of the label.', examples: ['run'] }),
    value: Type.String({ description: 'Value of the label.', examples: ['4711'] }),
    inboxes: Count('Live inboxes with this label.'),
    newestAt: Timestamp('When the newest of them was created.'),
  },
  { $id: 'Label', description: 'A label of live inboxes.' },
);

export const LabelList = Type.Object(
  {
    labels: Type.Array(ref(Label), { description: 'Those of the newest inboxes first.' }),
    hasMore: Type.Boolean({ description: 'True if there are more labels than `limit`.' }),
  },
  { $id: 'LabelList', description: 'Labels of live inboxes.' },
);
export type LabelList = Static<typeof LabelList>;
