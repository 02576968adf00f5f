/*
 * Bounds of the fields of a message, in characters (UTF-16 code units) unless they say otherwise. What is
 * longer is cut, and the whole is in `headers` and in the raw source. The summary has the tightest bounds,
 * because a list shows 200 of them and every stream and webhook sends it. `packages/client/src/contract`
 * tells the same figures; a test compares them.
 */

/** A header line has at most 998 octets (RFC 5322 section 2.1.1), and no mail program shows more of a subject. */
export const MAX_SUBJECT = 1_000;
/** A display name, of any mailbox. Longer ones are no names. */
export const MAX_MAILBOX_NAME = 200;
/** 64 octets of local part, the at sign and 255 of domain (RFC 5321 section 4.5.3.1). */
export const MAX_MAILBOX_ADDRESS = 320;
/** Mailboxes of one header field such as To: as many recipients as an SMTP transaction of this server takes. */
export const MAX_MAILBOXES = 100;
/** Names and addresses of one header field together: 100 mailboxes of 80 characters. */
export const MAX_MAILBOX_CHARACTERS = 8_000;
/** What a list shows of the text. */
export const MAX_PREVIEW = 200;
/** Message-ID, In-Reply-To, each id of References, Content-ID: one header line each (RFC 5322 section 2.1.1). */
export const MAX_ID = 1_000;
/** File names are at most 255 bytes on most file systems; the rest is for paths that senders leave in. */
export const MAX_FILENAME = 1_024;
/** The value of one parameter of an attachment's content type, such as `charset`. */
export const MAX_PARAMETER_VALUE = 1_000;

/** The visible words of a page. */
export const MAX_HTML_TEXT = 256 * 1024;
/** Images of a page; real mails have tens. */
export const MAX_IMAGES = 200;
/** The address of an image, which is longer only as a `data:` URI; and its alternative text. */
export const MAX_IMAGE_TEXT = 2_048;
/** Attached messages of one mail that are read; a digest has more, and each costs as much as a mail. */
export const MAX_INNER_MESSAGES = 20;

/** The beginning of a text; never ends within a surrogate pair. */
export function cut(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '');
}
