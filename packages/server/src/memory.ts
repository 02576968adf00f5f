import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Gives back what starting took and nothing holds any more: 10 MB a thread, of which half is room for young
 * objects, that V8 shrinks only in a collection of this kind. Takes 25 ms on a thread with few modules and
 * 100 on the main one, so it is for moments without requests. Does nothing where Node was started
 * without `--expose-gc`, as by the tests.
 */
export function giveBackMemory(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * Size of the young generation of a worker thread, MiB. The objects of a batch are garbage once it is done; with
 * a larger limit V8 uses ten times this before it collects.
 */
export const YOUNG_HEAP_MB = 12;

/*
 * The memory of large mails is given back at the moment when it is no longer needed. Left to the garbage
 * collector, 200 mails of 10 MB at once took 200 MB more: V8 lets 64 MB of dead buffers gather in each
 * thread before it looks.
 */

/** From so many bytes on it is worth the trouble; no buffer of this size is shared with other data. */
export const LARGE_BYTES = 256 * 1024;

export const isLarge = ({ length }: Uint8Array): boolean => length >= LARGE_BYTES;

/**
 * Gives the memory of these bytes back now if it is large, and is not another thread's by now; the
 * collector has the rest. Only the last user of the bytes may call it.
 */
export function freeIfLarge({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.detached || buffer.byteLength < LARGE_BYTES) return;
  if (buffer.resizable) buffer.resize(0);
  else buffer.transfer(0);
}

/** A smaller read is left to the collector; it may share its memory with others. */
const FREED_READ_BYTES = 16 * 1024;

/**
 * Gives back the memory of bytes that a socket read, where nothing else is in it. 48 MB in reads of 64 KiB made
 * V8 mark the whole heap several times a second, up to 20 ms without a pause. Only the last
 * user of the bytes may call it.
 */
export function freeRead({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < FREED_READ_BYTES || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer && !buffer.resizable) buffer.transfer(0);
}

/** Bytes that are copied in one turn of the event loop: a third of a millisecond. */
const COPIED_PER_TURN = 1024 * 1024;

/**
 * Bytes to be posted to another thread, which frees them if they are large: then they are a copy to be
 * transferred ({@link buffersToGive}), because posting would copy them twice; and in a plain buffer, because
 * code that reads byte by byte takes twice as long in a resizable one. Other work has turns meanwhile.
 * @param isNeeded asked before each turn; where it is false the result is empty
 */
export async function copyInTurns(bytes: Uint8Array, isNeeded: () => boolean): Promise<Uint8Array> {
  if (!isLarge(bytes)) return bytes;
  const copy = new Uint8Array(bytes.length);
  for (let at = 0; at < copy.length; at += COPIED_PER_TURN) {
    if (at > 0) await nextTurn();
    if (!isNeeded()) return new Uint8Array();
    copy.set(bytes.subarray(at, at + COPIED_PER_TURN), at);
  }
  return copy;
}

/** What is transferred with these bytes: the memory of the large ones. */
export function buffersToGive(all: readonly Uint8Array[]): ArrayBuffer[] {
  return all.filter(isLarge).map(({ buffer }) => buffer as ArrayBuffer);
}

/** A copy that the store may take over and free: a large one is in a resizable buffer of its own. */
export function copyToGive(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (!isLarge(bytes)) return bytes.slice() as Uint8Array<ArrayBuffer>;
  const copy = new Uint8Array(new ArrayBuffer(bytes.length, { maxByteLength: bytes.length }));
  copy.set(bytes);
  return copy;
}
