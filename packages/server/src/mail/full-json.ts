import type { StructurePart } from '@mayfly/client/contract';
import type { MailAttachment, MailContent, ParsedMail } from './mail.ts';
import type { PartIndex } from './mime/part-index.ts';

/** Enough for the largest message in any charset, except one of control characters: JSON writes them as six bytes. */
export const MAX_STRING_BYTES = 128 * 1024 * 1024;

export interface FullJson {
  head: string;
  attachmentsUrl: string;
}

export function fullJson(
  { content, index }: Pick<ParsedMail, 'content' | 'index'>,
  { head, attachmentsUrl }: FullJson,
): readonly Uint8Array[] {
  const json = new JsonPieces(MAX_STRING_BYTES);
  json.add(`${head.slice(0, -1)},`);
  json.writeFields(contentFields(content, index, attachmentsUrl));
  json.add(json.isCut && !head.includes('"truncated":') ? ',"truncated":true}' : '}');
  return json.finish();
}

export function contentFields(content: MailContent, index: PartIndex | null, attachmentsUrl: string) {
  return {
    replyTo: content.replyTo,
    bcc: content.bcc,
    sender: content.sender ?? null,
    date: content.date,
    rfcMessageId: content.rfcMessageId,
    inReplyTo: content.inReplyTo,
    references: content.references,
    headers: content.headers,
    html: content.html,
    text: content.text,
    htmlText: content.htmlText,
    attachments: content.attachments.map(
      ({ id, filename, contentType, parameters, size, disposition, contentId, sha256, message }) => ({
        ...{ id, filename, contentType, parameters: parameters ?? {} },
        ...{ size, disposition, contentId, sha256 },
        url: `${attachmentsUrl}${encodeURIComponent(id)}`,
        ...(message && { message }),
      }),
    ),
    links: content.links,
    images: content.images,
    structure: structureOf(index ?? [], content.attachments),
  };
}

/** In the order of the source; part numbers show the nesting. */
export function structureOf(index: PartIndex, attachments: readonly MailAttachment[]): StructurePart[] {
  const counts: number[] = [];
  let listed = 0;
  const isMultipart = index[0]?.role === 'multipart';
  return index.map((part) => {
    counts.length = part.depth + 1;
    counts[part.depth] = (counts[part.depth] ?? 0) + 1;
    const attachment = part.role === 'attachment' ? attachments[listed++] : undefined;
    return {
      part: isMultipart ? counts.slice(1).join('.') : '1',
      contentType: part.type,
      size: part.bodyEnd - part.bodyStart,
      disposition: (attachment?.disposition ?? part.disposition) || null,
      filename: (attachment?.filename ?? part.filename) || null,
      contentId: (attachment?.contentId ?? part.contentId) || null,
    };
  });
}

const PIECE_CHARACTERS = 256 * 1024;
/** UTF-8 JSON takes at most six bytes for a UTF-16 code unit, as in `\\u0001`. */
const MAX_CHARACTER_BYTES = 6;

/** Writes JSON in pieces of UTF-8, for strings of many megabytes. */
export class JsonPieces {
  readonly #pieces: Buffer[] = [];
  #text = '';
  #left: number;
  #isCut = false;

  /** @param most total bytes for strings; a string that exceeds the rest is cut */
  constructor(most: number) {
    this.#left = most;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_CHARACTERS) this.#flush();
  }

  write(value: unknown): void {
    if (typeof value === 'string') this.#writeString(value);
    else if (Array.isArray(value)) {
      this.add('[');
      for (const [at, item] of value.entries()) {
        if (at > 0) this.add(',');
        this.write(item);
      }
      this.add(']');
    } else if (typeof value === 'object' && value !== null) {
      this.add('{');
      this.writeFields(value);
      this.add('}');
    } else this.add(JSON.stringify(value ?? null));
  }

  writeFields(fields: object): void {
    let separator = '';
    for (const [key, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      this.add(`${separator}${JSON.stringify(key)}:`);
      this.write(value);
      separator = ',';
    }
  }

  finish(): readonly Buffer[] {
    this.#flush();
    return this.#pieces;
  }

  #writeString(value: string): void {
    if (value.length <= PIECE_CHARACTERS && this.#left >= value.length * MAX_CHARACTER_BYTES) {
      const json = JSON.stringify(value);
      this.#left -= json.length;
      this.add(json);
      return;
    }
    this.add('"');
    for (let at = 0; at < value.length; ) {
      const end = endOfPiece(value, at);
      const json = JSON.stringify(value.slice(at, end)).slice(1, -1);
      this.#left -= Buffer.byteLength(json);
      if (this.#left < 0) {
        this.#isCut = true;
        break;
      }
      this.add(json);
      at = end;
    }
    this.add('"');
  }

  #flush(): void {
    if (this.#text !== '') this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}

/** Never splits a surrogate pair. */
function endOfPiece(value: string, from: number): number {
  const end = from + PIECE_CHARACTERS;
  if (end >= value.length) return value.length;
  const code = value.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end - 1 : end;
}

/** Attachments without messages in them, which would be as long as a mail each. */
export interface AttachmentList {
  attachments: MailAttachment[];
  index: PartIndex;
}

export function attachmentListJson({ content, index }: Pick<ParsedMail, 'content' | 'index'>): string {
  const attachments = content.attachments.map(({ message, ...rest }) => ({ ...rest, parameters: {} }));
  return JSON.stringify({ attachments, index } satisfies AttachmentList);
}
