import { freeIfLarge, LARGE_BYTES } from '../../memory.ts';
import { TRACE_HEADROOM_BYTES } from '../received-line.ts';
import type { ByteBudget, Share } from './byte-budget.ts';

export interface IncomingMailOptions {
  budget: ByteBudget;
  /** Of the sender, as `sourceKey` returns it. */
  source: string;
  /** Bytes that the mail may have. */
  maxBytes: number;
  /** Called when the mail comes too slowly while others wait for its memory. */
  revoke(): void;
}

const NOTHING = new Uint8Array();

/**
 * The bytes of one mail that is being received or stored, in one buffer behind free space for the Received line, under
 * the budget of all mails in flight.
 */
export class IncomingMail {
  readonly #budget: ByteBudget;
  readonly #share: Share;
  readonly #maxBytes: number;
  #bytes = NOTHING;
  #end = TRACE_HEADROOM_BYTES;
  #isReleased = false;

  constructor({ budget, source, maxBytes, revoke }: IncomingMailOptions) {
    this.#budget = budget;
    this.#share = budget.open(source, revoke);
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#end - TRACE_HEADROOM_BYTES;
  }

  /**
   * Copies a piece.
   * @returns undefined, or where the budget grants no bytes now a promise: append nothing more until it resolves,
   *   and nothing at all where the mail was released meanwhile
   */
  append(piece: Uint8Array): Promise<void> | undefined {
    const granted = this.#budget.take(this.#share, piece.length);
    if (granted) return granted.then(() => this.#copy(piece));
    this.#copy(piece);
    return undefined;
  }

  /** All bytes, with {@link TRACE_HEADROOM_BYTES} free in front of them in a buffer of their own; good until {@link release}. */
  finish(): Uint8Array {
    this.#budget.complete(this.#share);
    const { buffer } = this.#bytes;
    if (buffer.resizable) buffer.resize(this.#end);
    else if (buffer.byteLength !== this.#end) this.#move(new Uint8Array(this.#end));
    return this.#bytes.subarray(TRACE_HEADROOM_BYTES, this.#end);
  }

  /** Releases the memory and the share of the budget. */
  release(): void {
    this.#isReleased = true;
    this.#budget.close(this.#share);
    freeIfLarge(this.#bytes);
    this.#bytes = NOTHING;
  }

  #copy(piece: Uint8Array): void {
    if (this.#isReleased) return;
    const end = this.#end + piece.length;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.set(piece, this.#end);
    this.#end = end;
  }

  /** To what is needed for the first piece: most mails come in one. A large mail grows in address space that is reserved. */
  #grow(end: number): void {
    const maxByteLength = TRACE_HEADROOM_BYTES + this.#maxBytes;
    const capacity = this.length === 0 ? end : Math.min(2 * end, maxByteLength);
    const options = end < LARGE_BYTES ? {} : { maxByteLength };
    if (this.#bytes.buffer.resizable) this.#bytes.buffer.resize(capacity);
    else this.#move(new Uint8Array(new ArrayBuffer(capacity, options)));
  }

  #move(to: Uint8Array<ArrayBuffer>): void {
    to.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = to;
  }
}
