import { joinTexts } from './bodies.ts';
import { MessageFields } from './fields.ts';
import type { MailContent, MailHeader, ParsedMail } from './mail.ts';
import { decodeAs } from './mime/charset.ts';
import { readHeader } from './mime/header.ts';
import { bodyBytes, type PartIndex, readIndex, type WrittenIndex, writeIndex } from './mime/part-index.ts';

/*
 * How the content of a message is stored beside its raw source: with the index of its parts, and without
 * the html and the header fields of small mails. Those are most of a content, and the raw source has them:
 * they are decoded from their ranges when the message is read.
 */

/**
 * Raw sources up to so many bytes are read as a whole with their message, and stored without copies. Of
 * larger ones, most of which is attachments, reading all for some html would cost more than its copy.
 */
export const MAX_DERIVED_BYTES = 64 * 1024;

/** A content as it is stored, as JSON. */
export interface StoredContent extends Omit<MailContent, 'html' | 'headers'> {
  /** Missing where it is decoded from the raw source; then so are the headers. */
  html?: string | null;
  headers?: MailHeader[];
  /** Missing in messages that were stored before it was kept, and where a mail could not be read. */
  index?: WrittenIndex;
}

/**
 * The JSON text of a mail's content, to be stored.
 * @param size of the raw source, bytes
 */
export function contentJson({ content, index }: Pick<ParsedMail, 'content' | 'index'>, size: number): string {
  if (index.length === 0) return JSON.stringify(content);
  const written = writeIndex(index);
  if (size > MAX_DERIVED_BYTES) return JSON.stringify({ ...content, index: written } satisfies StoredContent);
  const { html, headers, ...kept } = content;
  return JSON.stringify({ ...kept, index: written } satisfies StoredContent);
}

/**
 * A content as it was before it was stored.
 * @param raw the whole raw source; read only where `stored` lacks what is in it
 * @returns the index, or null where none of this version was stored
 */
export function readContent(
  stored: StoredContent,
  raw: Uint8Array | null,
): { content: MailContent; index: PartIndex | null } {
  const { index: written, html, headers, ...content } = stored;
  const index = written === undefined ? null : readIndex(written);
  if (html !== undefined && headers !== undefined) return { content: { ...content, html, headers }, index };
  const bytes = raw ?? new Uint8Array();
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { fields } = readHeader(source, 0, source.length);
  return {
    content: {
      ...content,
      html: htmlOf(source, index ?? []),
      headers: new MessageFields(source, fields).headers,
    },
    index,
  };
}

function htmlOf(source: Buffer, index: PartIndex): string | null {
  const pages = index.filter(({ role }) => role === 'html');
  return joinTexts(pages.map((part) => decodeAs(bodyBytes(source, part), part.charset)));
}
