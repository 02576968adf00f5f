import type { StructurePart } from '@mayfly/client/contract';
import type { MailAttachment, MailContent, ParsedMail } from './mail.ts';
import type { PartIndex } from './mime/part-index.ts';

/** Enough for the JSON of the largest mail, unless many of its characters are escaped, as in `\u0001`. */
export const MAX_STRING_BYTES = 128 * 1024 * 1024;

export interface FullJson {
  head: object;
  attachmentsUrl: string;
}

/** Returns UTF-8 JSON. Above {@link MAX_STRING_BYTES}, long strings are cut, and `truncated` is true. */
export function fullJson(
  { content, index }: Pick<ParsedMail, 'content' | 'index'>,
  { head, attachmentsUrl }: FullJson,
): readonly Uint8Array[] {
  const message = { ...head, ...contentFields(content, index, attachmentsUrl) };
  const { pieces, isCut } = jsonPieces(message, MAX_STRING_BYTES);
  return isCut && !('truncated' in head)
    ? [...pieces.slice(0, -1), Buffer.from(',"truncated":true}')]
    : pieces;
}

export function contentFields(content: MailContent, index: PartIndex | null, attachmentsUrl: string) {
  const { htmlWords, attachments, sender, ...rest } = content;
  return {
    ...rest,
    sender: sender ?? null,
    attachments: attachments.map(({ parameters, ...attachment }) => ({
      ...attachment,
      parameters: parameters ?? {},
      url: `${attachmentsUrl}${encodeURIComponent(attachment.id)}`,
    })),
    structure: structureOf(index ?? [], attachments),
  };
}

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
/** Placeholder for a long string. No text of a mail contains NUL, because `clean` removes it. */
const LONG = '\0';
const LONG_JSON = JSON.stringify(LONG);

/**
 * Returns UTF-8 JSON in pieces: as one string, large JSON would exceed the heap of a worker.
 * @param maxBytes limit of the whole JSON; only strings longer than {@link PIECE_CHARACTERS} are cut
 * @returns pieces. The last one is the closing brace, so that the caller can insert fields before it
 */
export function jsonPieces(value: object, maxBytes: number): { pieces: Buffer[]; isCut: boolean } {
  const long: string[] = [];
  const json = JSON.stringify(value, (_, one) => {
    const isLong = typeof one === 'string' && one.length > PIECE_CHARACTERS;
    if (isLong) long.push(one);
    return isLong ? LONG : one;
  });
  let left = maxBytes - Buffer.byteLength(json);
  const pieces: Buffer[] = [];
  for (const [at, between] of json.slice(0, -1).split(LONG_JSON).entries()) {
    if (at > 0) pieces.push(Buffer.from('"'), ...piecesOf(long[at - 1] ?? ''), Buffer.from('"'));
    pieces.push(Buffer.from(between));
  }
  return { pieces: [...pieces, Buffer.from('}')], isCut: left < 0 };

  function* piecesOf(text: string): Generator<Buffer> {
    for (let at = 0, end = 0; at < text.length; at = end) {
      end = at + PIECE_CHARACTERS;
      // Surrogate pairs are not split.
      if (/[\udc00-\udfff]/.test(text.charAt(end))) end += 1;
      const piece = Buffer.from(JSON.stringify(text.slice(at, end)).slice(1, -1));
      left -= piece.length;
      if (left < 0) return;
      yield piece;
    }
  }
}

export interface AttachmentList {
  attachments: MailAttachment[];
  index: PartIndex;
}

export function attachmentListJson({ content, index }: Pick<ParsedMail, 'content' | 'index'>): string {
  const attachments = content.attachments.map(({ message, ...rest }) => ({ ...rest, parameters: {} }));
  return JSON.stringify({ attachments, index } satisfies AttachmentList);
}
