/*
 * Limits in characters (UTF-16 code units) of parsed values. Longer values are cut; `headers` and the raw
 * source contain the full values. A test checks that `packages/client/src/contract` has the same limits.
 */

/** A header line has at most 998 octets (RFC 5322 section 2.1.1). */
export const MAX_SUBJECT = 1_000;
export const MAX_MAILBOX_NAME = 200;
/** A local part of 64 octets, `@`, and a domain of 255 octets (RFC 5321 section 4.5.3.1). */
export const MAX_MAILBOX_ADDRESS = 320;
export const MAX_MAILBOXES = 100;
export const MAX_MAILBOX_CHARACTERS = 8_000;
export const MAX_PREVIEW = 200;
export const MAX_ID = 1_000;
/** Above the 255 bytes that most file systems allow, because some senders add a path to the name. */
export const MAX_FILENAME = 1_024;
export const MAX_PARAMETER_VALUE = 1_000;

export const MAX_HTML_TEXT = 256 * 1024;
export const MAX_IMAGES = 200;
/** Limit of `src` and `alt` of an image. In practice, only `data:` URIs are longer. */
export const MAX_IMAGE_TEXT = 2_048;
/** Limit of attached messages that are parsed. Parsing one takes as long as parsing a mail. */
export const MAX_INNER_MESSAGES = 20;

/** Never splits a surrogate pair. */
export const cut = (text: string, maxCharacters: number): string =>
  text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '');
