import { Readable } from 'node:stream';
import { notFound } from '../../errors.ts';
import { DECODED_HERE_BYTES, MAX_DECODINGS } from '../../http/limits.ts';
import type { MailAttachment } from '../../mail/mail.ts';
import { attachmentPart, type IndexedPart } from '../../mail/mime/part-index.ts';
import { decodeTransfer, type TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import { freeIfLarge } from '../../memory.ts';
import type { ParseRequest } from '../../reading/pool/parser-pool.ts';
import type { Store } from '../../store.ts';
import type { FullMessageRecord } from '../records.ts';
import { Base64Pieces } from './base64-pieces.ts';
import { QuotedPrintablePieces, UuPieces } from './line-pieces.ts';
import type { ByteRange } from './range.ts';
import { rawPieces, rawRange } from './raw-source.ts';
import { createTurns } from './turns.ts';

export interface AttachmentContent {
  size: number;
  /** Both ends are included. Few bytes are a buffer, others a stream. */
  read(range: ByteRange): Buffer | Readable;
}

export interface AttachmentBytes {
  /** Returns the whole attachment. @throws AppError `not_found` if it does not exist or the message ends meanwhile */
  read(message: FullMessageRecord, attachmentId: string): Promise<Uint8Array>;
  /** Large attachments are read and decoded piece by piece. @throws as `read` */
  open(message: FullMessageRecord, attachment: MailAttachment): Promise<AttachmentContent>;
}

export interface AttachmentParsing {
  /** Decodes an attachment of a raw source; undefined if there is no such attachment. */
  attachment(raw: Uint8Array, attachmentId: string, request: ParseRequest): Promise<Uint8Array | undefined>;
  /** Removes the transfer encoding of a part. */
  decode(bytes: Uint8Array, encoding: TransferEncoding, request: ParseRequest): Promise<Uint8Array>;
}

/** One piece is decoded in each turn of the event loop, so that other requests wait for one piece only. */
function createPacer(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const runOne = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(runOne);
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(runOne);
    });
}

interface Deps {
  messages: () => Pick<Store['messages'], 'readRaw'>;
  parsing: () => AttachmentParsing;
  now: () => number;
}

const encodedLength = ({ bodyStart, bodyEnd }: IndexedPart): number => bodyEnd - bodyStart;

async function readAttachment(
  deps: Deps,
  message: FullMessageRecord,
  attachmentId: string,
): Promise<Uint8Array> {
  const { index, size } = message;
  const request = { flow: [message.accountId, message.inboxId] };
  const part = index && attachmentPart(index, attachmentId);
  if (part) {
    const { bodyStart: start, bodyEnd: end, encoding } = part;
    const bytes = await rawRange(deps.messages(), message, { start, end }, deps.now);
    const isCheap = encoding === '' || bytes.length <= DECODED_HERE_BYTES;
    return isCheap
      ? decodeTransfer(Buffer.from(bytes.buffer, 0, bytes.length), encoding)
      : deps.parsing().decode(bytes, encoding, request);
  }
  // Messages that were stored without an index are parsed again.
  const raw =
    index === null ? await rawRange(deps.messages(), message, { start: 0, end: size }, deps.now) : null;
  const decoded = raw && (await deps.parsing().attachment(raw, attachmentId, request));
  if (!decoded) throw notFound('attachment', attachmentId);
  return decoded;
}

const DECODERS = {
  base64: () => new Base64Pieces(),
  'quoted-printable': () => new QuotedPrintablePieces(),
  uuencode: () => new UuPieces(),
};

/** Frees memory at once: with many slow clients, the garbage collector would leave more pieces than are in use. */
function freeUnlessShared(piece: Uint8Array, decoded: readonly Buffer[]): void {
  // A driver may return views of a larger buffer.
  const isWhole = piece.byteLength === piece.buffer.byteLength;
  if (isWhole && decoded.every(({ buffer }) => buffer !== piece.buffer)) freeIfLarge(piece);
}

async function* decodedPieces(
  pieces: AsyncIterable<Uint8Array>,
  encoding: keyof typeof DECODERS,
  itsTurn: () => Promise<void>,
): AsyncGenerator<Buffer> {
  const decoder = DECODERS[encoding]();
  for await (const piece of pieces) {
    await itsTurn();
    const decoded = decoder.decode(piece);
    freeUnlessShared(piece, decoded);
    yield* decoded;
  }
  yield decoder.end();
}

/** @throws Error if there are fewer bytes, because a short response must not look complete */
async function* cut(pieces: AsyncIterable<Buffer>, { first, last }: ByteRange): AsyncGenerator<Buffer> {
  let position = 0;
  for await (const piece of pieces) {
    const part = piece.subarray(Math.max(0, first - position), Math.max(0, last + 1 - position));
    position += piece.length;
    if (part.length > 0) yield part;
    if (position > last) return;
  }
  throw new Error('an attachment has fewer bytes than its size says');
}

function openStream(
  deps: Deps,
  message: FullMessageRecord,
  part: IndexedPart,
  size: number,
  itsTurn: () => Promise<void>,
): AttachmentContent {
  const { bodyStart, bodyEnd, encoding } = part;
  const pieces = (start: number, end: number) =>
    rawPieces(deps.messages(), message, { start, end }, deps.now);
  return {
    size,
    read: (range) =>
      Readable.from(
        encoding === ''
          ? pieces(bodyStart + range.first, bodyStart + range.last + 1)
          : cut(decodedPieces(pieces(bodyStart, bodyEnd), encoding, itsTurn), range),
        { objectMode: false },
      ),
  };
}

export function createAttachmentBytes(deps: Deps): AttachmentBytes {
  const inTurn = createTurns(MAX_DECODINGS);
  const itsTurn = createPacer();
  const read: AttachmentBytes['read'] = (message, attachmentId) =>
    inTurn(message.accountId, () => readAttachment(deps, message, attachmentId));
  return {
    read,
    async open(message, attachment) {
      const part = message.index && attachmentPart(message.index, attachment.id);
      if (part && encodedLength(part) > DECODED_HERE_BYTES) {
        return openStream(deps, message, part, attachment.size, itsTurn);
      }
      const bytes = await read(message, attachment.id);
      return {
        size: bytes.length,
        // A copy, because memory that is shared with a worker cannot be written to a socket.
        read: ({ first, last }) => Buffer.from(bytes.subarray(first, last + 1)),
      };
    },
  };
}
