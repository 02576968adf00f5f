import { isAscii, isUtf8 } from 'node:buffer';
import { MAX_HTML_TEXT } from '../limits.ts';
import { isKnownCharset, isSevenBit } from '../mime/charset.ts';
import { bodyBytes } from '../mime/part-index.ts';
import type { Part } from '../mime/parts.ts';
import type { LintedMail, Rule } from './finding.ts';

/** Gmail shows only this many bytes of HTML, and a link to the rest. */
const CLIPPED_BYTES = 102 * 1024;
const MIN_WORDS = 20;
const MIN_SHARED = 0.2;

const textParts = ({ bodies }: LintedMail): Part[] => [...bodies.text, ...bodies.html];
const charsetOf = (part: Part): string => (part.parameters.get('charset') ?? '').trim().toLowerCase();

function charsetProblem(source: Buffer, part: Part): string | undefined {
  const bytes = bodyBytes(source, part);
  const charset = charsetOf(part);
  if (charset !== '' && !isKnownCharset(charset)) return `"${charset}" is not a known charset.`;
  if (isAscii(bytes)) return undefined;
  if (charset === 'us-ascii' || charset === 'ascii') {
    return 'The charset is US-ASCII but the body has bytes beyond it. Declare the charset that it is in.';
  }
  if (isSevenBit(charset)) {
    return `The charset is ${charset.toUpperCase()}, which has bytes of seven bits, but the body has others. Declare the charset that it is in.`;
  }
  if (/^utf-?8$/.test(charset) && !isUtf8(bytes)) {
    return 'The charset is UTF-8 but the body is not valid UTF-8. Declare the charset that it is in.';
  }
  return undefined;
}

const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .replace(/https?:\/\/\S+/g, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}]{2,40}/gu) ?? [],
  );

export const BODY_RULES: readonly Rule[] = [
  {
    name: 'wrong-charset',
    severity: 'error',
    reference: 'RFC 2046 section 4.1.2',
    check: (mail) =>
      textParts(mail).flatMap((part) => {
        const message = charsetProblem(mail.source, part);
        return message === undefined ? [] : [{ message, where: part.type }];
      }),
  },
  {
    name: 'missing-charset',
    severity: 'warning',
    reference: 'RFC 2046 section 4.1.2',
    check: (mail) =>
      textParts(mail)
        .filter((part) => charsetOf(part) === '' && !isAscii(bodyBytes(mail.source, part)))
        .map((part) => ({
          message:
            'The body has bytes beyond ASCII and declares no charset. Add "charset=utf-8" to its Content-Type.',
          where: part.type,
        })),
  },
  {
    name: 'missing-text-alternative',
    severity: 'warning',
    reference: 'RFC 2046 section 5.1.4',
    check: ({ mail: { content }, page }) =>
      !content.text?.trim() &&
      !!(content.htmlText?.trim() || page?.images.length) && {
        message:
          'There is HTML but no text. Add a text/plain part in front of it within multipart/alternative.',
        where: null,
      },
  },
  {
    name: 'different-text-alternative',
    severity: 'warning',
    reference: 'RFC 2046 section 5.1.4',
    check: ({ mail: { content } }) => {
      if (!content.text?.trim() || content.htmlText === null) return false;
      const shown = wordsOf(content.htmlText);
      if (shown.size < MIN_WORDS) return false;
      // Cut like htmlText, so that both have the same maximum length.
      const text = wordsOf(content.text.slice(0, MAX_HTML_TEXT));
      const shared = [...shown].filter((word) => text.has(word)).length / shown.size;
      return (
        shared < MIN_SHARED && {
          message: `The text has ${Math.round(100 * shared)} % of the words of the HTML. Both must say the same, since each recipient sees one of them.`,
          where: 'text/plain',
        }
      );
    },
  },
  {
    name: 'clipped-html',
    severity: 'warning',
    reference: 'Gmail clips HTML above 102 KB',
    check: ({ mail: { content } }) => {
      const bytes = Buffer.byteLength(content.html ?? '');
      return (
        bytes > CLIPPED_BYTES && {
          message: `The HTML has ${Math.ceil(bytes / 1024)} KB. Gmail shows the first 102 KB, so the end, often the unsubscribe link, is hidden.`,
          where: 'text/html',
        }
      );
    },
  },
  {
    name: 'attachment-without-filename',
    severity: 'warning',
    reference: 'RFC 2183 section 2.3',
    check: ({ mail: { content }, parts }) =>
      // The parts of an encrypted message are not meant to be saved (RFC 3156 section 4).
      (parts.root.type === 'multipart/encrypted' ? [] : content.attachments)
        .filter(
          ({ disposition, filename, contentType, parameters }) =>
            disposition === 'attachment' &&
            filename === null &&
            !/^(?:message\/|text\/rfc822-headers|multipart\/|application\/(?:pgp|(?:x-)?pkcs7)-)/.test(
              contentType,
            ) &&
            // An invitation that calendars read (RFC 6047 section 2.4).
            !(contentType === 'text/calendar' && 'method' in parameters),
        )
        .map(({ id, contentType }) => ({
          message: `The attachment of type ${contentType} has no file name. Add a "filename" to its Content-Disposition.`,
          where: id,
        })),
  },
];
