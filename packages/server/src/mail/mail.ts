import type { Attachment, Envelope, Message, MessageSummary } from '@mayfly/client/contract';
import type { PartIndex } from './mime/part-index.ts';

/* Stored as JSON without ids, times or URLs, so that a mail to several inboxes is parsed and stored once. */

export type {
  InnerMessage,
  MailAddress,
  MailCode,
  MailHeader,
  MailImage,
  MailLink,
} from '@mayfly/client/contract';

/** A part that is not the text or html of the message, inline parts included. Its id is the same at every reading. */
export type MailAttachment = Omit<Attachment, 'url' | 'content'>;

type Contained = 'from' | 'to' | 'cc' | 'subject' | 'preview' | 'attachmentCount' | 'inlineCount' | 'codes';

/** Small (see limits.ts), because lists return it. `via` comes from the envelope. */
export type MailSummary = Pick<MessageSummary, Contained | 'via'>;

type Headers =
  | 'replyTo'
  | 'bcc'
  | 'sender'
  | 'date'
  | 'rfcMessageId'
  | 'inReplyTo'
  | 'references'
  | 'headers';

export interface MailContent
  extends Pick<Message, Headers | 'html' | 'text' | 'htmlText' | 'images' | 'links'> {
  attachments: MailAttachment[];
  /** What only `htmlText` says, not `text`; for searches and the `text` filter. */
  htmlWords: string | null;
}

export const NO_CONTENT: MailContent = {
  replyTo: [],
  bcc: [],
  sender: null,
  date: null,
  rfcMessageId: null,
  inReplyTo: null,
  references: [],
  headers: [],
  html: null,
  text: null,
  htmlWords: null,
  htmlText: null,
  images: [],
  attachments: [],
  links: [],
};

export interface ParsedMail {
  summary: MailSummary;
  content: MailContent;
  index: PartIndex;
  /** Why the mail was not parsed completely; null if it was. */
  parseError: string | null;
}

/** Result words of RFC 8601 section 2.7, such as `pass` or `none`. */
export interface MailAuthentication {
  /** RFC 7208, for the MAIL FROM domain, or the HELO name of a bounce. */
  spf: string;
  /** RFC 6376, the best of all signatures. */
  dkim: string;
  /** RFC 9989, for the domain of the From header. */
  dmarc: string;
}

/** Without recipients. */
export type MailEnvelope = Omit<Envelope, 'rcptTo'> & {
  /** Tags and metadata that a provider gives back in events; not shown. */
  given?: Readonly<Record<string, unknown>>;
};

/** None of these types can contain a script. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/bmp',
]);
