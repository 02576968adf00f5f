import { joinTexts } from './bodies.ts';
import { MessageFields } from './fields.ts';
import { cut } from './limits.ts';
import { type MailContent, type MailHeader, type MailImage, NO_CONTENT, type ParsedMail } from './mail.ts';
import type { ContentWords } from './matching/compared-content.ts';
import { decodeAs } from './mime/charset.ts';
import { readHeader } from './mime/header.ts';
import { bodyBytes, type PartIndex, type PartRole } from './mime/part-index.ts';

/*
 * Stores content and part index beside the raw source, without what is cheap to decode from it. The size of the result
 * decides what is left out, so that a mail takes little more space than its raw source.
 */

/**
 * Up to this many bytes of raw source, HTML and headers are not stored but decoded on reading. Larger mail is mostly
 * attachments, and costs more to read.
 */
export const MAX_DERIVED_BYTES = 64 * 1024;

/**
 * Largest summary and content as a multiple of the raw source. Ordinary mail takes less than one; control characters
 * would take six.
 */
export const MAX_STORED_RATIO = 2;
/** Bytes added to that, for small mail with many parts or recipients. */
export const STORED_ALLOWANCE_BYTES = 32 * 1024;
/**
 * Bytes; they are written in one step, and parsed on the main thread in a few milliseconds. Longer text is decoded from
 * the raw source.
 */
export const MAX_STORED_BYTES = 2 * 1024 * 1024;
/** Only larger raw sources may lack a text within {@link MAX_STORED_RATIO}. */
export const MAY_LACK_TEXT_BYTES = (MAX_STORED_BYTES - STORED_ALLOWANCE_BYTES) / MAX_STORED_RATIO;
/** Characters of a body that is not stored, which webhooks send. */
const MAX_BEGINNING = 256 * 1024;
/** UTF-8 bytes of a character in JSON, but for control characters, quotes and backslashes. */
const MAX_LETTER_BYTES = 3;

type FromSource = 'html' | 'htmlText' | 'images' | 'text' | 'headers';

export interface StoredContent extends Omit<MailContent, FromSource> {
  /** Missing where it is decoded from the raw source, together with the next three. */
  html?: string | null;
  htmlText?: string | null;
  images?: MailImage[];
  headers?: MailHeader[];
  /** Missing where it exceeds the size limits. */
  text?: string | null;
  /** The first MAX_BEGINNING characters of both bodies, for a large mail with a body that is too long to be stored. */
  beginnings?: { text: string | null; html: string | null };
  /** Missing where the mail could not be parsed. */
  index?: PartIndex;
}

/** Stored when everything else exceeds the limits: the mail is parsed again on reading. */
interface UnstoredContent {
  isUnstored: true;
  htmlWords: string | null;
}

export type AnyStoredContent = StoredContent | UnstoredContent;

export interface KnownContent {
  content: MailContent;
  /** Null when unknown. */
  index: PartIndex | null;
  /** Whether the raw source has more: bodies are null or cut, or lists are empty. */
  isPartial: boolean;
}

/** For mail of more than {@link MAX_DERIVED_BYTES}, without its raw source. */
export function knownContent(stored: AnyStoredContent): KnownContent {
  if ('isUnstored' in stored) {
    return { content: { ...NO_CONTENT, htmlWords: stored.htmlWords }, index: null, isPartial: true };
  }
  const { index = null, beginnings, html, htmlText, images = [], text, headers, ...rest } = stored;
  return {
    content: {
      ...rest,
      html: html ?? beginnings?.html ?? null,
      htmlText: htmlText ?? null,
      images,
      text: text ?? beginnings?.text ?? null,
      headers: headers ?? [],
    },
    index,
    isPartial: html === undefined || text === undefined || headers === undefined,
  };
}

/** @param size of the raw source, bytes @param summaryBytes of the stored summary */
export function contentJson(
  { content, index }: Pick<ParsedMail, 'content' | 'index'>,
  size: number,
  summaryBytes = 0,
): string {
  if (index.length === 0) return JSON.stringify(content);
  const ofSource = MAX_STORED_RATIO * size + STORED_ALLOWANCE_BYTES;
  const budget = Math.min(ofSource, MAX_STORED_BYTES) - summaryBytes;
  const { html, htmlText, images, text, headers, ...rest } = content;
  const kept = { ...rest, index };
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

/** Undefined when the JSON exceeds `budget` bytes. */
function jsonWithin(budget: number, content: StoredContent): string | undefined {
  // Each character takes a byte at least: 48 MB of control characters would become a string of 288 MB.
  const bodies = [content.text, content.html, content.htmlText];
  if (bodies.reduce((sum, body) => sum + (body?.length ?? 0), 0) > budget) return undefined;
  const json = JSON.stringify(content);
  return Buffer.byteLength(json) <= budget ? json : undefined;
}

/**
 * The content that conditions need. A text that is not stored is decoded from a large raw source; otherwise only its
 * beginning is known.
 * @param size of the raw source, bytes
 */
export async function readWords(
  stored: AnyStoredContent,
  size: number,
  load: () => Promise<Uint8Array>,
): Promise<ContentWords> {
  if ('isUnstored' in stored)
    return { text: null, links: [], rfcMessageId: null, htmlWords: stored.htmlWords };
  const { text = null, htmlWords, links, rfcMessageId, index } = stored;
  if (stored.text !== undefined || size <= MAY_LACK_TEXT_BYTES || !index)
    return { text, htmlWords, links, rfcMessageId };
  const { buffer, byteOffset, byteLength } = await load();
  const decoded = bodyOf(Buffer.from(buffer, byteOffset, byteLength), index, 'text');
  return { text: decoded, htmlWords, links, rfcMessageId };
}

/** Restores the content of a mail from its raw source. */
export async function readContent(
  stored: AnyStoredContent,
  { buffer, byteOffset, byteLength }: Uint8Array,
): Promise<Omit<KnownContent, 'isPartial'>> {
  const source = Buffer.from(buffer, byteOffset, byteLength);
  if ('isUnstored' in stored) {
    // Imported here because the main thread rarely needs the parser.
    const { parseMail } = await import('./parse.ts');
    return parseMail(source);
  }
  const { content, index, isPartial } = knownContent(stored);
  if (!isPartial) return { content, index };
  const { fields } = readHeader(source, 0, source.length);
  const html = bodyOf(source, index ?? [], 'html');
  return {
    content: {
      ...content,
      html,
      ...(await pageOf(html)),
      text: stored.text === undefined ? bodyOf(source, index ?? [], 'text') : stored.text,
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
