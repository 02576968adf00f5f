import { hash } from 'node:crypto';
import type { InnerMessage } from '@mayfly/client/contract';
import { messageOf } from '../errors.ts';
import { asBuffer, freeIfLarge } from '../memory.ts';
import { isInline, joinTexts, readPartRoles } from './bodies.ts';
import { findCodes } from './extract/codes.ts';
import { readHtml, textOfPage, wordsOnlyInPage } from './extract/html.ts';
import { findLinks } from './extract/links.ts';
import { MessageFields } from './fields.ts';
import { cut, MAX_ID, MAX_INNER_MESSAGES, MAX_PARAMETER_VALUE, MAX_PREVIEW, MAX_SUBJECT } from './limits.ts';
import { type MailAttachment, NO_CONTENT, type ParsedMail } from './mail.ts';
import { charsetOf, decodeAs, forgetUnknownCharsets } from './mime/charset.ts';
import { clean, cleanFilename, foldBlanks, oneLine } from './mime/clean.ts';
import { decodeHeaderText } from './mime/encoded-words.ts';
import { MAX_FIELDS, readHeader } from './mime/header.ts';
import { MAX_PARAMETERS } from './mime/parameters.ts';
import { attachmentId, bodyBytes, type IndexedPart, withRole } from './mime/part-index.ts';
import { type Limit, MAX_DEPTH, MAX_PARTS, type Part } from './mime/parts.ts';

const PREVIEW_SOURCE = 4_096;
/** {@link parseHeaderOnly} reads only this many bytes, because it may run on the main thread. */
const HEADER_LOOK_BYTES = 16 * 1024;

const LIMIT_NOTES: Readonly<Record<Limit, string>> = {
  depth: `Parts are nested deeper than ${MAX_DEPTH} levels; those below are left as one attachment.`,
  parts: `The mail has more than ${MAX_PARTS} parts; the others are not listed.`,
  fields: `A header has more than ${MAX_FIELDS} fields; most of the others are not listed.`,
  parameters: `A part has more than ${MAX_PARAMETERS} parameters; the others are not listed.`,
};

/** Parses a whole mail. Never throws. `parseError` names the exceeded limits, or the error. */
export function parseMail(raw: Uint8Array): ParsedMail {
  const source = asBuffer(raw);
  forgetUnknownCharsets();
  try {
    return readAll(source, attachedMessages(source));
  } catch (error) {
    const reason = messageOf(error);
    return parseHeaderOnly(source, `The mail was not read beyond its header: ${reason}`);
  }
}

export function readBodies(raw: Uint8Array) {
  const source = asBuffer(raw);
  forgetUnknownCharsets();
  const { all } = readPartRoles(source);
  return {
    text: textOf(source, all, 'text'),
    html: textOf(source, all, 'html'),
    attachments: withRole(all, 'attachment').map((part, at) => ({
      id: attachmentId(at),
      contentType: part.type,
      contentId: contentIdOf(part) || null,
    })),
  };
}

type ReadInner = (part: Part) => InnerMessage | undefined;

function attachedMessages(source: Buffer): ReadInner {
  let left = MAX_INNER_MESSAGES;
  return (part) => {
    if (part.type !== 'message/rfc822' || left === 0) return undefined;
    left -= 1;
    const { summary, content } = readAll(bodyBytes(source, part), () => undefined);
    const { subject, from, to, codes } = summary;
    const { date, text, html, links } = content;
    return { subject, from, to, date, text, html, links, codes };
  };
}

function readAll(source: Buffer, readInner: ReadInner): ParsedMail {
  const { all, header, limits } = readPartRoles(source);
  const fields = new MessageFields(source, header.fields);
  const summary = summaryOf(fields);
  const text = textOf(source, all, 'text');
  const html = textOf(source, all, 'html');
  const page = html === null ? null : readHtml(html);
  const htmlText = page === null ? null : textOfPage(page);
  const attachments = withRole(all, 'attachment').map((part, at) =>
    attachmentOf(source, part, at, readInner(part)),
  );
  const attachmentCount = attachments.filter(({ disposition }) => disposition === 'attachment').length;
  return {
    summary: {
      ...summary,
      preview: clean(previewOf(text?.trim() ? text : (page?.words ?? ''))),
      attachmentCount,
      inlineCount: attachments.length - attachmentCount,
      codes: findCodes(summary.subject, text, page?.words ?? null, page?.images),
    },
    content: {
      ...contentOfHeader(fields),
      html,
      text,
      htmlWords: text === null || htmlText === null ? htmlText : wordsOnlyInPage(text, htmlText),
      htmlText,
      images: page?.images ?? [],
      attachments,
      links: findLinks(text, page, fields.first('list-unsubscribe')),
    },
    index: all.map(indexed),
    parseError: notesOf(limits, fields),
  };
}

const summaryOf = (fields: MessageFields) => ({
  from: fields.firstAddress('from'),
  to: fields.addresses('to'),
  cc: fields.addresses('cc'),
  subject: cut(fields.first('subject'), MAX_SUBJECT),
});

const contentOfHeader = (fields: MessageFields) => ({
  replyTo: fields.addresses('reply-to'),
  bcc: fields.addresses('bcc'),
  sender: fields.firstAddress('sender'),
  ...fields.identification(),
  headers: fields.headers,
});

function textOf(source: Buffer, parts: readonly Part[], role: 'text' | 'html'): string | null {
  const texts = withRole(parts, role).map((part) => {
    const bytes = bodyBytes(source, part);
    part.charset = charsetOf(bytes, part.parameters.get('charset') ?? '', role === 'html');
    return decodeAs(bytes, part.charset);
  });
  return joinTexts(texts);
}

function attachmentOf(source: Buffer, part: Part, at: number, message?: InnerMessage): MailAttachment {
  const bytes = bodyBytes(source, part);
  const size = bytes.length;
  const sha256 = hash('sha256', bytes, 'hex');
  if (bytes.buffer !== source.buffer) freeIfLarge(bytes);
  const parameters = [...part.parameters].map(([name, value]) => [
    cut(oneLine(name), MAX_PARAMETER_VALUE),
    cut(oneLine(value), MAX_PARAMETER_VALUE),
  ]);
  return {
    id: attachmentId(at),
    filename: cleanFilename(part.filename),
    contentType: part.type,
    parameters: Object.fromEntries(parameters),
    size,
    disposition: isInline(part) ? 'inline' : 'attachment',
    contentId: contentIdOf(part) || null,
    sha256,
    ...(message && { message }),
  };
}

function contentIdOf({ contentId }: Part): string {
  if (contentId === '') return '';
  return cut(oneLine(decodeHeaderText(contentId)).replace(/^<|>$/g, '').trim(), MAX_ID);
}

function indexed(part: Part): IndexedPart {
  const { depth, headerStart, bodyStart, bodyEnd, role, encoding, type, charset } = part;
  const named = role !== 'attachment' && {
    disposition: cut(oneLine(part.disposition), MAX_PARAMETER_VALUE) || undefined,
    filename: cleanFilename(part.filename) ?? undefined,
    contentId: contentIdOf(part) || undefined,
  };
  return { depth, headerStart, bodyStart, bodyEnd, role, encoding, type, charset, ...named };
}

function notesOf(limits: ReadonlySet<Limit>, fields: MessageFields): string | null {
  const notes = [...[...limits].map((limit) => LIMIT_NOTES[limit]), ...fields.notes];
  return notes.length === 0 ? null : notes.join(' ');
}

function previewOf(text: string): string {
  const start = foldBlanks(text.slice(0, 2 * MAX_PREVIEW)).trim();
  const folded = start.length > MAX_PREVIEW ? start : foldBlanks(text.slice(0, PREVIEW_SOURCE)).trim();
  return cut(folded, MAX_PREVIEW);
}

/** Parses only the header, if parsing the whole mail failed. Never throws. @param reason for `parseError` */
export function parseHeaderOnly(raw: Uint8Array, reason: string): ParsedMail {
  try {
    return readHeaderOnly(asBuffer(raw).subarray(0, HEADER_LOOK_BYTES), reason);
  } catch {
    // A defect of the header parser must not lose the mail, so the mail is stored without fields.
    return readHeaderOnly(Buffer.alloc(0), reason);
  }
}

function readHeaderOnly(source: Buffer, reason: string): ParsedMail {
  const { fields: ranges } = readHeader(source);
  const fields = new MessageFields(source, ranges);
  return {
    summary: { ...summaryOf(fields), preview: '', attachmentCount: 0, inlineCount: 0, codes: [] },
    content: { ...NO_CONTENT, ...contentOfHeader(fields) },
    index: [],
    parseError: reason,
  };
}
