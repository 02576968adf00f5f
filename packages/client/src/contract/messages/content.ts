import { type Static, Type } from 'typebox';
import { AttachmentId } from '../common.ts';
import { nullable, ref } from '../ref.ts';

/** Limits in characters. `mail/limits.ts` of the server gives the reasons; a test compares both. */
const MAX_ADDRESS = 320;
const MAX_NAME = 200;
export const MAX_MAILBOXES = 100;
export const MAX_SUBJECT = 1_000;
export const MAX_ID = 1_000;
const MAX_FILENAME = 1_024;
const MAX_PARAMETER_VALUE = 1_000;
const MAX_IMAGE_TEXT = 2_048;

export const MailAddress = Type.Object(
  {
    address: Type.String({
      description: 'The address. A longer one is cut; `headers` has all of it.',
      maxLength: MAX_ADDRESS,
      examples: ['no-reply@shop.example'],
    }),
    name: Type.String({
      description: "The display name, decoded; '' without one. A longer one is cut; `headers` has all of it.",
      maxLength: MAX_NAME,
      examples: ['Shop'],
    }),
  },
  { $id: 'MailAddress', description: 'A mailbox of a header (RFC 5322 section 3.4).' },
);
export type MailAddress = Static<typeof MailAddress>;

export const MailCode = Type.Object(
  {
    value: Type.String({ description: 'The code.', examples: ['482913'] }),
    context: Type.String({
      description: 'The words around the code.',
      examples: ['Your code is 482913.'],
    }),
  },
  { $id: 'MailCode', description: 'A one-time code found in a message.' },
);
export type MailCode = Static<typeof MailCode>;

export const MailLink = Type.Object(
  {
    href: Type.String({
      description: 'The target, exactly as in the message.',
      examples: ['https://shop.example/confirm?token=abc'],
    }),
    text: Type.String({
      description: "The visible words of the link; '' without any.",
      examples: ['Confirm your address'],
    }),
    kind: Type.Enum(['verify', 'reset', 'sign-in', 'unsubscribe', 'other'], {
      description: 'The probable purpose of the link.',
    }),
  },
  { $id: 'MailLink', description: 'A link found in a message.' },
);
export type MailLink = Static<typeof MailLink>;

export const MailHeader = Type.Object(
  {
    name: Type.String({ description: 'Name as in the message.', examples: ['Subject'] }),
    value: Type.String({
      description: 'Value, unfolded and decoded.',
      examples: ['Please confirm your address'],
    }),
  },
  { $id: 'MailHeader', description: 'A header field.' },
);
export type MailHeader = Static<typeof MailHeader>;

export const MailImage = Type.Object(
  {
    src: Type.String({
      description:
        'The `src` attribute: a URL, or `cid:` and the `contentId` of an attachment. A `data:` URI is cut. Nothing is fetched.',
      maxLength: MAX_IMAGE_TEXT,
      examples: ['https://shop.example/logo.png'],
    }),
    alt: nullable(Type.String({ maxLength: MAX_IMAGE_TEXT }), {
      description: "The `alt` attribute; null without one, '' for a decorative image.",
    }),
  },
  { $id: 'MailImage', description: 'An image in the HTML body of a message.' },
);
export type MailImage = Static<typeof MailImage>;

export const StructurePart = Type.Object(
  {
    part: Type.String({
      description:
        "The place of the part, as in IMAP: `1`, and `2.1` for the first part within the second. '' for the outermost multipart.",
      examples: ['2.1'],
    }),
    contentType: Type.String({
      description: 'The media type, `type/subtype` in lower case.',
      examples: ['text/html'],
    }),
    size: Type.Integer({ description: 'Bytes of the body as sent, not decoded.' }),
    disposition: nullable(Type.String(), {
      description: 'Content-Disposition, in lower case; null without one.',
    }),
    filename: nullable(Type.String({ maxLength: MAX_FILENAME }), {
      description: 'File name as declared; null without one.',
    }),
    contentId: nullable(Type.String({ maxLength: MAX_ID }), {
      description: 'Content-ID without angle brackets; null without one.',
    }),
  },
  { $id: 'StructurePart', description: 'A part of the MIME structure of a message.' },
);
export type StructurePart = Static<typeof StructurePart>;

export const InnerMessage = Type.Object(
  {
    subject: Type.String({
      description: "The decoded Subject header; '' without one.",
      maxLength: MAX_SUBJECT,
    }),
    from: nullable(ref(MailAddress), {
      description: 'The first author of the From header; null without one.',
    }),
    to: Type.Array(ref(MailAddress), {
      description: 'Recipients of the To header.',
      maxItems: MAX_MAILBOXES,
    }),
    date: nullable(Type.String({ format: 'date-time' }), {
      description: 'The Date header; null if it is missing or unreadable.',
    }),
    text: nullable(Type.String(), { description: 'The text body; null when there is none.' }),
    html: nullable(Type.String(), { description: 'The HTML body; null when there is none.' }),
    links: Type.Array(ref(MailLink), { description: 'The links in the message.', maxItems: 200 }),
    codes: Type.Array(ref(MailCode), { description: 'One-time codes in the message.', maxItems: 5 }),
  },
  {
    $id: 'InnerMessage',
    description:
      'What an attachment of type `message/rfc822` says, such as a forwarded message or the original of a bounce; missing for other types. Messages within it are not read, and of one message at most 20 attached ones are.',
  },
);
export type InnerMessage = Static<typeof InnerMessage>;

export const Attachment = Type.Object(
  {
    id: AttachmentId,
    filename: nullable(Type.String({ maxLength: MAX_FILENAME }), {
      description: 'File name as the sender declared it; null without one.',
    }),
    contentType: Type.String({
      description:
        'The media type, always `type/subtype` in lower case; `application/octet-stream` where the sender declared none that is valid.',
      examples: ['application/pdf'],
    }),
    parameters: Type.Record(Type.String(), Type.String({ maxLength: MAX_PARAMETER_VALUE }), {
      description: 'Parameters of the media type, decoded; names in lower case.',
      examples: [{ charset: 'utf-8', method: 'REQUEST' }],
    }),
    size: Type.Integer({ description: 'Size of the decoded bytes, with the line ends as sent.' }),
    disposition: Type.Enum(['attachment', 'inline'], {
      description: '`inline`: meant to be shown within the text. `attachment`: a file of its own.',
    }),
    contentId: nullable(Type.String({ maxLength: MAX_ID }), {
      description: 'Content-ID without angle brackets; null without one.',
    }),
    sha256: Type.String({ description: 'SHA-256 of the decoded bytes, in hex.' }),
    url: Type.String({ description: 'URL of the decoded bytes. Requests need a credential.' }),
    message: Type.Optional(ref(InnerMessage)),
    content: Type.Optional(
      Type.String({
        description: 'The decoded bytes in base64; only with `include=attachmentContent`.',
        contentEncoding: 'base64',
      }),
    ),
  },
  { $id: 'Attachment', description: 'A part that is not the text or html body; inline parts included.' },
);
export type Attachment = Static<typeof Attachment>;
