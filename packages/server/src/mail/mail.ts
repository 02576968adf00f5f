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

/** Any part except the text or HTML body, including inline parts. */
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
  /** Text that only the HTML contains; for searches and the `text` filter. */
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
  /** Tags and metadata that events of a provider return; the API does not show them. */
  given?: Readonly<Record<string, unknown>>;
};

/** None of these types can contain a script. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(
  ['png', 'jpeg', 'gif', 'webp', 'bmp'].map((subtype) => `image/${subtype}`),
);
