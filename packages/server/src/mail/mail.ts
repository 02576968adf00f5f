import type { PartIndex } from './mime/part-index.ts';

/*
 * The contents of a mail, once it is parsed. These shapes are stored as JSON and have no ids, times or
 * URLs, so that one mail to several inboxes is parsed and stored once.
 */

/** One mailbox of an address header (RFC 5322 section 3.4); groups are flattened. */
export interface MailAddress {
  address: string;
  /** Decoded display name, or '' when there was none. */
  name: string;
}

/** A one-time code found in a mail, with the words around it. */
export interface MailCode {
  /** What a person types: groups of digits joined (`482910` for `482 910`), other hyphens kept (`G-482910`). */
  value: string;
  context: string;
}

export type LinkKind = 'verify' | 'reset' | 'sign-in' | 'unsubscribe' | 'other';

/** A link exactly as in the mail, with its HTML entities decoded and nothing else changed. */
export interface MailLink {
  href: string;
  /** The visible words of the link; '' where there are none. */
  text: string;
  kind: LinkKind;
}

/** An image of the page. */
export interface MailImage {
  /** The attribute, its entities decoded: an address, or `cid:` and a Content-ID. A `data:` URI is cut. */
  src: string;
  /** The alternative text; null where the attribute is missing. */
  alt: string | null;
}

/** A message that is attached to another one, such as a forwarded mail or the original of a bounce. */
export interface InnerMail {
  subject: string;
  from: MailAddress | null;
  to: MailAddress[];
  /** As in {@link MailContent}. */
  date: string | null;
  text: string | null;
  html: string | null;
  links: MailLink[];
  codes: MailCode[];
}

/** A part that is not the text or html of the message, inline parts included. */
export interface MailAttachment {
  /** `att_1`, `att_2`, … in order of appearance: unique within its message, and the same at every reading. */
  id: string;
  filename: string | null;
  /** `type/subtype` in lower case; application/octet-stream where the mail's is not of that form. */
  contentType: string;
  /** Parameters of the content type, such as `charset` and `method`; names in lower case. */
  parameters: Record<string, string>;
  /** Decoded size in bytes. */
  size: number;
  /** As declared; undeclared, what has a Content-ID or is within multipart/related or alternative is inline. */
  disposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  contentId: string | null;
  /** SHA-256 of the decoded bytes, hex. */
  sha256: string;
  /** Of a message/rfc822 part. Messages within it are attachments that are not read. */
  message?: InnerMail;
}

export interface MailHeader {
  name: string;
  /** Unfolded (RFC 5322 section 2.2.3) and decoded (RFC 2047). */
  value: string;
}

/** What lists show of a mail and filters compare; small (see limits.ts). */
export interface MailSummary {
  from: MailAddress | null;
  to: MailAddress[];
  cc: MailAddress[];
  subject: string;
  /** At most 200 characters of the visible text, white space folded. */
  preview: string;
  /** Parts with disposition `attachment`. */
  attachmentCount: number;
  /** Parts with disposition `inline` that are not the body: pictures of the page, calendar entries. */
  inlineCount: number;
  /** Best first; empty when unsure. */
  codes: MailCode[];
}

/** The rest of a mail; read only when a message is read in full. */
export interface MailContent {
  replyTo: MailAddress[];
  bcc: MailAddress[];
  /** Of the Sender header, or null. */
  sender: MailAddress | null;
  /** The sender's Date header as RFC 3339, or null when missing or unreadable. */
  date: string | null;
  /** As sent, with its angle brackets; so are `inReplyTo` and `references`. */
  rfcMessageId: string | null;
  inReplyTo: string | null;
  references: string[];
  headers: MailHeader[];
  /** As sent, with `\n` as line end; never made from the other. Null when the mail has no such part. */
  html: string | null;
  text: string | null;
  /** What `htmlText` says and `text` does not, for searches and the `text` filter; not shown. */
  htmlWords: string | null;
  /** The visible words of `html`: a line for each block, a tab between cells. Null without html. */
  htmlText: string | null;
  images: MailImage[];
  attachments: MailAttachment[];
  links: MailLink[];
}

/** The content of a mail that was not read, or of which only the summary is shown. */
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
  /** Where each part is in the raw source. */
  index: PartIndex;
  /** Why the mail was not read, or not completely; null if it was. */
  parseError: string | null;
}

/** What is known of a mail's sender: one word of RFC 8601 section 2.7 each, such as `pass` or `none`. */
export interface MailAuthentication {
  /** May the sending host send for the MAIL FROM domain, or for the HELO name of a bounce (RFC 7208)? */
  spf: string;
  /** The best of the mail's signatures (RFC 6376). */
  dkim: string;
  /** Did one of the two pass for the domain of the From header (RFC 9989)? */
  dmarc: string;
}

/** The envelope of a mail (RFC 5321 section 2.3.1), less its recipients. */
export interface MailEnvelope {
  /** '' is the null reverse-path. */
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  tls: boolean;
}
