import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/inbound/in-flight/byte-budget.ts';
import { readMessage } from '../../../src/inbound/in-flight/read-message.ts';
import { TRACE_HEADROOM_BYTES } from '../../../src/inbound/received-line.ts';

const LIMIT = 1000;
const tooLarge = (limit: number) => new Error(`above ${limit}`);
const read = (stream: Readable, budget: ByteBudget) =>
  readMessage(stream, { limit: LIMIT, tooLarge, budget });
const nextTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};
/** A stream that the test writes to. */
const open = (): Readable => new Readable({ read: () => undefined });

describe('reading a message from a stream', () => {
  it('returns its bytes behind free room for the Received line, and counts them until they are released', async () => {
    const budget = new ByteBudget(2 * LIMIT, LIMIT);
    const pieces = ['a'.repeat(400), '', 'b'.repeat(600)].map((text) => Buffer.from(text));
    const { bytes, release } = await read(Readable.from(pieces, { objectMode: false }), budget);
    expect(Buffer.from(bytes).toString()).toBe('a'.repeat(400) + 'b'.repeat(600));
    expect(bytes.byteOffset).toBe(TRACE_HEADROOM_BYTES);
    expect(budget.held).toBe(LIMIT);
    release();
    release();
    expect(budget.held).toBe(0);
  });

  it('rejects a message above the limit, frees what it holds, and leaves the stream open', async () => {
    const budget = new ByteBudget(2 * LIMIT, LIMIT);
    const stream = open();
    stream.push(Buffer.alloc(900));
    stream.push(Buffer.alloc(101));
    await expect(read(stream, budget)).rejects.toThrow('above 1000');
    expect([budget.held, stream.destroyed]).toEqual([0, false]);
    stream.destroy();
  });

  it('waits for the budget without reading on, and goes on when others have released theirs', async () => {
    const budget = new ByteBudget(2 * LIMIT, LIMIT);
    const whole = () => Readable.from([Buffer.alloc(LIMIT)], { objectMode: false });
    const [first, second] = [await read(whole(), budget), await read(whole(), budget)];
    const waiting = read(whole(), budget);
    await nextTurns();
    expect(budget.held).toBe(2 * LIMIT);
    second.release();
    const third = await waiting;
    expect(third.bytes).toHaveLength(LIMIT);
    first.release();
    third.release();
    expect(budget.held).toBe(0);
  });

  it.each(['while it is read', 'while it waits for the budget'])(
    'frees what it holds when its sender leaves %s',
    async (when) => {
      const budget = new ByteBudget(2 * LIMIT, LIMIT);
      const others = when.endsWith('budget')
        ? [1, 2].map(() => read(Readable.from([Buffer.alloc(LIMIT)], { objectMode: false }), budget))
        : [];
      const held = await Promise.all(others);
      const before = budget.held;
      const stream = open();
      const reading = read(stream, budget);
      reading.catch(() => undefined);
      stream.push(Buffer.alloc(500));
      await nextTurns();
      stream.destroy();
      await expect(reading).rejects.toThrow();
      expect(budget.held).toBe(before);
      for (const { release } of held) release();
      expect(budget.held).toBe(0);
    },
  );
});
