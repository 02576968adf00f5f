import { decodeBase64 } from '../../mail/mime/transfer-encoding.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 0x3d;
/** Four digits are three bytes (RFC 4648 section 4). */
const GROUP = 4;

const IS_DIGIT = new Uint8Array(256);
for (const digit of ALPHABET) IS_DIGIT[digit.charCodeAt(0)] = 1;

/** The results of all pieces together equal `decodeBase64` of the whole. */
export class Base64Pieces {
  readonly #rest: number[] = [];

  decode(piece: Uint8Array): Buffer[] {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const start = this.#completeRest(bytes);
    if (this.#rest.length > 0 && this.#rest.length < GROUP) return [];
    const first = this.end();
    const end = endOfGroups(bytes, start);
    for (const byte of bytes.subarray(end)) if (IS_DIGIT[byte] === 1) this.#rest.push(byte);
    return [first, decodeBase64(bytes.subarray(start, end))];
  }

  /** Returns the bytes of the last group, which may lack its padding. */
  end(): Buffer {
    return decodeBase64(Buffer.from(this.#rest.splice(0)));
  }

  /** Returns the offset after the bytes that were read. */
  #completeRest(bytes: Uint8Array): number {
    let at = 0;
    for (; at < bytes.length && this.#rest.length > 0 && this.#rest.length < GROUP; at++) {
      const byte = bytes[at] ?? 0;
      // Padding completes a group as well.
      if (byte === PADDING) this.#rest.push(...new Array<number>(GROUP - this.#rest.length).fill(PADDING));
      else if (IS_DIGIT[byte] === 1) this.#rest.push(byte);
    }
    return at;
  }
}

/** Padding completes a group wherever it is. */
function endOfGroups(bytes: Buffer, start: number): number {
  const behindPadding = bytes.lastIndexOf(PADDING) + 1;
  const from = Math.max(start, behindPadding);
  let digits = 0;
  for (let at = from; at < bytes.length; at++) digits += IS_DIGIT[bytes[at] ?? 0] ?? 0;
  let end = bytes.length;
  for (let extra = digits % GROUP; extra > 0; end--) extra -= IS_DIGIT[bytes[end - 1] ?? 0] ?? 0;
  return end;
}
