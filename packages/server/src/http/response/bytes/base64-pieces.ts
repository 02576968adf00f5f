import { decodeBase64 } from '../../../mail/mime/transfer-encoding.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PADDING = 0x3d;
/** Four digits are three bytes (RFC 4648 section 4). */
const GROUP = 4;

const IS_DIGIT = new Uint8Array(256);
for (const digit of ALPHABET) IS_DIGIT[digit.charCodeAt(0)] = 1;

/** Decodes base64 that arrives in pieces: the results together are what `decodeBase64` returns for the whole. */
export class Base64Pieces {
  /** The digits of a group that is not complete yet. */
  #rest: Buffer = Buffer.alloc(0);

  /** @returns the bytes of all groups that are complete now */
  decode(piece: Uint8Array): Buffer {
    const bytes = Buffer.concat([this.#rest, piece]);
    const end = endOfGroups(bytes);
    this.#rest = Buffer.from(bytes.subarray(end).filter((byte) => IS_DIGIT[byte] === 1));
    return decodeBase64(bytes.subarray(0, end));
  }

  /** @returns the bytes of the last group, which may lack its padding */
  end(): Buffer {
    return decodeBase64(this.#rest);
  }
}

/** The offset behind the last complete group; padding completes a group wherever it is. */
function endOfGroups(bytes: Uint8Array): number {
  let digits = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === PADDING) digits = 0;
    else if (IS_DIGIT[byte] === 1) digits++;
    else continue;
    if (digits % GROUP === 0) end = at + 1;
  }
  return end;
}
