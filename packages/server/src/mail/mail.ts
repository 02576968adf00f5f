import type { Attachment, Envelope, Message, MessageSummary } from '@mayfly/client/contract';
import type { PartIndex } from './mime/part-index.ts';

/* The stored JSON of a mail has no message id, receipt time or URL, so that several inboxes can share it. */

export type MailAttachment = Omit<Attachment, 'url' | 'content'>;

type Contained = 'from' | 'to' | 'cc' | 'subject' | 'preview' | 'attachmentCount' | 'inlineCount' | 'codes';

/** Limited in size (limits.ts), because lists return many summaries. Only `via` comes from the envelope. */
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
  /** Text that only the HTML contains. Searches and the `text` filter use it. */
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
  parseError: string | null;
}

/** Result words of RFC 8601 section 2.7, such as `pass` or `none`. */
export interface MailAuthentication {
  /** SPF result (RFC 7208) for the MAIL FROM domain, or for the HELO name if the sender is empty. */
  spf: string;
  dkim: string;
  dmarc: string;
}

export type MailEnvelope = Omit<Envelope, 'rcptTo'> & {
  /** Tags and metadata for webhook events in another provider's format. Mayfly's API does not return them. */
  given?: Readonly<Record<string, unknown>>;
};

/** Image types that cannot contain a script. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(
  ['png', 'jpeg', 'gif', 'webp', 'bmp'].map((subtype) => `image/${subtype}`),
);
