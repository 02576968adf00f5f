/**
 * Free bytes in front of a mail in its memory, so that who adds a Received line need not copy the
 * mail: `received.byteOffset` tells how many there are.
 */
export const HEADROOM_BYTES = 1024;
/** A mail that comes in pieces starts with this much memory and grows by doubling. */
const FIRST_CAPACITY = 64 * 1024;
/** A SIZE parameter is a promise of the sender's; memory is set aside for no more of it than this. */
const MAX_HINT = 16 * 1024 * 1024;

/**
 * The garbage collector does not see shared memory: thrown-away mails would stay until something
 * else makes it run. Ordinary memory of the same size, never touched and so never real, tells it.
 */
const ballast = new WeakMap<SharedArrayBuffer, ArrayBuffer>();

function allocate(bytes: number): Uint8Array<SharedArrayBuffer> {
  const memory = new SharedArrayBuffer(HEADROOM_BYTES + bytes);
  if (bytes >= FIRST_CAPACITY) ballast.set(memory, new ArrayBuffer(memory.byteLength));
  return new Uint8Array(memory, HEADROOM_BYTES);
}

/** Gathers the bytes of one mail in one piece of shared memory, which threads see without a copy. */
export class MailBuffer {
  /** Most mails come in one piece: it is kept as it is until their exact size is known. */
  #first: Uint8Array | undefined;
  #bytes: Uint8Array<SharedArrayBuffer> | undefined;
  #length = 0;
  readonly #sizeHint: number;

  /** @param sizeHint bytes that are expected, 0 when nobody said */
  constructor(sizeHint: number) {
    this.#sizeHint = Math.min(sizeHint, MAX_HINT);
  }

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    if (this.#length === 0) this.#first = piece;
    else this.#reserve(this.#length + piece.length).set(piece, this.#length);
    this.#length += piece.length;
  }

  /** All bytes, a view over a SharedArrayBuffer; nothing may be appended after. */
  finish(): Uint8Array {
    if (this.#bytes) return this.#bytes.subarray(0, this.#length);
    const exact = allocate(this.#length);
    if (this.#first) exact.set(this.#first);
    return exact;
  }

  /** Lets go of what was gathered. */
  clear(): void {
    this.#first = undefined;
    this.#bytes = undefined;
    this.#length = 0;
  }

  #reserve(needed: number): Uint8Array {
    if (this.#bytes && this.#bytes.length >= needed) return this.#bytes;
    const hint = needed > FIRST_CAPACITY ? this.#sizeHint : 0;
    const grown = allocate(Math.max(needed, hint, FIRST_CAPACITY, 2 * (this.#bytes?.length ?? 0)));
    const before = this.#bytes ?? this.#first;
    if (before) grown.set(before.subarray(0, this.#length));
    this.#first = undefined;
    this.#bytes = grown;
    return grown;
  }
}
