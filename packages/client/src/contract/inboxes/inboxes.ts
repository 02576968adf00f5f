import { type Static, Type } from 'typebox';
import {
  closed,
  EXAMPLE_HOOK,
  HasMore,
  InboxId,
  Limit,
  PLAIN_TEXT,
  Timestamp,
  unit,
  WebhookId,
  WebhookSecret,
  WebhookUrl,
} from '../common.ts';
import { nullable, ref } from '../ref.ts';
import { Domain } from './addresses.ts';

/** Enough to name a run, a branch, a worker and more; few enough to match quickly. */
export const MAX_LABELS = 16;
/** Label names and values are tags, not documents. */
export const MAX_LABEL_NAME = 64;
export const MAX_LABEL_VALUE = 256;
/** RFC 5321 section 4.5.3.1.1 */
const MAX_LOCAL_PART = 64;
/** RFC 5321 section 4.5.3.1.3: a path has 256 octets with its brackets. */
const MAX_ADDRESS = 254;

const LABEL_LETTERS = `[A-Za-z0-9][A-Za-z0-9._-]{0,${MAX_LABEL_NAME - 1}}`;
/** Pattern of label names. */
export const LABEL_NAME = `^${LABEL_LETTERS}$`;
const LabelValue = Type.String({
  description: 'Value of the label.',
  maxLength: MAX_LABEL_VALUE,
  pattern: PLAIN_TEXT,
});

/** Tags of an inbox, to find and delete the inboxes of one test run. */
export const Labels = Type.Unsafe<Record<string, string>>({
  $id: 'Labels',
  type: 'object',
  description: `Up to ${MAX_LABELS} short name and value pairs, to find and delete by test run.`,
  propertyNames: { pattern: LABEL_NAME },
  additionalProperties: LabelValue,
  maxProperties: MAX_LABELS,
  examples: [{ run: '4711', worker: '3' }],
});
export type Labels = Record<string, string>;

const TtlMinutes = (description: string) => Type.Integer({ ...unit('minutes'), description, examples: [60] });

/** Body of `POST /v1/inboxes`. The body and all its fields are optional. */
export const CreateInbox = Type.Object(
  {
    ttlMinutes: Type.Optional(
      TtlMinutes('Lifetime in minutes, from 1 to the maximum of your plan. Default: 60.'),
    ),
    domain: Type.Optional(Domain),
    localPart: Type.Optional(
      Type.String({
        description:
          'The part before the @: 1 to 64 of the characters `a-z 0-9 . _ -` without a leading, trailing or double dot. Default: a random one.',
        maxLength: MAX_LOCAL_PART,
        examples: ['signup-test'],
      }),
    ),
    address: Type.Optional(
      Type.String({
        description:
          'The complete address, for example a generated one. Not together with `localPart` or `domain`.',
        maxLength: MAX_ADDRESS,
        examples: ['signup-test@mayfly.test'],
      }),
    ),
    catchAll: Type.Optional(
      Type.Boolean({
        description:
          'Take mail for every local part of a domain: of a new sub-domain of its own (`*@brave-otter482136701.mayfly.test`), or, when `domain` names a domain that belongs to your account, of that whole domain, which can have one such inbox. Not together with `localPart` or `address`.',
      }),
    ),
    sms: Type.Optional(
      Type.Boolean({
        description:
          'Give the inbox a random telephone number, `phoneNumber`, which takes the SMS that an application sends through `/providers/twilio`. It is the local part of the address, so mail arrives too. Not together with `localPart`, `address`, `domain` or `catchAll`.',
      }),
    ),
    labels: Type.Optional(ref(Labels)),
    webhookUrl: Type.Optional(WebhookUrl),
  },
  {
    ...closed,
    $id: 'CreateInbox',
    description: 'Properties of the new inbox. All fields are optional.',
    examples: [
      { ttlMinutes: 30, labels: { run: '4711' } },
      {},
      { catchAll: true },
      { sms: true },
      { ttlMinutes: 30, webhookUrl: EXAMPLE_HOOK },
    ],
  },
);
export type CreateInbox = Static<typeof CreateInbox>;

/** Body of `PATCH /v1/inboxes/{id}`. */
export const UpdateInbox = Type.Object(
  {
    ttlMinutes: TtlMinutes(
      'New lifetime in minutes from now, from 1 to the maximum of your plan; the inbox never lives longer than `maxExpiresAt`.',
    ),
  },
  { ...closed, $id: 'UpdateInbox', description: 'Fields to change.', examples: [{ ttlMinutes: 30 }] },
);
export type UpdateInbox = Static<typeof UpdateInbox>;

const metadata = {
  id: InboxId,
  address: Type.String({
    description: 'The email address of the inbox. Mail with a `+tag` after the local part arrives too.',
    examples: ['brave.otter48213377@mayfly.test'],
  }),
  phoneNumber: nullable(Type.String({ examples: ['+15125550123'] }), {
    description:
      'The telephone number at which the inbox takes SMS, in E.164 format: the local part of an address at the default domain that is a number. Null for others. A number of `"sms": true` belongs to nobody.',
  }),
  catchAll: Type.Boolean({
    description:
      'Whether it takes mail for more than `address`: a catch-all inbox for every local part of its domain, the sink for every address that no other inbox takes. The recipient of a message is in `envelope.rcptTo`.',
  }),
  domain: Type.String({ description: 'The domain of the address.', examples: ['mayfly.test'] }),
  labels: ref(Labels),
  createdAt: Timestamp('When the inbox was created.'),
  expiresAt: Timestamp(
    'When the inbox expires. After that nothing of it can be read. The sink never expires: `9999-12-31T23:59:59.999Z`.',
  ),
  ttlMinutes: Type.Integer({
    description: 'The lifetime that was requested last, in minutes; 0 for the sink, which never expires.',
  }),
  maxExpiresAt: Timestamp('The latest time to which the inbox can be extended.'),
  messageCount: Type.Integer({ description: 'Number of messages in the inbox.' }),
  full: Type.Boolean({
    description:
      'True if the inbox holds as many messages as the plan allows: mail is refused with 452 until some are deleted.',
  }),
  eviction: Type.Enum(['none', 'oldest'], {
    description:
      'What happens when it is full: `none`: mail is refused, and nothing is dropped. `oldest`: the oldest message is dropped for each new one; only the sink does so, which keeps the newest 10,000.',
  }),
  replay: Type.Enum(['none', 'running', 'cut'], {
    description:
      'Of an inbox that was imported with `speed`: `running` while messages of the recording are still to come, `cut` when the rest of them will never come, because the server was stopped or a message could not be stored. `none` otherwise, also when all have come.',
  }),
  lastMessageAt: nullable(Timestamp('When the newest message arrived.'), {
    description: 'When the newest message arrived, even if it was deleted; null before the first message.',
  }),
  cursor: Type.String({
    description: 'Position after the newest message: pass it as `since` to get later messages only.',
    examples: ['cur_mmbq2x6a_3vZxk1b0Qd8'],
  }),
};

/** The metadata of an inbox, without its messages. */
export const Inbox = Type.Object(metadata, { $id: 'Inbox', description: 'An inbox.' });
export type Inbox = Static<typeof Inbox>;

/** The webhook that was created for `webhookUrl`. */
export const InboxWebhook = Type.Object(
  { id: WebhookId, url: WebhookUrl, secret: WebhookSecret },
  { $id: 'InboxWebhook', description: 'The webhook that was registered with an inbox.' },
);
export type InboxWebhook = Static<typeof InboxWebhook>;

/** A new inbox. Only this response contains the read token. */
export const CreatedInbox = Type.Object(
  {
    ...metadata,
    token: Type.String({
      description:
        'The read token: a bearer credential that reads this inbox and nothing else. Also the SMTP password of the inbox; the user name is its `id` or `address`, and all mail of such a session goes to the inbox. Shown once.',
      examples: ['mft_7Qh3vK9sLm2Xc8Rt4Wb6Yn1Zd5Fg0Hj3Pq9'],
    }),
    webhook: Type.Optional(ref(InboxWebhook)),
  },
  { $id: 'CreatedInbox', description: 'A new inbox with its read token.' },
);
export type CreatedInbox = Static<typeof CreatedInbox>;

export const InboxList = Type.Object(
  {
    inboxes: Type.Array(ref(Inbox), { description: 'Live inboxes, newest first.' }),
    hasMore: HasMore,
  },
  { $id: 'InboxList', description: 'A page of inboxes.' },
);
export type InboxList = Static<typeof InboxList>;

export const DeletedInboxes = Type.Object(
  { deleted: Type.Integer({ description: 'Number of deleted inboxes.', examples: [12] }) },
  { $id: 'DeletedInboxes', description: 'Result of a deletion by label.' },
);
export type DeletedInboxes = Static<typeof DeletedInboxes>;

const LABEL_PARAMETER = { [`^label\\.${LABEL_LETTERS}$`]: LabelValue };

/** Query of `DELETE /v1/inboxes`: `label.NAME=value`, at least one. */
export const InboxLabelQuery = Type.Unsafe<Record<string, string>>(
  Type.Object({}, { ...closed, patternProperties: LABEL_PARAMETER, maxProperties: MAX_LABELS }),
);

/** Limit of the search text: each word is compared with every inbox of the account. */
const MAX_WORDS = 200;

/** Query of `GET /v1/inboxes`: `label.NAME=value` besides the page. */
export const InboxQuery = Type.Object(
  {
    q: Type.Optional(
      Type.String({
        description:
          'Only inboxes with all of these words, each anywhere in the address or in a label; `run=47` is the beginning of the value of a label. Case is ignored.',
        minLength: 1,
        maxLength: MAX_WORDS,
        examples: ['signup run=47'],
      }),
    ),
    address: Type.Optional(
      Type.String({
        description:
          'Only the inbox that receives mail for this address. The comparison ignores case and a `+tag`. Write a `+` as `%2B`, as in every URL.',
        maxLength: MAX_ADDRESS,
        examples: ['signup-test@mayfly.test'],
      }),
    ),
    limit: Type.Optional(Limit),
    before: Type.Optional(
      Type.String({ description: 'An inbox id: only inboxes that were created earlier.' }),
    ),
  },
  { ...closed, patternProperties: LABEL_PARAMETER, maxProperties: MAX_LABELS + 4 },
);
export type InboxQuery = Static<typeof InboxQuery>;

export const InboxParams = Type.Object({ id: InboxId });

/** Headers of idempotent requests. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        '1 to 255 visible ASCII characters of your choice. A request of the same account with the same key and body within 24 hours returns the same inbox, with its token.',
      examples: ['run-4711-worker-3'],
    }),
  ),
});
