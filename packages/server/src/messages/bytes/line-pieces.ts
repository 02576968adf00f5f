import { decodeTransfer, UuDecoder } from '../../mail/mime/transfer-encoding.ts';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const EQUALS = 0x3d;
/** Of an incomplete line. Only hostile mails have longer ones. */
const MAX_KEPT_BYTES = 1024 * 1024;
const NOTHING = Buffer.alloc(0);

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const isBlank = (byte: number | undefined): boolean => byte === SPACE || byte === TAB;

function assertKept(bytes: number): void {
  if (bytes > MAX_KEPT_BYTES)
    throw new Error('An attachment has a line that is too long to be decoded in pieces.');
}

/** The results of all pieces together equal `decodeTransfer` of the whole. */
export class QuotedPrintablePieces {
  #kept: Buffer = NOTHING;

  /** @throws Error after more than 1 MiB of blanks, which are content only if the line continues */
  decode(piece: Uint8Array): Buffer[] {
    const bytes = Buffer.concat([this.#kept, asBuffer(piece)]);
    const end = endOfDecodable(bytes);
    this.#kept = bytes.subarray(end);
    assertKept(this.#kept.length);
    return [decodeTransfer(bytes.subarray(0, end), 'quoted-printable')];
  }

  end(): Buffer {
    return decodeTransfer(this.#kept, 'quoted-printable');
  }
}

/** The offset up to which the result does not depend on what follows: not within an escape or a line ending. */
function endOfDecodable(bytes: Buffer): number {
  let end = bytes.length;
  for (; end > 0; end--) {
    const last = bytes[end - 1];
    if (last === LF) return end;
    const isOpen = isBlank(last) || last === CR || last === EQUALS || bytes[end - 2] === EQUALS;
    if (!isOpen) return end;
  }
  return 0;
}

/** The `begin` line must be near the start of the part; see `decodeTransfer`. */
const BEGIN_WITHIN = 4_096;
const BEGIN = /^begin [0-7]{3,4} .*$/m;
/** The length character and at most 84 others. */
const MAX_LINE = 85;

/** As {@link QuotedPrintablePieces}, for uuencode. */
export class UuPieces {
  #kept: Buffer = NOTHING;
  #state: 'begin' | 'lines' | 'plain' = 'begin';
  readonly #decoder = new UuDecoder();
  /** Whether the rest of a line from an earlier piece is ignored. */
  #isSkipping = false;

  /** @throws Error when the first line is longer than 1 MiB */
  decode(piece: Uint8Array): Buffer[] {
    if (this.#decoder.isAtEnd) return [];
    if (this.#state === 'plain') return [asBuffer(piece)];
    const bytes = Buffer.concat([this.#kept, asBuffer(piece)]);
    this.#kept = NOTHING;
    return this.#state === 'begin' ? this.#begin(bytes, false) : [this.#lines(bytes)];
  }

  end(): Buffer {
    if (this.#state === 'begin') return Buffer.concat(this.#begin(this.#kept, true));
    if (this.#state !== 'lines' || this.#isSkipping) return NOTHING;
    return this.#decoder.decode(this.#kept);
  }

  #begin(bytes: Buffer, isEnd: boolean): Buffer[] {
    const begin = BEGIN.exec(bytes.toString('latin1', 0, Math.min(bytes.length, BEGIN_WITHIN)));
    // An incomplete line at the end of the piece may still become the `begin` line.
    const isOpen = !isEnd && bytes.length <= BEGIN_WITHIN;
    const lines = begin === null ? 0 : bytes.indexOf(LF, begin.index) + 1;
    const isFound = begin !== null && lines > 0 && lines < bytes.length;
    if (isFound && !isOpen) {
      this.#state = 'lines';
      const decoded = this.#lines(bytes.subarray(lines));
      return isEnd ? [decoded, this.end()] : [decoded];
    }
    if (isOpen || (begin !== null && !isEnd)) {
      this.#kept = bytes;
      assertKept(bytes.length);
      return [];
    }
    this.#state = 'plain';
    return [bytes];
  }

  #lines(bytes: Buffer): Buffer {
    let start = 0;
    if (this.#isSkipping) {
      start = bytes.indexOf(LF) + 1;
      if (start === 0) return NOTHING;
      this.#isSkipping = false;
    }
    const end = bytes.lastIndexOf(LF) + 1;
    const complete = this.#decoder.decode(bytes.subarray(start, Math.max(start, end)));
    const rest = bytes.subarray(Math.max(start, end));
    if (rest.length <= MAX_LINE) {
      this.#kept = rest;
      return complete;
    }
    // The rest of the line is ignored.
    this.#isSkipping = true;
    return Buffer.concat([complete, this.#decoder.decode(rest.subarray(0, MAX_LINE))]);
  }
}
