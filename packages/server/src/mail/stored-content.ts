import { asBuffer } from '../memory.ts';
import { joinTexts } from './bodies.ts';
import { MessageFields } from './fields.ts';
import { cut } from './limits.ts';
import { type MailContent, NO_CONTENT, type ParsedMail } from './mail.ts';
import type { ContentWords } from './matching/compared-content.ts';
import { decodeAs } from './mime/charset.ts';
import { readHeader } from './mime/header.ts';
import { bodyBytes, type PartIndex, type PartRole, withRole } from './mime/part-index.ts';

/* Content and part index are stored, except for data that is cheap to decode from the raw source. */

/** For raw sources up to this size, HTML and headers are not stored, but decoded on demand. */
export const MAX_DERIVED_BYTES = 64 * 1024;

/** Limit of stored summary and content: raw size times this, plus the allowance. Most mail needs less. */
export const MAX_STORED_RATIO = 2;
export const STORED_ALLOWANCE_BYTES = 32 * 1024;
/** Limit of stored content, which the main thread parses. Longer text is not stored, but decoded on demand. */
export const MAX_STORED_BYTES = 2 * 1024 * 1024;
export const MAY_LACK_TEXT_BYTES = (MAX_STORED_BYTES - STORED_ALLOWANCE_BYTES) / MAX_STORED_RATIO;
/** Stored characters of a body that is too long to be stored in full, so that webhooks can send them. */
const MAX_BEGINNING = 256 * 1024;
/** Maximum UTF-8 bytes per UTF-16 code unit in JSON, except for control characters. */
const MAX_LETTER_BYTES = 3;

type FromSource = 'html' | 'htmlText' | 'images' | 'text' | 'headers';

/** Fields of {@link FromSource} are undefined if they must be decoded from the raw source. */
export interface StoredContent extends Omit<MailContent, FromSource>, Partial<Pick<MailContent, FromSource>> {
  beginnings?: { text: string | null; html: string | null };
  /** Undefined if parsing failed or if the index is too long. The mail is then parsed again on demand. */
  index?: PartIndex;
}

export function knownContent(stored: StoredContent) {
  const { index = null, beginnings, html, text, headers, ...rest } = stored;
  const content: MailContent = {
    ...{ htmlText: null, images: [], ...rest },
    html: html ?? beginnings?.html ?? null,
    text: text ?? beginnings?.text ?? null,
    headers: headers ?? [],
  };
  const isPartial = html === undefined || text === undefined || headers === undefined;
  return { content, index, isPartial };
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
  const beginnings = { text: beginningOf(text), html: beginningOf(html) };
  const choices: StoredContent[] =
    size <= MAX_DERIVED_BYTES
      ? [{ ...kept, text }]
      : [
          { ...kept, text, html, htmlText, images, headers },
          { ...kept, text, headers, beginnings },
          { ...kept, headers, beginnings },
        ];
  for (const choice of choices) {
    const json = jsonWithin(budget, choice);
    if (json !== undefined) return json;
  }
  return jsonOfWords(text ?? content.htmlWords, budget / 2);
}

const beginningOf = (body: string | null): string | null => body && cut(body, MAX_BEGINNING);

function jsonOfWords(words: string | null, budget: number): string {
  const maxCharacters = Math.max(0, Math.floor(budget / MAX_LETTER_BYTES));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes these characters, which would take more bytes
  const htmlWords = words && cut(words, maxCharacters).replaceAll(/[\x00-\x1f"\\]+/g, ' ');
  const { html, htmlText, images, text, headers, ...empty } = NO_CONTENT;
  return JSON.stringify({ ...empty, htmlWords } satisfies StoredContent);
}

function jsonWithin(budget: number, content: StoredContent): string | undefined {
  // Checked before `stringify`: 48 MB of control characters would become a string of 288 MB.
  const bodies = [content.text, content.html, content.htmlText];
  if (bodies.reduce((sum, body) => sum + (body?.length ?? 0), 0) > budget) return undefined;
  const json = JSON.stringify(content);
  return json.length * MAX_LETTER_BYTES <= budget || Buffer.byteLength(json) <= budget ? json : undefined;
}

export async function readWords(stored: StoredContent, load: () => Promise<{ raw: Uint8Array } | undefined>) {
  const { text = null, htmlWords, links, rfcMessageId, index } = stored;
  const isStored = stored.text !== undefined || !index;
  const read = isStored ? text : bodyOf(asBuffer((await load())?.raw ?? new Uint8Array()), index, 'text');
  return { text: read, htmlWords, links, rfcMessageId } satisfies ContentWords;
}

export async function readContent(stored: StoredContent, raw: Uint8Array) {
  const { content, index, isPartial } = knownContent(stored);
  if (!isPartial) return { content, index };
  if (index === null) {
    const { parseMail } = await import('./parse.ts');
    return parseMail(raw);
  }
  const source = asBuffer(raw);
  const { fields } = readHeader(source);
  const html = bodyOf(source, index, 'html');
  const text = stored.text === undefined ? bodyOf(source, index, 'text') : stored.text;
  const { headers } = new MessageFields(source, fields);
  if (html === null) return { content: { ...content, html, text, headers }, index };
  const { readHtml, textOfPage } = await import('./extract/html.ts');
  const page = readHtml(html);
  const { images } = page;
  return { content: { ...content, html, text, headers, htmlText: textOfPage(page), images }, index };
}

function bodyOf(source: Buffer, index: PartIndex, role: PartRole): string | null {
  const bodies = withRole(index, role);
  return joinTexts(bodies.map((part) => decodeAs(bodyBytes(source, part), part.charset)));
}
