import { type Static, Type } from 'typebox';
import {
  AttachmentId,
  closed,
  HasMore,
  InboxId,
  Limit,
  MessageId,
  PLAIN_TEXT,
  Timestamp,
  unit,
} from '../common.ts';
import { PROVIDER_NAMES } from '../providers.ts';
import { nullable, ref } from '../ref.ts';
import {
  Attachment,
  MAX_ID,
  MAX_MAILBOXES,
  MAX_SUBJECT,
  MailAddress,
  MailCode,
  MailHeader,
  MailImage,
  MailLink,
  StructurePart,
} from './content.ts';

/** A filter names a part of a subject or an address; longer ones are a mistake. */
export const MAX_FILTER = 500;
/** Longest time that the response of a list may be delayed, seconds. */
export const MAX_WAIT = 60;
/** Longest form of `since`; nothing valid is longer. */
export const MAX_SINCE = 100;

/** Limits in characters. `mail/limits.ts` of the server gives the reasons; a test compares both. */
const MAX_PREVIEW = 200;
const MAX_HTML_TEXT = 256 * 1024;
const MAX_IMAGES = 200;
const MAX_PARTS = 1_000;

const via = Type.Optional(
  Type.Enum([...PROVIDER_NAMES], {
    description:
      'The provider through whose interface the message was sent; missing for SMTP and injected messages.',
  }),
);

export const Envelope = Type.Object(
  {
    mailFrom: Type.String({ description: "Reverse-path of the MAIL command; '' for a bounce." }),
    rcptTo: Type.Array(Type.String(), {
      description:
        'Recipients of the RCPT commands that this inbox received the message for, with their tags.',
    }),
    helo: Type.String({
      description: "The host name that the client sent with HELO or EHLO; '' for an injected message.",
    }),
    remoteAddress: Type.String({ description: 'The IP address of the SMTP or HTTP client.' }),
    tls: Type.Boolean({ description: 'Whether the SMTP connection used TLS.' }),
    via,
    providerMessageId: Type.Optional(
      Type.String({
        description: 'The id of the message in responses and events of that provider.',
        examples: ['0100019a-6f1c7d3e'],
      }),
    ),
  },
  { $id: 'Envelope', description: 'The SMTP envelope (RFC 5321 section 2.3.1).' },
);
export type Envelope = Static<typeof Envelope>;

export const Authentication = Type.Object(
  {
    spf: nullable(Type.String(), { description: 'Result of SPF (RFC 7208); null if it was not checked.' }),
    dkim: nullable(Type.String(), { description: 'Result of DKIM (RFC 6376); null if it was not checked.' }),
    dmarc: nullable(Type.String(), {
      description: 'Result of DMARC (RFC 9989); null if it was not checked.',
    }),
  },
  { $id: 'Authentication', description: 'Results of sender authentication.' },
);
export type Authentication = Static<typeof Authentication>;

/** Limits of the tags of a message; larger values are content and not tags. */
const MAX_TAGS = 20;
const MAX_TAG = 100;

const Tags = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_TAG, pattern: PLAIN_TEXT, examples: ['reviewed'] }), {
    description,
    maxItems: MAX_TAGS,
  });

/** Body of `PATCH /v1/inboxes/{id}/messages/{messageId}`. */
export const MarkMessage = Type.Object(
  {
    read: Type.Optional(
      Type.Boolean({
        description: 'True marks the message as read, now if it is not yet; false marks it as unread.',
      }),
    ),
    tags: Type.Optional(Tags('Replaces all tags. Tags that differ only in case are one.')),
  },
  {
    ...closed,
    $id: 'MarkMessage',
    description: 'Marks to change.',
    examples: [{ read: true, tags: ['reviewed'] }],
  },
);
export type MarkMessage = Static<typeof MarkMessage>;

/** Mailboxes of one header field. */
const mailboxes = (description: string) =>
  Type.Array(ref(MailAddress), {
    description: `${description} At most ${MAX_MAILBOXES} and 8,000 characters together; with more, \`parseError\` says so, and \`headers\` has all.`,
    maxItems: MAX_MAILBOXES,
  });

const summary = {
  id: MessageId,
  inboxId: InboxId,
  from: nullable(ref(MailAddress), { description: 'The first author of the From header; null without one.' }),
  to: mailboxes('Recipients of the To header.'),
  cc: mailboxes('Recipients of the Cc header.'),
  subject: Type.String({
    description: "The decoded Subject header; '' without one. A longer one is cut; `headers` has all of it.",
    maxLength: MAX_SUBJECT,
    examples: ['Please confirm your address'],
  }),
  preview: Type.String({
    description: 'The first 200 characters of the visible text.',
    maxLength: MAX_PREVIEW,
    examples: ['Your code is 482913.'],
  }),
  receivedAt: Timestamp('When the message was stored. Strictly increasing within an inbox.'),
  size: Type.Integer({ description: 'Size of the raw source in bytes.', examples: [2345] }),
  attachmentCount: Type.Integer({
    description: 'How many parts have disposition `attachment`. Inline parts do not count.',
  }),
  inlineCount: Type.Integer({
    description:
      'How many parts have disposition `inline`: pictures of the page, calendar entries, further alternatives.',
  }),
  hasAttachments: Type.Boolean({ description: 'Whether `attachmentCount` is above 0.' }),
  codes: Type.Array(ref(MailCode), {
    description: 'One-time codes in the message, best first; empty when unsure.',
    maxItems: 5,
  }),
  readAt: nullable(Timestamp('When the message was marked as read.'), {
    description: 'When the message was marked as read; null if it is not. Reading it here does not mark it.',
  }),
  tags: Tags('The tags of the message, as `PATCH` set them.'),
  via,
  rcptTo: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'The envelope recipients of this inbox as given in RCPT TO, where they are not just its address: with a tag, or in a sink or a catch-all inbox. Missing otherwise.',
      examples: [['ada+reset@example.test']],
    }),
  ),
};

export const MessageSummary = Type.Object(summary, {
  $id: 'MessageSummary',
  description: 'A message in a list.',
});
export type MessageSummary = Static<typeof MessageSummary>;

/** A message in full. */
export const Message = Type.Object(
  {
    ...summary,
    replyTo: mailboxes('Addresses of the Reply-To header.'),
    bcc: mailboxes('Recipients of the Bcc header, if the message contains one.'),
    sender: nullable(ref(MailAddress), { description: 'The Sender header; null without one.' }),
    date: nullable(Type.String({ format: 'date-time' }), {
      description: 'The Date header; null if it is missing or unreadable.',
    }),
    rfcMessageId: nullable(Type.String({ maxLength: MAX_ID }), { description: 'The Message-ID header.' }),
    inReplyTo: nullable(Type.String({ maxLength: MAX_ID }), { description: 'The In-Reply-To header.' }),
    references: Type.Array(Type.String({ maxLength: MAX_ID }), {
      description: 'The ids of the References header.',
      maxItems: 1_000,
    }),
    headers: Type.Array(ref(MailHeader), {
      description:
        'The header fields, in order: as many as 2 MiB hold, and about 2,000. With more, `parseError` says so, and the raw source has all.',
    }),
    html: nullable(Type.String(), { description: 'The HTML body as sent; null when there is none.' }),
    text: nullable(Type.String(), {
      description:
        'The text body as sent, `format=flowed` included, never made from the HTML; null when there is none.',
    }),
    htmlText: nullable(Type.String({ maxLength: MAX_HTML_TEXT }), {
      description:
        'The visible words of the HTML body: a line for each block, a tab between the cells of a row; hidden elements are left out. Null when there is no HTML body.',
    }),
    attachments: Type.Array(ref(Attachment), { description: 'All attachments, inline parts included.' }),
    links: Type.Array(ref(MailLink), {
      description:
        'The links in the message, each once, in order: the first 200 of at most 16,384 characters.',
      maxItems: 200,
    }),
    images: Type.Array(ref(MailImage), {
      description: 'The images of the HTML body, in order. They are never fetched.',
      maxItems: MAX_IMAGES,
    }),
    structure: Type.Array(ref(StructurePart), {
      description: 'The MIME structure: all parts in the order of the source, the message itself first.',
      maxItems: MAX_PARTS,
    }),
    envelope: ref(Envelope),
    authentication: nullable(ref(Authentication), {
      description: 'Results of sender authentication; null if the sender was not checked.',
    }),
    rawUrl: Type.String({ description: 'URL of the raw source. Requests need a credential.' }),
    parseError: nullable(Type.String(), {
      description: 'Why the message could not be read in full; null if it could.',
    }),
    truncated: Type.Optional(
      Type.Boolean({
        description:
          'True if the response would have become too large. In a wait, only the fields of a list are filled then, and `envelope.rcptTo`: read the message with `GET /v1/inboxes/{id}/messages/{messageId}`. With `include=attachmentContent`, `content` is missing in some attachments: download them from their `url`. In any other response, texts of more than 128 MiB of JSON are cut: read the raw source.',
      }),
    ),
  },
  { $id: 'Message', description: 'A message in full.' },
);
export type Message = Static<typeof Message>;

/** @param parameter the query parameter that continues the search */
export const SearchedTo = (parameter: string) =>
  Type.Optional(
    Timestamp(
      `Only where a search took more than a second: the time of the oldest message that it looked at. \`hasMore\` is true then, also without a message; pass ${parameter} to continue.`,
    ),
  );

export const MessageList = Type.Object(
  {
    messages: Type.Array(ref(MessageSummary), { description: 'Newest first.' }),
    cursor: Type.String({
      description:
        'Position after the newest message at the time of this response, also if the list is empty. Pass it as `since` to get every later message exactly once. While paging with `before`, keep the cursor of the first page.',
      examples: ['cur_mmbq2x6a_3vZxk1b0Qd8'],
    }),
    hasMore: HasMore,
    searchedTo: SearchedTo('it as `before`'),
  },
  { $id: 'MessageList', description: 'A page of messages.' },
);
export type MessageList = Static<typeof MessageList>;

const filter = (description: string, example: string) =>
  Type.Optional(Type.String({ description, minLength: 1, maxLength: MAX_FILTER, examples: [example] }));

/** Filters of lists and waits. Text is compared without regard to case and may be anywhere in the field. */
export const messageFilters = {
  from: filter('Only messages whose author (address or name) contains this.', 'no-reply@'),
  to: filter(
    'Only messages with a recipient (address or name, To, Cc or envelope) that contains this.',
    'ada+',
  ),
  rcptTo: filter(
    'Only messages with a recipient of the SMTP envelope that contains this; of a catch-all inbox, the address that the mail was sent to.',
    'signup@',
  ),
  subject: filter('Only messages whose subject contains this.', 'confirm'),
  text: filter('Only messages whose plain text part or visible words of the HTML contain this.', 'your code'),
  hasAttachments: Type.Optional(
    Type.Boolean({
      description: 'Only messages with attachments, or only those without. Inline parts do not count.',
    }),
  ),
};

/** Terms of one search; more do not make it more precise. */
export const MAX_SEARCH_TERMS = 20;

export const SearchQuery = Type.Optional(
  Type.String({
    description: `Only messages that match all of these terms, up to ${MAX_SEARCH_TERMS}: words or \`"a phrase"\`, each anywhere in the subject, in an address or display name (From, To, Cc, envelope recipients), or in the visible text; \`from:\` \`to:\` \`cc:\` \`subject:\` \`text:\` \`code:\` \`message-id:\` \`tag:\` with a word or a phrase; \`is:read\`, \`is:unread\`, \`has:attachment\`, \`larger:10k\`, \`smaller:1m\`, \`before:2026-03-04\`, \`after:2026-03-04T05:06:07Z\`. \`-\` before a term excludes what matches it. A word may be a part of a longer one, and case is ignored; codes and tags match as a whole.`,
    minLength: 1,
    maxLength: MAX_FILTER,
    examples: ['invoice from:billing -is:read'],
  }),
);

/** Query of `GET /v1/inboxes/{id}/messages`. */
export const MessageQuery = Type.Object(
  {
    since: Type.Optional(
      Type.String({
        description:
          'Only messages strictly newer than this: a `cursor` of this inbox, a message id, an RFC 3339 time, or milliseconds since 1970. A time is exact only if it is the `receivedAt` of a message; your own clock and that of the server differ, so prefer a cursor.',
        maxLength: MAX_SINCE,
        examples: ['cur_mmbq2x6a_3vZxk1b0Qd8'],
      }),
    ),
    before: Type.Optional(
      Type.String({
        description: 'A message id, or the `searchedTo` of an earlier response: only older messages.',
      }),
    ),
    limit: Type.Optional(Limit),
    wait: Type.Optional(
      Type.Integer({
        ...unit('seconds'),
        description:
          'Seconds for which the response is held while no message matches. After that the list is empty, and `cursor` is still valid. A server that stops responds with 503 `server_stopping`.',
        minimum: 0,
        maximum: MAX_WAIT,
        default: 0,
      }),
    ),
    q: SearchQuery,
    ...messageFilters,
  },
  closed,
);
export type MessageQuery = Static<typeof MessageQuery>;

/**
 * Longest envelope address of a message that is injected; a path has 256 octets with its brackets (RFC 5321
 * section 4.5.3.1.3).
 */
const MAX_ENVELOPE_ADDRESS = 254;

/** Query of `POST /v1/inboxes/{id}/messages`. */
export const InjectQuery = Type.Object(
  {
    mailFrom: Type.Optional(
      Type.String({
        description: 'Sender of the envelope, as of the MAIL command. Default: empty, as of a bounce.',
        maxLength: MAX_ENVELOPE_ADDRESS,
        examples: ['app@example.org'],
      }),
    ),
    rcptTo: Type.Optional(
      Type.String({
        description:
          'Recipient of the envelope, as of the RCPT command. Any address: the message goes to this inbox. Default: the address of the inbox.',
        maxLength: MAX_ENVELOPE_ADDRESS,
        examples: ['signup-test+1@mayfly.test'],
      }),
    ),
  },
  closed,
);
export type InjectQuery = Static<typeof InjectQuery>;

export const ReadMessageQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Enum(['attachmentContent'], {
        description: '`attachmentContent` adds the bytes of the attachments in base64.',
      }),
    ),
  },
  closed,
);
export type ReadMessageQuery = Static<typeof ReadMessageQuery>;

export const MessageParams = Type.Object({ id: InboxId, messageId: MessageId });
export const AttachmentParams = Type.Object({
  id: InboxId,
  messageId: MessageId,
  attachmentId: AttachmentId,
});
