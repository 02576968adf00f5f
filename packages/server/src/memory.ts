import { flushCompileCache } from 'node:module';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Delay of the garbage collection, so that it does not block the first requests after the start. */
const SETTLE_MS = 2_000;

/** Frees the memory that startup has used: 10 MB per thread, in 25 to 100 ms. Needs `--expose-gc`. */
export function giveBackMemoryLater(): void {
  const collect = () => {
    flushCompileCache();
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
  void sleep(SETTLE_MS, undefined, { ref: false }).then(collect);
}

/** Limit of V8's young generation in a worker, MiB. A larger one does not help, as most objects die early. */
export const YOUNG_HEAP_MB = 12;

// Memory of large mails is freed explicitly: V8 lets 64 MB of unreachable buffers accumulate in each thread.

/** Minimum size of a buffer that is freed explicitly. Smaller ones may be parts of Node's shared pool. */
export const LARGE_BYTES = 256 * 1024;

export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

export const isLarge = ({ length }: Uint8Array): boolean => length >= LARGE_BYTES;

/** Frees a large buffer, unless it was transferred. Call this only when no other code uses the bytes. */
export function freeIfLarge({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.detached || buffer.byteLength < LARGE_BYTES) return;
  buffer.transferToFixedLength(0);
}

/** Minimum size of a read buffer that is freed: smaller ones may share memory with other data. */
const FREED_READ_BYTES = 16 * 1024;

/** Frees what was read from a socket or a database, unless it is a part of a larger buffer that others may use. */
export function freeRead({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < FREED_READ_BYTES || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer && !buffer.resizable) buffer.transfer(0);
}

/** Bytes that are copied in one turn of the event loop, which takes a third of a millisecond. */
const COPIED_PER_TURN = 1024 * 1024;

/** Returns a copy, made in steps between which the event loop runs. */
export async function copyInTurns(bytes: Uint8Array): Promise<Uint8Array> {
  const copy = new Uint8Array(bytes.length);
  for (let at = 0; at < copy.length; at += COPIED_PER_TURN) {
    if (at > 0) await nextTurn();
    copy.set(bytes.subarray(at, at + COPIED_PER_TURN), at);
  }
  return copy;
}

export const buffersToGive = (all: readonly Uint8Array[]): ArrayBuffer[] =>
  all.filter(isLarge).map(({ buffer }) => buffer as ArrayBuffer);

/** Copies bytes into a new resizable buffer, which the store may transfer to its thread and free. */
export function copyToGive(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(new ArrayBuffer(bytes.length, { maxByteLength: bytes.length }));
  copy.set(bytes);
  return copy;
}
