import { freeIfLarge, LARGE_BYTES } from '../../memory.ts';
import { TRACE_HEADROOM_BYTES } from '../received-line.ts';

/** Pieces below this size are gathered in blocks: a byte a packet must not cost an object a byte. */
const BLOCK_BYTES = 64 * 1024;

/**
 * Collects the bytes of one message behind free space for the Received line. The pieces of a small one are
 * copied once, at its end. A large one is written where it stays: address space is reserved for the
 * largest, and becomes memory as it fills.
 */
export class MailBuffer {
  readonly #most: number;
  #pieces: Uint8Array[] = [];
  /** Where small pieces are gathered, and how much of it is used. */
  #block: Buffer | undefined;
  #used = 0;
  #length = 0;
  /** Where a large mail is, with its headroom. */
  #large: Uint8Array<ArrayBuffer> | undefined;

  /** @param most bytes that the mail may come to */
  constructor(most: number) {
    this.#most = most;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether the last piece was copied, so that its memory is not needed any more. */
  get hasCopied(): boolean {
    return this.#large !== undefined;
  }

  append(piece: Uint8Array): void {
    if (this.#length + piece.length >= LARGE_BYTES) this.#appendLarge(piece);
    // Most mails come in one piece.
    else if (this.#length === 0 || piece.length >= BLOCK_BYTES / 2) {
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

  /**
   * All bytes, with {@link TRACE_HEADROOM_BYTES} free in front of them. Those of a large mail are good
   * until {@link clear}.
   */
  finish(): Uint8Array {
    const end = TRACE_HEADROOM_BYTES + this.#length;
    if (this.#large) {
      this.#large.buffer.resize(end);
      return this.#large.subarray(TRACE_HEADROOM_BYTES, end);
    }
    const whole = new Uint8Array(end);
    this.#moveTo(whole);
    return whole.subarray(TRACE_HEADROOM_BYTES);
  }

  /** Releases the memory. */
  clear(): void {
    if (this.#large) freeIfLarge(this.#large);
    this.#large = undefined;
    this.#pieces = [];
    this.#block = undefined;
    this.#used = 0;
    this.#length = 0;
  }

  #appendLarge(piece: Uint8Array): void {
    const start = TRACE_HEADROOM_BYTES + this.#length;
    const end = start + piece.length;
    if (!this.#large) {
      const maxByteLength = TRACE_HEADROOM_BYTES + this.#most;
      this.#large = new Uint8Array(new ArrayBuffer(Math.min(2 * end, maxByteLength), { maxByteLength }));
      this.#moveTo(this.#large);
    }
    const { buffer } = this.#large;
    if (end > buffer.byteLength) buffer.resize(Math.min(2 * end, buffer.maxByteLength));
    this.#large.set(piece, start);
  }

  #moveTo(whole: Uint8Array): void {
    this.#endBlock();
    let at = TRACE_HEADROOM_BYTES;
    for (const piece of this.#pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [];
  }

  #endBlock(): void {
    if (this.#block) this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = undefined;
    this.#used = 0;
  }
}
