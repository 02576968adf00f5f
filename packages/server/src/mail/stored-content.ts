import { joinTexts } from './bodies.ts';
import { MessageFields } from './fields.ts';
import { cut } from './limits.ts';
import { type MailContent, type MailHeader, type MailImage, NO_CONTENT, type ParsedMail } from './mail.ts';
import type { ContentWords } from './matching/compared-content.ts';
import { decodeAs } from './mime/charset.ts';
import { readHeader } from './mime/header.ts';
import {
  bodyBytes,
  type PartIndex,
  type PartRole,
  readIndex,
  type WrittenIndex,
  writeIndex,
} from './mime/part-index.ts';

/*
 * How the content of a message is stored beside its raw source: with the index of its parts, and without
 * what the raw source has and what is cheap to decode from it when the message is read. How much is left
 * out depends on the size of the result, so that no mail takes much more space than its raw source.
 */

/**
 * Largest raw source, in bytes, that is read as a whole with its message; its html and headers are not stored
 * again. Larger ones are mostly attachments, and reading them for the html would cost more.
 */
export const MAX_DERIVED_BYTES = 64 * 1024;

/**
 * Largest size of summary and content, as a multiple of the raw source. Ordinary mails take less than
 * one; control characters in a text would take six, and a charset of one byte a character three.
 */
export const MAX_STORED_RATIO = 2;
/** Added to that for the tables of small mails, bytes: a message with many short parts or recipients. */
export const STORED_ALLOWANCE_BYTES = 32 * 1024;
/**
 * Largest stored summary and content of any mail, bytes: they are written in one step and parsed on the main
 * thread, in a few milliseconds each. A longer text is decoded from the raw source when it is needed.
 */
export const MAX_STORED_BYTES = 2 * 1024 * 1024;
/** Only of larger raw sources is a text left out that {@link MAX_STORED_RATIO} allows. */
export const MAY_LACK_TEXT_BYTES = (MAX_STORED_BYTES - STORED_ALLOWANCE_BYTES) / MAX_STORED_RATIO;
/** Characters of a body that is not stored: what webhooks send of it. */
const MAX_BEGINNING = 256 * 1024;
/** UTF-8 JSON takes at most so many bytes for a UTF-16 code unit, as in `\u0001`. */
const MAX_CHARACTER_BYTES = 6;
/** The same without control characters, quotes and backslashes. */
const MAX_LETTER_BYTES = 3;

/** What may be missing in a stored content. */
type FromSource = 'html' | 'htmlText' | 'images' | 'text' | 'headers';

/** A content as it is stored, as JSON. */
export interface StoredContent extends Omit<MailContent, FromSource> {
  /** Missing where it is decoded from the raw source; then so are the headers, and what is read of it. */
  html?: string | null;
  htmlText?: string | null;
  images?: MailImage[];
  headers?: MailHeader[];
  /** Missing where the text takes more space than its bytes in the raw source, or is longer than may be stored. */
  text?: string | null;
  /** The beginnings of bodies of a large mail that are not stored. */
  beginnings?: { text: string | null; html: string | null };
  /** Missing where a mail could not be read. */
  index?: WrittenIndex;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Stored where all else would take more space than it may: the mail is parsed again when it is read. */
interface UnstoredContent {
  isUnstored: true;
  /** For the `text` filter. */
  htmlWords: string | null;
}

export type AnyStoredContent = StoredContent | UnstoredContent;

/** A content as far as it is known without the raw source. */
export interface KnownContent {
  content: MailContent;
  /** Where the parts are; null where that is not known. */
  index: PartIndex | null;
  /** Whether the raw source has more than `content`: bodies are null or cut, or lists are empty. */
  isPartial: boolean;
}

/** What is known of a stored content of a mail of more than {@link MAX_DERIVED_BYTES} without its raw source. */
export function knownContent(stored: AnyStoredContent): KnownContent {
  if ('isUnstored' in stored) {
    return { content: { ...NO_CONTENT, htmlWords: stored.htmlWords }, index: null, isPartial: true };
  }
  const { index: written, beginnings, html, htmlText, images = [], text, headers, ...rest } = stored;
  return {
    content: {
      ...rest,
      html: html ?? beginnings?.html ?? null,
      htmlText: htmlText ?? null,
      images,
      text: text ?? beginnings?.text ?? null,
      headers: headers ?? [],
    },
    index: written === undefined ? null : readIndex(written),
    isPartial: html === undefined || text === undefined || headers === undefined,
  };
}

/**
 * The JSON text of a mail's content, to be stored.
 * @param size of the raw source, bytes
 * @param summaryBytes of the stored summary
 */
export function contentJson(
  { content, index }: Pick<ParsedMail, 'content' | 'index'>,
  size: number,
  summaryBytes = 0,
): string {
  if (index.length === 0) return JSON.stringify(content);
  const ofSource = MAX_STORED_RATIO * size + STORED_ALLOWANCE_BYTES;
  const budget = Math.min(ofSource, MAX_STORED_BYTES) - summaryBytes;
  const { html, htmlText, images, text, headers, ...rest } = content;
  const kept = { ...rest, index: writeIndex(index) };
  if (size <= MAX_DERIVED_BYTES) {
    return jsonWithin(budget, { ...kept, text }) ?? jsonWithoutText(budget, kept, text);
  }
  const beginnings = { text: beginningOf(text), html: beginningOf(html) };
  return (
    jsonWithin(budget, { ...kept, text, html, htmlText, images, headers }) ??
    jsonWithin(budget, { ...kept, text, headers, beginnings }) ??
    jsonWithin(budget, { ...kept, headers, beginnings }) ??
    jsonWithoutText(budget, kept, text)
  );
}

const beginningOf = (body: string | null): string | null => body && cut(body, MAX_BEGINNING);

function jsonWithoutText(budget: number, kept: Omit<StoredContent, FromSource>, text: string | null): string {
  const words = text ?? kept.htmlWords;
  const maxCharacters = Math.max(0, Math.floor(budget / 2 / MAX_LETTER_BYTES));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what JSON writes as an escape sequence
  const htmlWords = words && cut(words, maxCharacters).replaceAll(/[\x00-\x1f"\\]+/g, ' ');
  const unstored: UnstoredContent = { isUnstored: true, htmlWords };
  return jsonWithin(budget, { ...kept, htmlWords }) ?? JSON.stringify(unstored);
}

/** The JSON text of a content; undefined where it takes more than `budget` bytes. */
function jsonWithin(budget: number, content: StoredContent): string | undefined {
  // Texts are measured first: 48 MB of control characters would become a string of 288 MB.
  let left = budget;
  for (const body of [content.text, content.html, content.htmlText]) left -= body ? jsonBytes(body, left) : 0;
  if (left < 0) return undefined;
  const json = JSON.stringify(content);
  return MAX_LETTER_BYTES * json.length <= budget || Buffer.byteLength(json) <= budget ? json : undefined;
}

/**
 * Bytes of a text as UTF-8 JSON, or an estimate that is too high but within `limit`; above `limit` where it is
 * longer.
 */
function jsonBytes(text: string, limit: number): number {
  const most = MAX_CHARACTER_BYTES * text.length;
  if (most <= limit) return most;
  let bytes = 0;
  for (let at = 0; at < text.length && bytes <= limit; at++) bytes += characterBytes(text.charCodeAt(at));
  return bytes;
}

/** Of one code unit: half of a surrogate pair takes two bytes, as a pair takes four. */
function characterBytes(code: number): number {
  if (code < 0x20) return code === LF || code === CR || code === TAB ? 2 : MAX_CHARACTER_BYTES;
  if (code < 0x80) return code === QUOTE || code === BACKSLASH ? 2 : 1;
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  return code < 0x800 || isSurrogate ? 2 : MAX_LETTER_BYTES;
}

/**
 * What conditions read of a stored content. The text of a large mail is decoded from its raw source where it
 * is not stored; of a mail whose content is not stored at all, and of a text that takes more space than its
 * bytes in the raw source, only the beginning is known.
 * @param size of the raw source, bytes
 * @param load loads the raw source
 */
export async function readWords(
  stored: AnyStoredContent,
  size: number,
  load: () => Promise<Uint8Array>,
): Promise<ContentWords> {
  if ('isUnstored' in stored)
    return { text: null, links: [], rfcMessageId: null, htmlWords: stored.htmlWords };
  const { text = null, htmlWords, links, rfcMessageId, index: written } = stored;
  const index =
    stored.text === undefined && size > MAY_LACK_TEXT_BYTES && written ? readIndex(written) : null;
  if (!index) return { text, htmlWords, links, rfcMessageId };
  const { buffer, byteOffset, byteLength } = await load();
  const decoded = bodyOf(Buffer.from(buffer, byteOffset, byteLength), index, 'text');
  return { text: decoded, htmlWords, links, rfcMessageId };
}

/**
 * A content as it was before it was stored.
 * @param raw the whole raw source, or what loads it; loaded only where `stored` lacks what is in it
 * @returns the index, or null where the mail could not be read
 */
export async function readContent(
  stored: AnyStoredContent,
  raw: Uint8Array | (() => Promise<Uint8Array>),
): Promise<{ content: MailContent; index: PartIndex | null }> {
  const load = async () => {
    const { buffer, byteOffset, byteLength } = typeof raw === 'function' ? await raw() : raw;
    return Buffer.from(buffer, byteOffset, byteLength);
  };
  if ('isUnstored' in stored) {
    // Loaded here because the main thread needs the parser for nothing else.
    const { parseMail } = await import('./parse.ts');
    return parseMail(await load());
  }
  const { index: written, html, htmlText, images, text, headers, ...content } = stored;
  const index = written === undefined ? null : readIndex(written);
  if (html !== undefined && text !== undefined && headers !== undefined) {
    return {
      content: { ...content, html, htmlText: htmlText ?? null, images: images ?? [], text, headers },
      index,
    };
  }
  const source = await load();
  const { fields } = readHeader(source, 0, source.length);
  const decoded = bodyOf(source, index ?? [], 'html');
  return {
    content: {
      ...content,
      html: decoded,
      ...(await pageOf(decoded)),
      text: text === undefined ? bodyOf(source, index ?? [], 'text') : text,
      headers: new MessageFields(source, fields).headers,
    },
    index,
  };
}

async function pageOf(html: string | null): Promise<Pick<MailContent, 'htmlText' | 'images'>> {
  if (html === null) return { htmlText: null, images: [] };
  const { readHtml, textOfPage } = await import('./extract/html.ts');
  const page = readHtml(html);
  return { htmlText: textOfPage(page), images: page.images };
}

function bodyOf(source: Buffer, index: PartIndex, role: PartRole): string | null {
  const parts = index.filter((part) => part.role === role);
  return joinTexts(parts.map((part) => decodeAs(bodyBytes(source, part), part.charset)));
}
