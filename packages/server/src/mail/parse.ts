import { hash } from 'node:crypto';
import type { Address, Header } from 'postal-mime';
import { findCodes } from './extract/codes.ts';
import { type HtmlReading, readHtml } from './extract/html.ts';
import { findLinks } from './extract/links.ts';
import type { MailAddress, MailAttachment, MailHeader, ParsedMail } from './mail.ts';
import { clean, cleanFilename, foldBlanks, oneLine, readable } from './mime/clean.ts';
import { parseDate } from './mime/date.ts';
import { addressesOf, type Leaf, type Mime, readMime } from './mime/mime.ts';

/** What a list shows of a message, characters (decisions, section 4). */
const MAX_PREVIEW = 200;
/** So much of the text is looked at for the preview, which folds white space, characters. */
const PREVIEW_SOURCE = 4_096;
/** Words kept for the `text` filter of a mail without a text part, characters. */
const MAX_HTML_WORDS = 256 * 1024;
/** Mailboxes kept of each address field; more are a mailing, and the raw source has them all. */
const MAX_ADDRESSES = 1_000;
/** Message ids of a References field; threads are shorter. */
const MAX_REFERENCES = 1_000;
/** What {@link parseHeaderOnly} reads of a mail, bytes: it runs where hostile mail must cost nothing. */
const HEADER_LOOK_BYTES = 16 * 1024;

/** The parts that make the body, and all others, in order of appearance. */
interface Bodies {
  text: Leaf[];
  html: Leaf[];
  attachments: Leaf[];
}

/** The message's own header fields as they are shown, and by lower-case name; of one given twice the first counts. */
function readFields(fields: readonly Header[]): { headers: MailHeader[]; first: (key: string) => string } {
  const headers = fields.map(({ originalKey, value }) => ({
    name: oneLine(originalKey),
    value: readable(value),
  }));
  const first = (key: string) => headers[fields.findIndex((header) => header.key === key)]?.value ?? '';
  return { headers, first };
}

/** Mailboxes without their groups. */
function flat(list: readonly Address[]): MailAddress[] {
  return list
    .flatMap((entry) => entry.group ?? [entry])
    .filter(({ address, name }) => address || name)
    .slice(0, MAX_ADDRESSES)
    .map(({ address, name }) => ({ address: oneLine(address ?? ''), name: oneLine(name) }));
}

/** Does this part belong to the message's body, or stand beside it? */
function isBody(leaf: Leaf): boolean {
  if (leaf.type !== 'text/plain' && leaf.type !== 'text/html') return false;
  if (leaf.beside || leaf.disposition === 'attachment') return false;
  // A text with a name is a file, unless it is all that there is.
  return leaf.filename === '' || leaf.within === '';
}

/**
 * A body is optional (RFC 5322 section 2.1); a mail whose body has no bytes has none. Relays add the empty
 * line behind a header, so whether it was there says nothing.
 */
function isNothing(leaf: Leaf): boolean {
  return leaf.within === '' && leaf.bytes().length === 0;
}

/** Sorts a mail's leaves; {@link attachmentId} counts the attachments. */
export function sortLeaves(leaves: readonly Leaf[]): Bodies {
  const bodies: Bodies = { text: [], html: [], attachments: [] };
  for (const leaf of leaves) {
    if (!isBody(leaf)) bodies.attachments.push(leaf);
    else if (isNothing(leaf)) continue;
    else if (leaf.type === 'text/html') bodies.html.push(leaf);
    else bodies.text.push(leaf);
  }
  return bodies;
}

/** Body parts as text, line ends as `\n`; null when there is none. */
function textOf(leaves: readonly Leaf[]): string | null {
  if (leaves.length === 0) return null;
  const text = clean(leaves.map((leaf) => leaf.text()).join('\n'));
  return text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
}

function isInline(leaf: Leaf): boolean {
  if (leaf.disposition !== '') return leaf.disposition === 'inline';
  return leaf.contentId !== '' || leaf.within === 'related' || leaf.within === 'alternative';
}

/** Ids count the attachments in order of appearance, so that the raw source gives the same ones again. */
export function attachmentId(index: number): string {
  return `att_${index + 1}`;
}

function attachmentOf(leaf: Leaf, index: number): MailAttachment {
  const bytes = leaf.bytes();
  return {
    id: attachmentId(index),
    filename: cleanFilename(leaf.filename),
    contentType: oneLine(leaf.type),
    size: bytes.length,
    disposition: isInline(leaf) ? 'inline' : 'attachment',
    contentId: readable(leaf.contentId).replace(/^<|>$/g, '').trim() || null,
    sha256: hash('sha256', bytes, 'hex'),
  };
}

function messageIds(value: string): string[] {
  const ids = value.match(/<[^<>]*>|[^\s<>]+/g) ?? [];
  return ids.slice(0, MAX_REFERENCES);
}

/** The visible text in one line, cut between characters. */
function previewOf(text: string): string {
  const folded = foldBlanks(text.slice(0, PREVIEW_SOURCE)).trim();
  return folded.length <= MAX_PREVIEW ? folded : folded.slice(0, MAX_PREVIEW).replace(/[\ud800-\udbff]$/, '');
}

/**
 * Reads a mail as it was received. Pure, never rejects; hostile mails cost time and memory, so it runs
 * on a parse worker. What could not be read is left out and `parseError` says why.
 * @param raw the whole mail; may be a view of shared memory
 */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  try {
    return await readAll(raw);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return parseHeaderOnly(raw, `The mail was not read beyond its header: ${reason}`);
  }
}

async function readAll(raw: Uint8Array): Promise<ParsedMail> {
  const mime = await readMime(raw);
  try {
    return showOf(mime);
  } finally {
    mime.free();
  }
}

function showOf(mime: Mime): ParsedMail {
  const { headers, first } = readFields(mime.headers);
  const bodies = sortLeaves(mime.leaves);
  const text = textOf(bodies.text);
  const html = textOf(bodies.html);
  const page = html === null ? null : readHtml(html);
  const subject = first('subject');
  const attachments = bodies.attachments.map(attachmentOf);
  return {
    summary: {
      ...sentBy(mime.headers),
      subject,
      preview: clean(previewOf(text?.trim() ? text : (page?.words ?? ''))),
      attachmentCount: attachments.length,
      codes: findCodes(subject, text, page?.words ?? null),
    },
    content: {
      replyTo: flat(addressesOf(mime.headers, 'reply-to')),
      bcc: flat(addressesOf(mime.headers, 'bcc')),
      ...identified(first),
      headers,
      html,
      text,
      htmlWords: text === null ? wordsOf(page) : null,
      attachments,
      links: findLinks(text, page, first('list-unsubscribe')),
    },
    parseError: null,
  };
}

function wordsOf(page: HtmlReading | null): string | null {
  return page && clean(page.words.slice(0, MAX_HTML_WORDS));
}

function sentBy(fields: readonly Header[]) {
  // Of a From field given twice, or with several authors, the first counts.
  const from = fields.filter(({ key }) => key === 'from').slice(0, 1);
  return {
    from: flat(addressesOf(from, 'from').slice(0, 1))[0] ?? null,
    to: flat(addressesOf(fields, 'to')),
    cc: flat(addressesOf(fields, 'cc')),
  };
}

function identified(first: (key: string) => string) {
  return {
    date: parseDate(first('date')),
    rfcMessageId: first('message-id') || null,
    inReplyTo: first('in-reply-to') || null,
    references: messageIds(first('references')),
  };
}

/** The first bytes up to the blank line that ends the header, at most {@link HEADER_LOOK_BYTES}. */
function headerOf(raw: Uint8Array): Uint8Array {
  const start = Buffer.from(raw.subarray(0, HEADER_LOOK_BYTES));
  const ends = ['\r\n\r\n', '\n\n'].map((end) => start.indexOf(end)).filter((at) => at >= 0);
  return start.subarray(0, Math.min(start.length, ...ends));
}

/**
 * What a glance at the first header lines tells: sender, recipients, subject. Bounded and cheap,
 * whatever the mail, so that it may run on the main thread when a parse worker failed. Never rejects.
 * @param reason becomes `parseError`
 */
export async function parseHeaderOnly(raw: Uint8Array, reason: string): Promise<ParsedMail> {
  try {
    return await readHeader(headerOf(raw), reason);
  } catch {
    // A mail is kept whatever the parser thinks of it, with nothing known where need be; `reason` is told.
    return readHeader(new Uint8Array(), reason);
  }
}

async function readHeader(header: Uint8Array, reason: string): Promise<ParsedMail> {
  // A header alone has no parts, and is far below every limit.
  const mime = await readMime(header);
  const { headers, first } = readFields(mime.headers);
  return {
    summary: {
      ...sentBy(mime.headers),
      subject: first('subject'),
      preview: '',
      attachmentCount: 0,
      codes: [],
    },
    content: {
      replyTo: flat(addressesOf(mime.headers, 'reply-to')),
      bcc: [],
      ...identified(first),
      headers,
      html: null,
      text: null,
      htmlWords: null,
      attachments: [],
      links: [],
    },
    parseError: reason,
  };
}
