import PostalMime, { type Address, addressParser, decodeWords, type Header } from 'postal-mime';
import { freeIfLarge } from '../../memory.ts';
import { type BodyDecoder, bodyDecoder } from './body-decoder.ts';
import { charsetOf, utf8Line, VAGUE_WORD } from './charset.ts';
import { MAX_DECODED_VALUE } from './clean.ts';

/*
 * The one place that knows the MIME library. Its message mixes the bodies of a mail and makes the
 * missing one of text and html from the other; we show them as sent, so the parts are read from the
 * tree that the parser keeps, and the steps that make the message are left out. The tree and the steps
 * are not part of the library's types: a test fails when an upgrade changes them.
 */

/** Real mails nest five deep; a deeper one is not read beyond its header. */
export const MAX_DEPTH = 100;
/** Real mails have tens of parts; each costs an entry in every answer. */
export const MAX_PARTS = 1_000;
/** Header lines of all parts together, bytes: the library's own default. */
export const MAX_HEADER_BYTES = 2 * 1024 * 1024;

const HYPHEN = 0x2d;
const COLON = 0x3a;
const SPACE = 0x20;
const DELETE = 0x7f;
const TAB = 0x09;
const EMPTY_LINE = new Uint8Array(0);
/** Put in front of a mail by an editor; the library keeps it in the name of the field. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** Put in front of a mail by a mailbox file. */
const MBOX_LINE = /^>?From .*\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d/;
const MBOX_LINE_BYTES = 200;

/** A node of the library's tree, as far as it is used here. */
interface Node {
  state: string;
  parentNode?: Node;
  childNodes: Node[];
  contentType: { parsed: { value: string; params: Record<string, string> }; multipart: string | false };
  contentDisposition: { parsed: { value: string; params: Record<string, string> } };
  contentTransferEncoding: { encoding: string };
  contentId?: string;
  contentDecoder: BodyDecoder | null;
  content: Uint8Array | ArrayBuffer | null;
  setupContentDecoder(transferEncoding: string): void;
  feed(line: Uint8Array): void;
  getTextContent(): string;
}

interface Parser {
  root: Node & { headers: Header[] };
  currentNode: Node;
  boundaries: unknown[];
  processLine(line: Uint8Array, isFinal: boolean): Promise<void> | void;
  collectNode(): Promise<void> | void;
  buildMessage(): void;
  parse(raw: ArrayBuffer): Promise<void>;
}

/** A part that holds no others. */
export interface Leaf {
  /** Lower case, such as `text/plain`. */
  type: string;
  /** Lower case; '' for none. */
  disposition: string;
  /** '' for none; not cleaned. */
  filename: string;
  /** '' for none; as sent. */
  contentId: string;
  /** The subtype of the multipart that holds it; '' for the message itself. */
  within: string;
  /** True for what stands beside the root of a multipart/related (RFC 2387 section 3.2). */
  beside: boolean;
  /** Decoded; line breaks that were not encoded are `\n`. */
  bytes(): Uint8Array;
  /** The same as text in its charset. */
  text(): string;
}

export interface Mime {
  /** The message's own header fields, unfolded, in order; `key` in lower case, nothing cleaned or decoded. */
  headers: Header[];
  leaves: Leaf[];
  /** Frees large bodies, once nobody reads the leaves any more. */
  free(): void;
}

/** A field whose encoded words name no charset that says anything has them in UTF-8, where they are that. */
function withKnownCharset(header: Header): Header {
  const { value } = header;
  if (!value.includes('=?') || value.length > MAX_DECODED_VALUE) return header;
  const inUtf8 = value.replace(VAGUE_WORD, '=?utf-8');
  return inUtf8 === value || decodeWords(inUtf8).includes('\ufffd') ? header : { ...header, value: inUtf8 };
}

/** The mailboxes and groups of all fields of one name (RFC 5322 section 3.4). */
export function addressesOf(headers: readonly Header[], key: string): Address[] {
  return headers.flatMap((header) => (header.key === key && header.value ? addressParser(header.value) : []));
}

/**
 * The library ends every line that was not base 64 with a line feed, also the last one of a part, whose
 * line break belongs to the boundary (RFC 2046 section 5.1.1).
 */
function hasLineBreakOfBoundary(node: Node): boolean {
  return node.parentNode !== undefined && node.contentTransferEncoding.encoding !== 'base64';
}

function bytesOf(node: Node): Uint8Array {
  const content = node.content ?? new ArrayBuffer(0);
  const bytes = content instanceof ArrayBuffer ? new Uint8Array(content) : content;
  return hasLineBreakOfBoundary(node) && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
}

function textOf(node: Node): string {
  const { value, params } = node.contentType.parsed;
  const charset = charsetOf(params.charset ?? '', bytesOf(node), value === 'text/html');
  if (charset !== undefined) params.charset = charset;
  const text = node.getTextContent();
  return hasLineBreakOfBoundary(node) && text.endsWith('\n') ? text.slice(0, -1) : text;
}

function leafOf(node: Node, beside: boolean): Leaf {
  const disposition = node.contentDisposition.parsed;
  const contentType = node.contentType.parsed;
  return {
    // A multipart in which no part was found is text.
    type: node.contentType.multipart === false ? contentType.value : 'text/plain',
    disposition: disposition.value,
    filename: disposition.params.filename || contentType.params.name || '',
    contentId: node.contentId ?? '',
    within: node.parentNode?.contentType.multipart || '',
    beside,
    bytes: () => bytesOf(node),
    text: () => textOf(node),
  };
}

function addLeaves(node: Node, beside: boolean, leaves: Leaf[]): void {
  if (node.childNodes.length === 0) leaves.push(leafOf(node, beside));
  const related = node.contentType.multipart === 'related';
  node.childNodes.forEach((child, index) => {
    addLeaves(child, beside || (related && index > 0), leaves);
  });
}

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;
/** RFC 5322 section 2.2: what is printed, but for the colon. */
const isOfName = (byte: number | undefined): boolean =>
  byte !== undefined && byte > SPACE && byte < DELETE && byte !== COLON;

/**
 * Is this a field of a header, or does it go on with one (RFC 5322 section 2.2)? A mail that lacks the empty
 * line before its text, or has no header at all, is read as relays mend it: the text begins at the first
 * line that is neither.
 */
function isOfHeader(line: Uint8Array): boolean {
  if (isBlank(line[0])) return true;
  const start = BYTE_ORDER_MARK.every((byte, at) => line[at] === byte) ? BYTE_ORDER_MARK.length : 0;
  let end = start;
  while (isOfName(line[end])) end++;
  if (end === start) return false;
  while (isBlank(line[end])) end++;
  return (
    line[end] === COLON || MBOX_LINE.test(Buffer.from(line.subarray(0, MBOX_LINE_BYTES)).toString('latin1'))
  );
}

function useBodyDecoder(this: Node, transferEncoding: string): void {
  this.contentDecoder = bodyDecoder(transferEncoding);
}

/**
 * Steps between the library and each line: a mail of very many parts is stopped early (the library limits
 * how deep parts nest, not how many there are), and new parts get our decoders.
 */
function watchParts(parser: Parser): void {
  const processLine = parser.processLine.bind(parser);
  let parts = 0;
  let last: Node | undefined;
  parser.processLine = (line, isFinal) => {
    const node = parser.currentNode;
    if (node !== last) {
      last = node;
      if (node.state === 'header') {
        if (++parts > MAX_PARTS) throw new Error(`it has more than ${MAX_PARTS} parts`);
        node.setupContentDecoder = useBodyDecoder;
      }
    }
    const mayBeBoundary = line[0] === HYPHEN && parser.boundaries.length > 0;
    const inHeader = node.state === 'header' && line.length > 0 && !mayBeBoundary;
    if (inHeader && !isOfHeader(line)) node.feed(EMPTY_LINE);
    const fed = node.state === 'header' ? utf8Line(line) : line;
    // What cannot be a boundary (RFC 2046 section 5.1.1) needs no search for one.
    if (!isFinal && line[0] !== HYPHEN) node.feed(fed);
    else return processLine(fed, isFinal);
  };
}

/** What the library takes without copying it. */
function bufferOf(raw: Uint8Array): ArrayBuffer {
  const { buffer } = raw;
  const isAll = buffer instanceof ArrayBuffer && buffer.byteLength === raw.byteLength;
  return isAll ? buffer : new Uint8Array(raw).buffer;
}

/**
 * Takes a mail apart.
 * @throws Error when it passes a limit; its message says which, to be read by the mail's owner
 */
export async function readMime(raw: Uint8Array): Promise<Mime> {
  const parser = new PostalMime({
    // A message inside is an attachment, so that nobody reads its text as the sender's own.
    forceRfc822Attachments: true,
    maxNestingDepth: MAX_DEPTH,
    maxHeadersSize: MAX_HEADER_BYTES,
  }) as unknown as Parser;
  watchParts(parser);
  // The library's own message, which nobody asks for here.
  parser.collectNode = () => {};
  parser.buildMessage = () => {};
  await parser.parse(bufferOf(raw));
  const leaves: Leaf[] = [];
  addLeaves(parser.root, false, leaves);
  const free = (): void => {
    for (const leaf of leaves) freeIfLarge(leaf.bytes());
  };
  return { headers: parser.root.headers.map(withKnownCharset), leaves, free };
}
