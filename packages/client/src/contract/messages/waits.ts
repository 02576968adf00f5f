import { type Static, Type } from 'typebox';
import { closed, InboxId, Timestamp, unit, WaitId } from '../common.ts';
import { AppliedFault } from '../inboxes/faults.ts';
import { PROVIDER_NAMES } from '../providers.ts';
import { nullable, ref } from '../ref.ts';
import { MAX_FILTER, MAX_SINCE, MAX_WAIT, Message, MessageSummary, messageFilters } from './messages.ts';

/** Messages that one wait may return: all are returned in full. */
export const MAX_WAIT_COUNT = 50;
/** Default timeout of a wait, seconds: longer than mail takes, shorter than a test's own timeout. */
export const DEFAULT_WAIT = 30;

/** Longest total time of a client's wait, which may take several requests: a day, in seconds. */
const MAX_WAIT_OF_CLIENT = 86_400;

const part = (description: string, example: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: MAX_FILTER, examples: [example] }));

export const LinkMatch = Type.Object(
  {
    kind: Type.Optional(
      Type.Enum(['verify', 'reset', 'sign-in', 'unsubscribe', 'other'], {
        description: 'The probable purpose of the link.',
      }),
    ),
    href: part('Text that the target of the link must contain.', '/confirm?'),
    text: part('Text that the visible words of the link must contain.', 'Confirm'),
  },
  { ...closed, $id: 'LinkMatch', description: 'Conditions that one link must meet together.' },
);
export type LinkMatch = Static<typeof LinkMatch>;

export const MessageMatch = Type.Object(
  {
    ...messageFilters,
    code: Type.Optional(
      Type.Boolean({ description: 'Only messages with a one-time code, or only those without.' }),
    ),
    link: Type.Optional(
      Type.Union([Type.Boolean(), ref(LinkMatch)], {
        description:
          'Only messages with a link (true), without one (false), or with a link that meets the given conditions.',
      }),
    ),
  },
  {
    ...closed,
    $id: 'MessageMatch',
    description:
      'Conditions that a message must meet together; without any, every message matches. Texts match anywhere in a field, and case is ignored.',
  },
);
export type MessageMatch = Static<typeof MessageMatch>;

/** Body of `POST /v1/inboxes/{id}/wait`. The body and all its fields are optional. */
export const WaitRequest = Type.Object(
  {
    match: Type.Optional(ref(MessageMatch)),
    since: Type.Optional(
      Type.String({
        description:
          'Only messages strictly newer than this: a `cursor` of this inbox, a message id, an RFC 3339 time, or milliseconds since 1970. A time is exact only if it is the `receivedAt` of a message; your own clock and that of the server differ, so prefer a cursor. Default: from the beginning of the inbox.',
        maxLength: MAX_SINCE,
        examples: ['cur_mmbq2x6a_3vZxk1b0Qd8'],
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        ...unit('messages'),
        description:
          'How many messages must match. Default: 1. 0 waits for silence: the wait succeeds if no message matches until its end, and fails at once if one does.',
        minimum: 0,
        maximum: MAX_WAIT_COUNT,
      }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Number({
        ...unit('seconds'),
        description: `Longest time to wait, in seconds, which may have a fraction; 0 does not wait. Default: ${DEFAULT_WAIT}.`,
        minimum: 0,
        maximum: MAX_WAIT,
      }),
    ),
    waitedSeconds: Type.Optional(
      Type.Number({
        ...unit('seconds'),
        description:
          'How long earlier requests of the same wait were held, where a client holds several in a row: an explanation then speaks of the whole wait. Default: 0.',
        minimum: 0,
        maximum: MAX_WAIT_OF_CLIENT,
      }),
    ),
    askedSeconds: Type.Optional(
      Type.Number({
        ...unit('seconds'),
        description:
          'How long the test wanted to wait, where its client has less time, such as the rest of the time limit of the test: an explanation then says that the wait was cut.',
        minimum: 0,
        maximum: MAX_WAIT_OF_CLIENT,
      }),
    ),
  },
  {
    ...closed,
    $id: 'WaitRequest',
    description: 'What to wait for. All fields are optional.',
    examples: [
      { timeoutSeconds: 10 },
      { match: { subject: 'confirm', code: true }, timeoutSeconds: 10 },
      { match: { subject: 'invoice' }, count: 0, timeoutSeconds: 1 },
    ],
  },
);
export type WaitRequest = Static<typeof WaitRequest>;

export const FailedCondition = Type.Object(
  {
    condition: Type.Enum(['from', 'to', 'rcptTo', 'subject', 'text', 'hasAttachments', 'code', 'link'], {
      description: 'Name of the condition in `match`.',
    }),
    expected: Type.String({ description: 'What the condition requires; truncated if long.' }),
    got: Type.String({
      description:
        "What the message has instead: '' for a missing field, `no code` or `no link` where there is none; truncated if long.",
    }),
  },
  { $id: 'FailedCondition', description: 'A condition of a wait that a message did not meet.' },
);
export type FailedCondition = Static<typeof FailedCondition>;

export const SeenMessage = Type.Object(
  {
    message: ref(MessageSummary),
    failed: Type.Array(ref(FailedCondition), { description: 'All conditions that it did not meet.' }),
  },
  { $id: 'SeenMessage', description: 'A message that arrived and did not match.' },
);
export type SeenMessage = Static<typeof SeenMessage>;

export const RefusedMail = Type.Object(
  {
    at: Timestamp('When it was refused.'),
    address: Type.String({
      description:
        "The recipient, in lower case and without a tag; '' for a mail that was refused at MAIL for its size, before it named a recipient, and for an inbox id that was refused at AUTH. Of those, callers see the same as of failed handshakes.",
    }),
    reply: Type.String({
      description:
        "The SMTP reply to the sender; '' where a fault rule delayed the reply or closed the connection without one, and, without a fault rule, where the connection ended in the middle of the message.",
      examples: ['452 4.2.2 The inbox is full'],
    }),
    fault: nullable(ref(AppliedFault), {
      description:
        'The fault rule of the inbox that caused it; null where there was none. A rule that only delayed the reply is listed too.',
    }),
    mailFrom: Type.String({ description: "Reverse-path of the MAIL command; '' for a bounce." }),
    helo: Type.String({ description: 'The host name that the client sent with HELO or EHLO.' }),
    remoteAddress: Type.String({ description: 'The IP address of the client.' }),
    via: Type.Optional(
      Type.Enum([...PROVIDER_NAMES], {
        description: 'The provider through whose interface it came, which told its caller; missing for SMTP.',
      }),
    ),
  },
  { $id: 'RefusedMail', description: 'Mail for the address of this inbox that was refused.' },
);
export type RefusedMail = Static<typeof RefusedMail>;

export const NearMiss = Type.Object(
  {
    address: Type.String({ description: 'The similar address.' }),
    at: Timestamp('When the last mail for it was sent.'),
    times: Type.Integer({ description: 'Number of mails.' }),
    outcome: Type.Enum(['refused', 'received'], {
      description:
        '`refused`: no inbox takes mail for the address. `received`: the sink got the mail, or the catch-all inbox of the domain (told to API keys only).',
    }),
    inboxId: nullable(InboxId, {
      description:
        'The inbox that got the mail; null when none did, and for the sink where it is not the account’s own or the caller has a read token.',
    }),
  },
  {
    $id: 'NearMiss',
    description:
      'Mail sent to a similar address, possibly intended for this inbox: a typing error, missing dots or digits, a tag without a plus, another domain.',
  },
);
export type NearMiss = Static<typeof NearMiss>;

export const OtherMail = Type.Object(
  {
    address: Type.String({
      description: 'The address that the mail was sent to, in lower case and without a tag.',
    }),
    at: Timestamp('When it arrived or was refused.'),
    reason: Type.Enum(['same-recipient', 'meets-conditions', 'refused'], {
      description:
        '`same-recipient`: it was sent to the address of this inbox, but another inbox has it: its sender had authenticated for that one by SMTP AUTH, or this inbox did not exist yet and the sink took it. `meets-conditions`: the sink or a catch-all inbox received it, and it meets all conditions of this wait. `refused`: no inbox has the address. Those two are told only where nothing else is known.',
    }),
    inboxId: nullable(InboxId, { description: 'The inbox that has the mail; null for refused mail.' }),
  },
  {
    $id: 'OtherMail',
    description:
      'Mail of the account that was possibly intended for this inbox, though its address is not similar.',
  },
);
export type OtherMail = Static<typeof OtherMail>;

export const FailedHandshake = Type.Object(
  {
    at: Timestamp('When the handshake failed.'),
    remoteAddress: Type.String({ description: 'The IP address of the client.' }),
    reason: Type.String({
      description: 'The error.',
      examples: ['The client rejected the certificate (tlsv1 alert unknown ca)'],
    }),
  },
  {
    $id: 'FailedHandshake',
    description:
      'A TLS handshake with the SMTP server that failed, after STARTTLS or on the TLS port. The sender usually gives up then, or tries again without TLS.',
  },
);
export type FailedHandshake = Static<typeof FailedHandshake>;

export const WaitCause = Type.Object(
  {
    code: Type.Enum(
      [
        'unexpected_message',
        'not_checked',
        'cut_short',
        'since_in_future',
        'before_since',
        'inbox_full',
        'too_large',
        'malformed',
        'too_many_recipients',
        'auth_failed',
        'fault_rule',
        'sender_left',
        'refused',
        'before_creation',
        'captured_elsewhere',
        'impossible_condition',
        'similar_address',
        'too_few',
        'not_matching',
        'deleted',
        'scheduled',
        'tls_failed',
        'other_recipient',
        'left_without_recipient',
        'nothing_connected',
        'nothing_arrived',
      ],
      { description: 'The kind of the cause. New ones may be added.' },
    ),
    certainty: Type.Enum(['certain', 'likely', 'possible'], {
      description:
        '`certain`: it happened to mail for this inbox, or it holds for the wait itself. `likely`: a good guess. `possible`: it happened in the time of the wait, and may concern other mail.',
    }),
    text: Type.String({ description: 'The cause in one or more sentences.' }),
  },
  { $id: 'WaitCause', description: 'Why a wait failed, or may have failed.' },
);
export type WaitCause = Static<typeof WaitCause>;

export const WaitExplanation = Type.Object(
  {
    reason: Type.Enum(['timeout', 'unexpected_message', 'server_stopping'], {
      description:
        'Why the wait ended. `timeout`: its time is over. `unexpected_message`: with `count: 0`, a message matched. `server_stopping`: repeat the wait.',
    }),
    summary: Type.String({
      description: 'The reason in words, for a log or the message of a failed assertion.',
      examples: [
        '3 messages arrived; none has "confirm" in its subject. "Confirm your e-mail" matches, but arrived 4 s before this wait\'s since.',
      ],
    }),
    causes: Type.Array(ref(WaitCause), {
      description:
        'Why the wait failed, the most certain cause first; empty for `server_stopping`. `summary` says the first ones.',
    }),
    seenCount: Type.Integer({ description: 'Number of messages that arrived and did not match.' }),
    seen: Type.Array(ref(SeenMessage), { description: 'The newest 20 of them, newest first.' }),
    refused: Type.Array(ref(RefusedMail), {
      description:
        'The newest 20 refusals of mail for this address after `since`, within 24 hours, newest first; also from up to 30 s before the inbox was created.',
    }),
    nearMisses: Type.Array(ref(NearMiss), {
      description:
        'Up to 20 similar addresses that mail was sent to since 30 s before the wait began, the latest first.',
    }),
    otherMail: Type.Array(ref(OtherMail), {
      description:
        'Up to 5 mails of the account that this inbox did not get and that may be meant for it. Only for API keys.',
    }),
    failedHandshakes: Type.Array(ref(FailedHandshake), {
      description:
        'The newest 20 TLS handshakes that failed after `since`, since 30 s before the wait began and since the inbox was created, newest first. The recipient is not known before the handshake, so a failure may concern other mail. On a server with one account, API keys see all failures. All other callers see only those from the address of their own request, because the others may belong to another account.',
    }),
  },
  { $id: 'WaitExplanation', description: 'Why no message, or too few, matched.' },
);
export type WaitExplanation = Static<typeof WaitExplanation>;

export const WaitResult = Type.Object(
  {
    matched: Type.Boolean({ description: 'Whether the wait succeeded.' }),
    messages: Type.Array(ref(Message), {
      description:
        'Matching messages in full, oldest first: exactly `count` if the wait succeeded, otherwise all that there were.',
    }),
    cursor: Type.String({
      description:
        'Position after the last message here, or after all messages that were checked: pass it as `since` to continue.',
      examples: ['cur_mmbq2x6a_3vZxk1b0Qd8'],
    }),
    truncated: Type.Optional(
      Type.Boolean({
        description:
          'True if a message of `messages` was too large to be returned in full; it is marked likewise.',
      }),
    ),
    explanation: Type.Optional(ref(WaitExplanation)),
    waitId: Type.Optional(
      Type.String({
        ...WaitId,
        description:
          'Of a wait that failed: what it has explained can be read for 24 hours with `GET /v1/inboxes/{id}/waits/{waitId}`.',
      }),
    ),
  },
  {
    $id: 'WaitResult',
    description: 'Result of a wait; without success it has an `explanation`.',
  },
);
export type WaitResult = Static<typeof WaitResult>;

export const WaitParams = Type.Object({ id: InboxId, waitId: WaitId });

export const FailedWait = Type.Object(
  {
    id: WaitId,
    inboxId: InboxId,
    endedAt: Timestamp('When the wait ended.'),
    waitedMs: Type.Integer({ description: 'How long it was held, milliseconds.', minimum: 0 }),
    count: Type.Integer({ description: 'How many messages were wanted; 0 for silence.', minimum: 0 }),
    match: Type.Record(Type.String(), Type.String(), {
      description: 'The conditions of the wait as texts, cut after 100 characters.',
      examples: [{ subject: 'confirm', code: 'true' }],
    }),
    hasContent: Type.Boolean({
      description: 'False once the inbox has ended: then nothing that a message said is left.',
    }),
    explanation: ref(WaitExplanation),
  },
  { $id: 'FailedWait', description: 'What a failed wait has explained.' },
);
export type FailedWait = Static<typeof FailedWait>;
