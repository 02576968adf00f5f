import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { notFound } from '../errors.ts';
import { DECODED_HERE_BYTES, MAX_DECODINGS } from '../http/limits.ts';
import { type InboxRecord, throwEnded } from '../inboxes/records.ts';
import type { AttachmentList, FullJson } from '../mail/full-json.ts';
import type { MailAttachment } from '../mail/mail.ts';
import { attachmentPart, type IndexedPart } from '../mail/mime/part-index.ts';
import { base64Digit, decodeBase64, decodeTransfer } from '../mail/mime/transfer-encoding.ts';
import { asBuffer, freeIfLarge, freeRead } from '../memory.ts';
import type { ParseRequest, Parsing } from '../reading/parsing.ts';
import { RAW_PIECE_BYTES } from '../reading/sql.ts';
import type { Store } from '../store.ts';
import { createSlots } from './held.ts';
import { attachmentsUrl, messageHead, toMessage } from './json.ts';
import type { FullMessageRecord, MessageRecord } from './records.ts';

type Admitted = Pick<InboxRecord, 'id' | 'accountId'>;

/** @throws AppError `inbox_expired` or `not_found` for an expired or deleted inbox, else `not_found` for the message */
export const throwMissing = (
  inboxes: Pick<Store['inboxes'], 'find'>,
  inbox: Admitted,
  messageId: string,
  now: number,
): Promise<never> => throwEnded(inboxes, inbox, now, notFound('message', messageId));

export async function findMessage(
  store: Pick<Store, 'messages' | 'inboxes'>,
  inbox: Admitted,
  messageId: string,
  now: number,
): Promise<FullMessageRecord> {
  const message = await store.messages.find(inbox.id, messageId, now);
  return message ?? throwMissing(store.inboxes, inbox, messageId, now);
}

interface RawDeps {
  store: { messages: Pick<Store['messages'], 'readRaw'> };
  clock: Pick<Clock, 'now'>;
}
type Source = Pick<MessageRecord, 'inboxId' | 'id'>;

/** Byte offsets in the raw source or in an attachment; `end` is exclusive. */
export interface SourceRange {
  start: number;
  end: number;
}

/** Reads one piece per turn of the event loop. @throws AppError `not_found` for a deleted message */
export async function* rawPieces(
  { store, clock }: RawDeps,
  { inboxId, id }: Source,
  { start, end }: SourceRange,
): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; await nextTurn()) {
    const piece = Math.floor(at / RAW_PIECE_BYTES);
    const bytes = await store.messages.readRaw(inboxId, id, piece, clock.now());
    const offset = at - piece * RAW_PIECE_BYTES;
    const part = bytes?.subarray(offset, offset + end - at);
    if (!part || part.length === 0) throw notFound('message', id);
    // Read the length before `yield`, because the consumer may free the memory.
    at += part.length;
    yield part;
  }
}

/** Reads a range as one array. @throws as {@link rawPieces}, or the abort reason of `signal` */
async function rawRange(deps: RawDeps, source: Source, range: SourceRange, signal?: AbortSignal) {
  signal?.throwIfAborted();
  const whole = new Uint8Array(range.end - range.start);
  let length = 0;
  for await (const piece of rawPieces(deps, source, range)) {
    signal?.throwIfAborted();
    whole.set(piece, length);
    length += piece.length;
  }
  return whole;
}

const PADDING = 0x3d;
/** Four base64 digits encode three bytes (RFC 4648 section 4). */
const GROUP = 4;

/** Decodes base64 piece by piece. Frees each piece at once: garbage collection would come too late. */
async function* decodedBase64(pieces: AsyncIterable<Uint8Array>, itsTurn: () => Promise<void>) {
  let rest: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    await itsTurn();
    const bytes = Buffer.concat([rest, piece]);
    freeRead(piece);
    const end = endOfGroups(bytes);
    const decoded = decodeBase64(bytes.subarray(0, end));
    rest = Uint8Array.from(bytes.subarray(end).filter((byte) => base64Digit(byte) >= 0));
    freeIfLarge(bytes);
    yield decoded;
  }
  yield decodeBase64(Buffer.from(rest));
}

/** The length up to the last complete group of four digits. Padding always completes a group. */
function endOfGroups(bytes: Buffer): number {
  let digits = 0;
  for (let at = bytes.lastIndexOf(PADDING) + 1; at < bytes.length; at++)
    if (base64Digit(bytes[at] ?? 0) >= 0) digits++;
  let end = bytes.length;
  for (let extra = digits % GROUP; extra > 0; end--) if (base64Digit(bytes[end - 1] ?? 0) >= 0) extra--;
  return end;
}

export interface AttachmentContent {
  size: number;
  /** A stream for a large attachment that is in base64 or not encoded, otherwise a Buffer. */
  read(range: SourceRange): Buffer | Readable;
}

/** Yields the bytes of a range. @throws Error if some are missing: a short response must not look complete */
async function* cut(pieces: AsyncIterable<Buffer>, { start, end }: SourceRange): AsyncGenerator<Buffer> {
  let position = 0;
  for await (const piece of pieces) {
    const part = piece.subarray(Math.max(0, start - position), Math.max(0, end - position));
    position += piece.length;
    if (part.length > 0) yield part;
    if (position >= end) return;
  }
  throw new Error('an attachment has fewer bytes than its size says');
}

/** Limit of mails (up to 50 MiB) that are parsed concurrently. At most two of them are of one account. */
const MAX_WHOLE_MAILS = 3;

function partOf({ index }: FullMessageRecord, id: string): IndexedPart {
  const part = index && attachmentPart(index, id);
  if (!part) throw notFound('attachment', id);
  return part;
}

/** Decodes and parses raw sources, for content that is not stored. @throws AppError, or an abort reason */
export class Contents {
  readonly #deps: RawDeps & { parsing: Pick<Parsing, 'run'> };
  readonly #decodeInTurn = createSlots(MAX_DECODINGS);
  readonly #parseInTurn = createSlots(MAX_WHOLE_MAILS);
  #lastTurn = Promise.resolve();

  constructor(deps: RawDeps & { parsing: Pick<Parsing, 'run'> }) {
    this.#deps = deps;
  }

  readAttachment(message: FullMessageRecord, id: string): Promise<Uint8Array> {
    const { bodyStart: start, bodyEnd: end, encoding } = partOf(message, id);
    return this.#decodeInTurn(message.accountId, async () => {
      const bytes = await rawRange(this.#deps, message, { start, end });
      const isCheap = encoding === '' || bytes.length <= DECODED_HERE_BYTES;
      return isCheap
        ? decodeTransfer(Buffer.from(bytes.buffer, 0, bytes.length), encoding)
        : this.#deps.parsing.run('decode', [bytes, encoding], { flow: [message.accountId, message.inboxId] });
    });
  }

  async openAttachment(message: FullMessageRecord, { id, size }: MailAttachment): Promise<AttachmentContent> {
    const { bodyStart, bodyEnd, encoding } = partOf(message, id);
    const pieces = (start: number, end: number) => rawPieces(this.#deps, message, { start, end });
    const isLarge = bodyEnd - bodyStart > DECODED_HERE_BYTES;
    if (isLarge && (encoding === '' || encoding === 'base64')) {
      const within = ({ start, end }: SourceRange) =>
        encoding === ''
          ? pieces(bodyStart + start, bodyStart + end)
          : cut(decodedBase64(pieces(bodyStart, bodyEnd), this.#itsTurn), { start, end });
      return { size, read: (range) => Readable.from(within(range), { objectMode: false }) };
    }
    const bytes = await this.readAttachment(message, id);
    return { size: bytes.length, read: ({ start, end }) => Buffer.from(bytes.subarray(start, end)) };
  }

  async withAttachments(message: FullMessageRecord, signal: AbortSignal): Promise<FullMessageRecord> {
    if (!message.isPartial || message.index !== null) return message;
    const json = await this.#withSource(message, signal, (raw, request) =>
      this.#deps.parsing.run('attachments', [raw], request),
    );
    const { attachments, index }: AttachmentList = JSON.parse(new TextDecoder().decode(json));
    return { ...message, content: { ...message.content, attachments }, index };
  }

  async json(
    message: FullMessageRecord,
    base: string,
    signal: AbortSignal,
    fields: { truncated?: true } = {},
  ): Promise<string | Buffer> {
    if (!message.isPartial) return JSON.stringify({ ...toMessage(message, base), ...fields });
    const head = { ...messageHead(message, base), ...fields };
    const about: FullJson = { head, attachmentsUrl: attachmentsUrl(message, base) };
    const read = await this.#withSource(message, signal, (raw, request) =>
      this.#deps.parsing.run('fullJson', [raw, about], request),
    );
    return asBuffer(read);
  }

  /** @param imagesUrl the beginning of all image URLs, to which the attachment id is appended */
  preview(message: FullMessageRecord, imagesUrl: string, signal: AbortSignal) {
    return this.#withSource(message, signal, (raw, request) =>
      this.#deps.parsing.run('preview', [raw, imagesUrl], request),
    );
  }

  lint(message: FullMessageRecord, signal: AbortSignal) {
    return this.#withSource(message, signal, (raw, request) =>
      this.#deps.parsing.run('lint', [raw], request),
    );
  }

  /** `use` may transfer the memory of the raw source to another thread. */
  #withSource<T>(
    message: FullMessageRecord,
    signal: AbortSignal,
    use: (raw: Uint8Array, request: ParseRequest) => Promise<T>,
  ): Promise<T> {
    return this.#parseInTurn(message.accountId, async () => {
      const raw = await rawRange(this.#deps, message, { start: 0, end: message.size }, signal);
      return use(raw, { flow: [message.accountId, message.inboxId], signal });
    });
  }

  /** Only one piece is decoded in each turn of the event loop, however many attachments are being read. */
  readonly #itsTurn = (): Promise<void> => {
    this.#lastTurn = this.#lastTurn.then(() => nextTurn());
    return this.#lastTurn;
  };
}
