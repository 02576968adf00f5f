import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteBudget, IncomingMail, TRACE_HEADROOM_BYTES } from '../../src/inbound/incoming-mail.ts';
import { LARGE_BYTES } from '../../src/memory.ts';
import { FakeClock } from '../support/fake-clock.ts';

const MOST = 4 * LARGE_BYTES;
const everyByte = Buffer.alloc(MOST, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));

/** The first bytes of {@link everyByte}, in pieces of these lengths again and again. */
function gather(bytes: number, pieces: readonly number[]): IncomingMail {
  const budget = new ByteBudget({ capacity: MOST, largest: MOST, clock: new FakeClock() });
  const mail = new IncomingMail({ budget, source: 'a', maxBytes: MOST, revoke: () => undefined });
  for (let at = 0, next = 0; at < bytes; next++) {
    const end = Math.min(bytes, at + (pieces[next % pieces.length] ?? bytes));
    // As a socket's: the memory it came in is used for something else later.
    const piece = Buffer.from(everyByte.subarray(at, end));
    mail.append(piece);
    piece.fill(0);
    at = end;
  }
  return mail;
}

describe('a mail that is gathered', () => {
  test('is what came, however it came, with room for the Received line in front of it', () => {
    const length = fc.oneof(
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: LARGE_BYTES - 2, max: LARGE_BYTES + 2 }),
      fc.integer({ min: 0, max: MOST }),
      fc.constant(MOST),
    );
    const piece = fc.oneof(fc.integer({ min: 500, max: 2000 }), fc.integer({ min: 1000, max: MOST }));
    const pieces = fc.array(piece, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(length, pieces, (bytes, cuts) => {
        const mail = gather(bytes, cuts);
        expect(mail.length).toBe(bytes);
        const whole = mail.finish();
        expect(whole.byteOffset).toBe(TRACE_HEADROOM_BYTES);
        expect(whole.buffer.byteLength).toBe(TRACE_HEADROOM_BYTES + bytes);
        expect(Buffer.compare(whole, everyByte.subarray(0, bytes))).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  test('takes no more memory than it has bytes when it is whole', () => {
    const { buffer } = gather(LARGE_BYTES + 1, [10_000]).finish();
    expect(buffer.byteLength).toBe(TRACE_HEADROOM_BYTES + LARGE_BYTES + 1);
  });

  test('gives its memory back when it is let go, and not when another thread has it by then', () => {
    const mail = gather(LARGE_BYTES, [60_000]);
    const whole = mail.finish();
    mail.release();
    expect(whole.buffer.byteLength).toBe(0);

    const other = gather(LARGE_BYTES, [60_000]);
    const given = structuredClone(other.finish(), { transfer: [other.finish().buffer as ArrayBuffer] });
    other.release();
    expect(Buffer.compare(given, everyByte.subarray(0, LARGE_BYTES))).toBe(0);
  });
});
