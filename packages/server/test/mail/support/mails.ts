import { attachmentPart, bodyBytes, type PartIndex } from '../../../src/mail/mime/part-index.ts';
import { parseMail } from '../../../src/mail/parse.ts';

/** Lines joined by CRLF, one byte a character. */
export const bytes = (...lines: string[]): Buffer => Buffer.from(lines.join('\r\n'), 'latin1');

/** The bytes of a text in UTF-8, one character a byte, for use in {@link bytes}. */
export const utf8 = (text: string): string => Buffer.from(text).toString('latin1');

/** The lines of a multipart entity whose boundary is `b`: its header, its parts, its end. */
export function multipart(subtype: string, ...parts: string[][]): string[] {
  return boundedBy('b', subtype, ...parts);
}

/** The same with a boundary of its own, for multiparts within each other. */
export function boundedBy(boundary: string, subtype: string, ...parts: string[][]): string[] {
  const inner = parts.flatMap((part) => [`--${boundary}`, ...part]);
  return [`Content-Type: multipart/${subtype}; boundary="${boundary}"`, '', ...inner, `--${boundary}--`, ''];
}

export const read = (...lines: string[]) => parseMail(bytes(...lines));
export const contentOf = (...lines: string[]) => read(...lines).content;

/** The decoded bytes of one attachment; undefined without that id. */
export function attachmentBytes(raw: Buffer, index: PartIndex, id: string): Buffer | undefined {
  const part = attachmentPart(index, id);
  return part && bodyBytes(raw, part);
}

/** The bytes of a mail's n-th attachment, from 0 on, as they are served. */
export function servedBytes(raw: Buffer, index = 0): Buffer {
  const served = attachmentBytes(raw, parseMail(raw).index, `att_${index + 1}`);
  return Buffer.from(served ?? new Uint8Array());
}
