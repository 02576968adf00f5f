/**
 * Free bytes in front of a mail in its memory, so that who adds a Received line need not copy the
 * mail: `received.byteOffset` tells how many there are.
 */
export const HEADROOM_BYTES = 1024;
/** Pieces below this size are gathered in blocks: a byte a packet must not cost an object a byte. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Gathers the bytes of one mail, and copies them once, into shared memory, which threads see as it
 * is. The pieces stay ordinary memory until then: the garbage collector does not see the weight of
 * shared memory, so a buffer that grew by reallocation would leave its old selves behind.
 */
export class MailBuffer {
  #pieces: Uint8Array[] = [];
  /** Where small pieces are gathered, and how much of it is used. */
  #block: Buffer | undefined;
  #used = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    // Most mails come in one piece.
    if (this.#length === 0 || piece.length >= BLOCK_BYTES / 2) {
      this.#endBlock();
      this.#pieces.push(piece);
    } else {
      if (!this.#block || this.#used + piece.length > this.#block.length) {
        this.#endBlock();
        this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      }
      this.#block.set(piece, this.#used);
      this.#used += piece.length;
    }
    this.#length += piece.length;
  }

  /** All bytes, a view over a SharedArrayBuffer. The buffer is empty then. */
  finish(): Uint8Array {
    this.#endBlock();
    const whole = new Uint8Array(new SharedArrayBuffer(HEADROOM_BYTES + this.#length), HEADROOM_BYTES);
    let at = 0;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.clear();
    return whole;
  }

  /** Lets go of what was gathered. */
  clear(): void {
    this.#pieces = [];
    this.#block = undefined;
    this.#used = 0;
    this.#length = 0;
  }

  #endBlock(): void {
    if (this.#block) this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = undefined;
    this.#used = 0;
  }
}
