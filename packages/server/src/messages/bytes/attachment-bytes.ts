import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { notFound } from '../../errors.ts';
import { DECODED_HERE_BYTES, MAX_DECODINGS } from '../../http/limits.ts';
import type { MailAttachment } from '../../mail/mail.ts';
import { attachmentPart, type IndexedPart } from '../../mail/mime/part-index.ts';
import { base64Digit, decodeBase64, decodeTransfer } from '../../mail/mime/transfer-encoding.ts';
import { freeIfLarge } from '../../memory.ts';
import type { Parsing } from '../../reading/parsing.ts';
import type { FullMessageRecord } from '../records.ts';
import { createTurns } from '../turns.ts';
import { type RawDeps, rawPieces, rawRange, type SourceRange } from './raw-source.ts';

const PADDING = 0x3d;
/** Four digits are three bytes (RFC 4648 section 4). */
const GROUP = 4;

/**
 * The results together equal `decodeBase64` of the whole. Frees memory at once: with many slow clients, the garbage
 * collector would leave more pieces than are in use.
 * @param itsTurn is awaited before a piece is decoded
 */
export async function* decodedBase64(
  pieces: AsyncIterable<Uint8Array>,
  itsTurn: () => Promise<void>,
): AsyncGenerator<Buffer> {
  let rest: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    await itsTurn();
    const bytes = Buffer.concat([rest, piece]);
    // A driver may return views of a larger buffer.
    if (piece.byteLength === piece.buffer.byteLength) freeIfLarge(piece);
    const end = endOfGroups(bytes);
    const decoded = decodeBase64(bytes.subarray(0, end));
    rest = Uint8Array.from(bytes.subarray(end).filter((byte) => base64Digit(byte) >= 0));
    freeIfLarge(bytes);
    yield decoded;
  }
  yield decodeBase64(Buffer.from(rest));
}

/** Padding completes a group wherever it is. */
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
  /** A stream for a large attachment that can be read piece by piece (base64 or not encoded), otherwise a Buffer. */
  read(range: SourceRange): Buffer | Readable;
}

export type AttachmentParsing = Pick<Parsing, 'decode'>;

/** @throws Error if there are fewer bytes, because a short response must not look complete */
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

export type AttachmentBytes = ReturnType<typeof createAttachmentBytes>;

export function createAttachmentBytes(deps: RawDeps & { parsing: AttachmentParsing }) {
  const inTurn = createTurns(MAX_DECODINGS);
  let lastTurn = Promise.resolve();
  /** Only one piece is decoded in each turn of the event loop, however many attachments are being read. */
  const itsTurn = () => {
    lastTurn = lastTurn.then(() => nextTurn());
    return lastTurn;
  };

  function partOf({ index }: FullMessageRecord, id: string): IndexedPart {
    const part = index && attachmentPart(index, id);
    if (!part) throw notFound('attachment', id);
    return part;
  }

  /** Returns the whole attachment. @throws AppError `not_found` if it does not exist or the message ends meanwhile */
  function read(message: FullMessageRecord, attachmentId: string): Promise<Uint8Array> {
    const { bodyStart: start, bodyEnd: end, encoding } = partOf(message, attachmentId);
    return inTurn(message.accountId, async () => {
      const bytes = await rawRange(deps, message, { start, end });
      const isCheap = encoding === '' || bytes.length <= DECODED_HERE_BYTES;
      return isCheap
        ? decodeTransfer(Buffer.from(bytes.buffer, 0, bytes.length), encoding)
        : deps.parsing.decode(bytes, encoding, { flow: [message.accountId, message.inboxId] });
    });
  }

  /** Large attachments are read piece by piece while they are sent. @throws as `read` */
  async function open(message: FullMessageRecord, { id, size }: MailAttachment): Promise<AttachmentContent> {
    const { bodyStart, bodyEnd, encoding } = partOf(message, id);
    const pieces = (start: number, end: number) => rawPieces(deps, message, { start, end });
    const isLarge = bodyEnd - bodyStart > DECODED_HERE_BYTES;
    if (isLarge && (encoding === '' || encoding === 'base64')) {
      const within = ({ start, end }: SourceRange) =>
        encoding === ''
          ? pieces(bodyStart + start, bodyStart + end)
          : cut(decodedBase64(pieces(bodyStart, bodyEnd), itsTurn), { start, end });
      return { size, read: (range) => Readable.from(within(range), { objectMode: false }) };
    }
    const bytes = await read(message, id);
    return {
      size: bytes.length,
      // A copy, because memory that is shared with a worker cannot be written to a socket.
      read: ({ start, end }) => Buffer.from(bytes.subarray(start, end)),
    };
  }

  return { read, open };
}
