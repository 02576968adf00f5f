import PostalMime, { type Address, addressParser, type Header } from 'postal-mime';
import { type BodyDecoder, bodyDecoder } from './body-decoder.ts';
import { freeIfLarge } from './large-memory.ts';

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
    // What cannot be a boundary (RFC 2046 section 5.1.1) needs no search for one.
    if (!isFinal && line[0] !== HYPHEN) node.feed(line);
    else return processLine(line, isFinal);
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
  return { headers: parser.root.headers, leaves, free };
}
