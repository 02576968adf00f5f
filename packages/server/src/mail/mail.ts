import type { PartIndex } from './mime/part-index.ts';

/* Stored as JSON without ids, times or URLs, so that a mail to several inboxes is parsed and stored once. */

/** One mailbox of an address header (RFC 5322 section 3.4); groups are flattened. */
export interface MailAddress {
  address: string;
  /** Decoded; '' without one. */
  name: string;
}

export interface MailCode {
  /** As typed: groups of digits joined (`482910` for `482 910`), other hyphens kept (`G-482910`). */
  value: string;
  context: string;
}

export type LinkKind = 'verify' | 'reset' | 'sign-in' | 'unsubscribe' | 'other';

export interface MailLink {
  href: string;
  /** The visible words; '' without any. */
  text: string;
  kind: LinkKind;
}

export interface MailImage {
  /** Entities decoded: a URL, or `cid:` and a Content-ID. A `data:` URI is cut. */
  src: string;
  /** Null where the attribute is missing. */
  alt: string | null;
}

/** A message that is attached to another one, such as a forwarded mail or the original of a bounce. */
export interface InnerMail {
  subject: string;
  from: MailAddress | null;
  to: MailAddress[];
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
  /** `type/subtype` in lower case; application/octet-stream where the mail's is invalid. */
  contentType: string;
  /** Names in lower case. */
  parameters: Record<string, string>;
  /** Decoded size in bytes. */
  size: number;
  /** Undeclared, a part with a Content-ID or within multipart/related or alternative is inline. */
  disposition: 'attachment' | 'inline';
  /** Without angle brackets. */
  contentId: string | null;
  /** SHA-256 of the decoded bytes, hex. */
  sha256: string;
  /** Of a message/rfc822 part; messages nested in it are not read. */
  message?: InnerMail;
}

export interface MailHeader {
  name: string;
  /** Unfolded (RFC 5322 section 2.2.3) and decoded (RFC 2047). */
  value: string;
}

/** Small (see limits.ts), because lists return it. */
export interface MailSummary {
  from: MailAddress | null;
  to: MailAddress[];
  cc: MailAddress[];
  subject: string;
  /** At most 200 characters of the visible text, white space folded. */
  preview: string;
  attachmentCount: number;
  /** Inline parts that are not the body: images of the HTML, calendar entries. */
  inlineCount: number;
  /** Best first; empty when unsure. */
  codes: MailCode[];
}

export interface MailContent {
  replyTo: MailAddress[];
  bcc: MailAddress[];
  sender: MailAddress | null;
  /** RFC 3339; null when the Date header is missing or invalid. */
  date: string | null;
  /** With angle brackets, like `inReplyTo` and `references`. */
  rfcMessageId: string | null;
  inReplyTo: string | null;
  references: string[];
  headers: MailHeader[];
  /** As sent, with `\n` as line end; null when the mail has no such part. */
  html: string | null;
  text: string | null;
  /** What only `htmlText` says, not `text`; for searches and the `text` filter. */
  htmlWords: string | null;
  /** Visible words of `html`: a line for each block, a tab between cells. */
  htmlText: string | null;
  images: MailImage[];
  attachments: MailAttachment[];
  links: MailLink[];
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

/** RFC 5321 section 2.3.1, without recipients. */
export interface MailEnvelope {
  /** '' for the null reverse-path. */
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  tls: boolean;
}
