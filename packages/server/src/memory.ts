import { flushCompileCache } from 'node:module';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

/** Delay of the first garbage collection, so that it does not block the first requests after the start. */
const SETTLE_MS = 2_000;
const INTERVAL_MS = 10_000;
/** Utilization of the event loop in an interval that makes a garbage collection due: one second of work. */
const BUSY = 0.1;
/** In an interval with less, requests are so rare that hardly one waits for the collection. */
const IDLE = 0.02;

/**
 * Frees the memory that startup has used, and later, each time that the thread has become idle, that of its load:
 * 10 to 20 MB per thread, in 25 to 100 ms. V8 alone would free it only during the next load. Needs `--expose-gc`.
 */
export async function giveBackMemoryLater(): Promise<void> {
  await sleep(SETTLE_MS, undefined, { ref: false });
  flushCompileCache();
  for (let [isDue, utilization] = [true, 0]; ; ) {
    if (isDue && utilization < IDLE) {
      isDue = false;
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    }
    const before = performance.eventLoopUtilization();
    await sleep(INTERVAL_MS, undefined, { ref: false });
    ({ utilization } = performance.eventLoopUtilization(before));
    isDue ||= utilization > BUSY;
  }
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
