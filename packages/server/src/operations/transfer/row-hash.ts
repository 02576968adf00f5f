import { createHash } from 'node:crypto';

/** What both engines store in a column. */
export type Value = null | number | string | Uint8Array;

/** Sums are kept to 256 bits, the length of a SHA-256 hash. */
const MODULUS = 1n << 256n;

/** Writes a value so that no two rows have the same bytes: its kind, its length, and its content. */
function encode(value: Value): (string | Uint8Array)[] {
  if (value === null) return ['n'];
  if (typeof value === 'number') return [`i${value};`];
  if (typeof value === 'string') return [`t${Buffer.byteLength(value)};`, value];
  return [`b${value.byteLength};`, value];
}

/**
 * Number and hash of the rows of a table. The hash is the sum of the rows' SHA-256 hashes, so it does not
 * depend on the order in which an engine returns them.
 */
export class TableDigest {
  rows = 0;
  #sum = 0n;

  /** @param row its values, in an order of columns that both sides use */
  add(row: readonly Value[]): void {
    const hash = createHash('sha256');
    for (const value of row) for (const piece of encode(value)) hash.update(piece);
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) % MODULUS;
    this.rows += 1;
  }

  /** 64 hexadecimal digits. */
  get hash(): string {
    return this.#sum.toString(16).padStart(64, '0');
  }
}
