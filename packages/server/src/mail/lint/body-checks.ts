import { isAscii, isUtf8 } from 'node:buffer';
import { MAX_HTML_TEXT } from '../limits.ts';
import { isKnownCharset, isSevenBit } from '../mime/charset.ts';
import { bodyBytes, withRole } from '../mime/part-index.ts';
import type { Part } from '../mime/parts.ts';
import type { Case, LintedMail } from './finding.ts';
import { shortened } from './page-places.ts';

const CLIPPED_BYTES = 102 * 1024;

const textParts = ({ parts: { all } }: LintedMail): Part[] => [
  ...withRole(all, 'text'),
  ...withRole(all, 'html'),
];
const charsetOf = (part: Part): string => (part.parameters.get('charset') ?? '').trim().toLowerCase();

export const wrongCharsets = (mail: LintedMail): Case[] =>
  textParts(mail).flatMap((part) => {
    const message = charsetProblem(mail.source, part);
    return message === undefined ? [] : [{ message, where: part.type }];
  });

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

export const missingCharsets = (mail: LintedMail): string[] =>
  textParts(mail)
    .filter((part) => charsetOf(part) === '' && !isAscii(bodyBytes(mail.source, part)))
    .map(({ type }) => type);

export const missingText = ({ mail: { content } }: LintedMail): (string | null)[] =>
  !content.text?.trim() && (content.htmlText?.trim() || content.images.length > 0) ? [null] : [];

const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .replace(/https?:\/\/\S+/g, ' ')
      .toLowerCase()
      .match(/[\p{L}\p{N}]{2,40}/gu) ?? [],
  );

export function differentText({ mail: { content } }: LintedMail): Case[] {
  if (!content.text?.trim() || content.htmlText === null) return [];
  const shown = wordsOf(content.htmlText);
  if (shown.size < 20) return [];
  // `htmlText` was cut to this length too, so that both texts cover the same part of the mail.
  const text = wordsOf(content.text.slice(0, MAX_HTML_TEXT));
  const shared = [...shown].filter((word) => text.has(word)).length / shown.size;
  if (shared >= 0.2) return [];
  const message = `The text has ${Math.round(100 * shared)} % of the words of the HTML. Both must say the same, since each recipient sees one of them.`;
  return [{ message, where: 'text/plain' }];
}

export function clippedHtml({ mail: { content } }: LintedMail): Case[] {
  const bytes = Buffer.byteLength(content.html ?? '');
  if (bytes <= CLIPPED_BYTES) return [];
  const message = `The HTML has ${Math.ceil(bytes / 1024)} KB. Gmail shows the first 102 KB, so the end, often the unsubscribe link, is hidden.`;
  return [{ message, where: 'text/html' }];
}

const NOT_SAVED = /^(?:message\/|text\/rfc822-headers|multipart\/|application\/(?:pgp|(?:x-)?pkcs7)-)/;

export function filesWithoutName({ mail: { content }, parts }: LintedMail): Case[] {
  // The parts of an encrypted message are read by mail programs, not saved as files (RFC 3156 section 4).
  if (parts.root.type === 'multipart/encrypted') return [];
  return (
    content.attachments
      .filter(({ disposition, filename }) => disposition === 'attachment' && filename === null)
      .filter(({ contentType }) => !NOT_SAVED.test(contentType))
      // An invitation needs no file name, because calendar programs read it directly (RFC 6047 section 2.4).
      .filter(({ contentType, parameters }) => contentType !== 'text/calendar' || !('method' in parameters))
      .map(({ id, contentType }) => ({
        message: `The attachment of type ${contentType} has no file name. Add a "filename" to its Content-Disposition.`,
        where: id,
      }))
  );
}

/** Placeholders of Mustache, Jinja, ERB, JavaScript, PHP mailers and Mailchimp, and a stringified object. */
const PLACEHOLDER =
  /\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|<%[^%\n]{1,60}%>|\$\{[\w.]{1,60}\}|%%[\w ]{1,40}%%|\*\|[\w:]{1,40}\|\*|\[object Object\]/;
const IN_ADDRESS =
  /\{\{[^{}]{1,60}\}\}|%7B%7B.{1,60}?%7D%7D|\$\{[\w.]{1,60}\}|\*\|[\w:]{1,40}\|\*|\[object(?: |%20)Object\]|^https?:\/\/undefined\b|\/undefined(?=[/?#]|$)/i;
const GREETING =
  /^(?:hi|hello|hey|dear|hallo|liebe[rs]?|guten tag|bonjour|hola|olá|ciao|beste|cześć|hej|merhaba)\b/i;
const NO_NAME = /\b(?:undefined|null|None|NaN)\b/;
const EMPTY_NAME = /^(?:hi|hello|hey|dear|hallo) ,/i;
const MAX_LINES = 12;
const MAX_GREETING = 80;
const MAX_READ = 4 * 1024;

export function unfilledTemplates(linted: LintedMail): Case[] {
  const { summary, content } = linted.mail;
  const inSubject = mayQuote(linted) ? undefined : PLACEHOLDER.exec(summary.subject)?.[0];
  const greeting = brokenGreeting(content.text ?? '') ?? brokenGreeting(content.htmlText ?? '');
  const found: (readonly [where: string, found: string | undefined])[] = [
    ['Subject', inSubject],
    ['greeting', greeting],
    ...content.links.map(({ href }) => [href.slice(0, 100), IN_ADDRESS.exec(href)?.[0]] as const),
  ];
  return found.flatMap(([where, value]) => {
    if (value === undefined) return [];
    const message = `"${value}" stands where a value belongs. Check that the template gets its data, under the names that it uses.`;
    return [{ message, where }];
  });
}

function brokenGreeting(text: string): string | undefined {
  const lines = text.slice(0, MAX_READ).split('\n').slice(0, MAX_LINES);
  return lines
    .map((line) => line.trim())
    .filter((line) => line.length <= MAX_GREETING && GREETING.test(line))
    .find((line) => PLACEHOLDER.test(line) || NO_NAME.test(line) || EMPTY_NAME.test(line));
}

/** Placeholders in replies, forwards and mail of mailing lists may be quotations. */
function mayQuote({ parts, mail: { summary, content } }: LintedMail): boolean {
  return (
    content.inReplyTo !== null ||
    content.references.length > 0 ||
    parts.header.fields.some(({ key }) => key === 'list-id') ||
    /^\s*(?:re|fwd?|aw|wg|tr|rv)\s*:/i.test(summary.subject)
  );
}

export function brokenCids({ mail: { content }, urls }: LintedMail): Case[] {
  const ids = new Set(content.attachments.map(({ contentId }) => contentId));
  return urls
    .filter((url) => /^cid:/i.test(url))
    .map((url) => url.slice('cid:'.length))
    .filter((id) => !ids.has(id) && !ids.has(decoded(id)))
    .map((id) => ({
      message: `No part has the Content-ID <${shortened(id)}>, so the image is broken.`,
      where: shortened(`cid:${id}`),
    }));
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
