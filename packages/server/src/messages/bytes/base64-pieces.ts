import { base64Digit, decodeBase64 } from '../../mail/mime/transfer-encoding.ts';
import { freeIfLarge } from '../../memory.ts';

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
