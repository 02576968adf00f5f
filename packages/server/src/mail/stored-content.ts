import { joinTexts } from './bodies.ts';
import { MessageFields } from './fields.ts';
import { cut } from './limits.ts';
import { type MailContent, type MailHeader, type MailImage, NO_CONTENT, type ParsedMail } from './mail.ts';
import type { ContentWords } from './matching/compared-content.ts';
import { decodeAs } from './mime/charset.ts';
import { readHeader } from './mime/header.ts';
import { bodyBytes, type PartIndex, type PartRole } from './mime/part-index.ts';

/* Stores content and part index, but not what can be decoded cheaply from the raw source of the mail. */

/** HTML and headers of raw sources up to this size are not stored, but decoded on demand. */
export const MAX_DERIVED_BYTES = 64 * 1024;

/** Largest size of summary and content relative to the raw source. Ordinary mail takes less than one. */
export const MAX_STORED_RATIO = 2;
export const STORED_ALLOWANCE_BYTES = 32 * 1024;
/** Limit of the stored content, which the main thread parses. Longer text is decoded from the raw source. */
export const MAX_STORED_BYTES = 2 * 1024 * 1024;
export const MAY_LACK_TEXT_BYTES = (MAX_STORED_BYTES - STORED_ALLOWANCE_BYTES) / MAX_STORED_RATIO;
/** Stored characters of a body that is too long to be stored completely, for webhooks. */
const MAX_BEGINNING = 256 * 1024;
/** UTF-8 bytes per character in JSON, except for control characters, quotes and backslashes. */
const MAX_LETTER_BYTES = 3;

type FromSource = 'html' | 'htmlText' | 'images' | 'text' | 'headers';

export interface StoredContent extends Omit<MailContent, FromSource> {
  /** Missing if it is decoded from the raw source; also applies to the next three fields. */
  html?: string | null;
  htmlText?: string | null;
  images?: MailImage[];
  headers?: MailHeader[];
  text?: string | null;
  /** The first MAX_BEGINNING characters of both bodies, for a mail with a body that is too long to be stored. */
  beginnings?: { text: string | null; html: string | null };
  index?: PartIndex;
}

/** Stored if all else exceeds the limits: the mail is parsed again on demand. */
interface UnstoredContent {
  isUnstored: true;
  htmlWords: string | null;
}

export type AnyStoredContent = StoredContent | UnstoredContent;

export interface KnownContent {
  content: MailContent;
  index: PartIndex | null;
  /** True if the raw source contains more: bodies are null or cut, or lists are empty. */
  isPartial: boolean;
}

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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes these characters, which would take more bytes
  const htmlWords = words && cut(words, maxCharacters).replaceAll(/[\x00-\x1f"\\]+/g, ' ');
  const unstored: UnstoredContent = { isUnstored: true, htmlWords };
  return jsonWithin(budget, { ...kept, htmlWords }) ?? JSON.stringify(unstored);
}

/** The JSON; undefined if it exceeds `budget` bytes. */
function jsonWithin(budget: number, content: StoredContent): string | undefined {
  // Checked first, because each character takes at least a byte: 48 MB of control characters would become a
  // string of 288 MB.
  const bodies = [content.text, content.html, content.htmlText];
  if (bodies.reduce((sum, body) => sum + (body?.length ?? 0), 0) > budget) return undefined;
  const json = JSON.stringify(content);
  return json.length * MAX_LETTER_BYTES <= budget || Buffer.byteLength(json) <= budget ? json : undefined;
}

/** A text that is not stored is decoded from a large raw source; of others only the beginning is known. */
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

export async function readContent(
  stored: AnyStoredContent,
  { buffer, byteOffset, byteLength }: Uint8Array,
): Promise<Omit<KnownContent, 'isPartial'>> {
  const source = Buffer.from(buffer, byteOffset, byteLength);
  if ('isUnstored' in stored) {
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
