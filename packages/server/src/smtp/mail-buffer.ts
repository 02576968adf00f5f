import { TRACE_HEADROOM_BYTES } from '../core/limits.ts';

/** Pieces below this size are gathered in blocks: a byte a packet must not cost an object a byte. */
const BLOCK_BYTES = 64 * 1024;

/** Gathers the bytes of one mail, and copies them once, behind free room for the Received line. */
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

  /** All bytes, with {@link TRACE_HEADROOM_BYTES} free in front of them. The buffer is empty then. */
  finish(): Uint8Array {
    this.#endBlock();
    const whole = new Uint8Array(TRACE_HEADROOM_BYTES + this.#length).subarray(TRACE_HEADROOM_BYTES);
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
