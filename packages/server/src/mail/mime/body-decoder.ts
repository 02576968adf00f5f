import { freeIfLarge } from '../../memory.ts';

/*
 * Undoes the transfer encodings of a body (RFC 2045 section 6), line by line as the MIME library hands
 * them over, with its results byte for byte. Its own decoders build a Blob for every part and hold 100 KB
 * for it, which costs more than all else that is done to a small mail.
 */

/** What the library asks of the decoder of a part. */
export interface BodyDecoder {
  /** @param line without its line break */
  update(line: Uint8Array): void;
  /** The decoded body; lines that were not base64 end in a line feed each. */
  finalize(): Uint8Array;
}

const LF = 0x0a;
const EQUALS = 0x3d;
/** First allocation of a body that is not empty, bytes: small enough for Node's buffer pool. */
const FIRST_CAPACITY = 2_048;

/** Marks in the tables below, beyond every digit. */
const NONE = 255;
const PADDING = 254;

function tableOf(digits: string): Uint8Array {
  const table = new Uint8Array(256).fill(NONE);
  for (const [value, digit] of [...digits].entries()) table[digit.charCodeAt(0)] = value;
  return table;
}

const BASE64 = tableOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
BASE64[EQUALS] = PADDING;
const HEX = tableOf('0123456789ABCDEF');
for (const [value, digit] of [...'abcdef'].entries()) HEX[digit.charCodeAt(0)] = 10 + value;

/** Bytes that grow at their end. */
abstract class Growing {
  protected bytes: Uint8Array = new Uint8Array(0);
  protected length = 0;

  finalize(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** Makes room for so many bytes more. */
  protected reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(FIRST_CAPACITY, needed, 2 * this.bytes.length));
    grown.set(this.bytes.subarray(0, this.length));
    freeIfLarge(this.bytes);
    this.bytes = grown;
  }
}

/** 7bit, 8bit, binary, and what nobody knows. */
class PlainDecoder extends Growing implements BodyDecoder {
  update(line: Uint8Array): void {
    this.reserve(line.length + 1);
    this.bytes.set(line, this.length);
    this.length += line.length;
    this.bytes[this.length++] = LF;
  }
}

/** RFC 2045 section 6.7. What is no escape stays as it is. */
class QuotedPrintableDecoder extends Growing implements BodyDecoder {
  update(line: Uint8Array): void {
    const soft = line.at(-1) === EQUALS;
    const end = soft ? line.length - 1 : line.length;
    this.reserve(end + 1);
    const { bytes } = this;
    // As it is up to the first escape: most lines have none.
    bytes.set(soft ? line.subarray(0, end) : line, this.length);
    const first = line.indexOf(EQUALS);
    const plain = first < 0 ? end : first;
    let length = this.length + plain;
    for (let i = plain; i < end; i++) {
      const byte = line[i] ?? 0;
      if (byte === EQUALS && i + 2 < end) {
        const high = HEX[line[i + 1] ?? 0] ?? NONE;
        const low = HEX[line[i + 2] ?? 0] ?? NONE;
        if (high !== NONE && low !== NONE) {
          bytes[length++] = (high << 4) | low;
          i += 2;
          continue;
        }
      }
      bytes[length++] = byte;
    }
    if (!soft) bytes[length++] = LF;
    this.length = length;
  }
}

/** RFC 2045 section 6.8. Other characters are passed over; padding ends a unit wherever it stands. */
class Base64Decoder extends Growing implements BodyDecoder {
  /** Bits read and not written yet, and how many they are. */
  private bits = 0;
  private count = 0;

  update(line: Uint8Array): void {
    this.reserve(Math.ceil((line.length * 3) / 4) + 1);
    const { bytes } = this;
    let { bits, count, length } = this;
    for (const byte of line) {
      const value = BASE64[byte] ?? NONE;
      if (value === PADDING) count = 0;
      if (value >= PADDING) continue;
      bits = (bits << 6) | value;
      count += 6;
      if (count < 8) continue;
      count -= 8;
      bytes[length++] = bits >> count;
    }
    this.bits = bits;
    this.count = count;
    this.length = length;
  }
}

/** @param encoding the Content-Transfer-Encoding, read as the library does: by the name that is in it */
export function bodyDecoder(encoding: string): BodyDecoder {
  if (/base64/i.test(encoding)) return new Base64Decoder();
  if (/quoted-printable/i.test(encoding)) return new QuotedPrintableDecoder();
  return new PlainDecoder();
}
