import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ByteBudget, readMessage } from '../../src/inbound/incoming-mail.ts';
import { turns } from '../smtp/start-smtp.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Above the bytes that are always granted. */
const LIMIT = 1_000_000;
const read = (stream: Readable, budget: ByteBudget) =>
  readMessage(stream, { maxBytes: LIMIT, budget, source: '192.0.2.1' });
const twoMessages = (clock = new FakeClock()): ByteBudget =>
  new ByteBudget({ capacity: 2 * LIMIT, largest: LIMIT, clock });
/** A stream that the test writes to. */
const open = (): Readable => new Readable({ read: () => undefined });

describe('reading a message from a stream', () => {
  it('gives back the memory of each piece of a large message, and of no piece that shares its memory', async () => {
    const shared = Buffer.alloc(100_000, 'b');
    const pieces = [300_000, 64_000, 1_000].map((bytes) => Buffer.from(new ArrayBuffer(bytes)).fill('a'));
    const stream = Readable.from([...pieces, shared.subarray(50_000)], { objectMode: false });
    const mail = await read(stream, twoMessages());
    expect(Buffer.from(mail.finish()).toString()).toBe('a'.repeat(365_000) + 'b'.repeat(50_000));
    expect(pieces.map(({ length }) => length)).toEqual([0, 0, 1_000]);
    expect(shared.length).toBe(100_000);
    mail.release();
  });

  it('rejects a message above the limit, frees what it holds, and leaves the stream open', async () => {
    const budget = twoMessages();
    const stream = open();
    stream.push(Buffer.alloc(900_000));
    stream.push(Buffer.alloc(100_001));
    await expect(read(stream, budget)).rejects.toThrow('larger than 1000000 bytes');
    expect([budget.held, stream.destroyed]).toEqual([0, false]);
    stream.destroy();
  });

  it('waits for the budget without reading on, and goes on when others have released theirs', async () => {
    const budget = twoMessages();
    const whole = () => Readable.from([Buffer.alloc(LIMIT)], { objectMode: false });
    const [first, second] = [await read(whole(), budget), await read(whole(), budget)];
    const waiting = read(whole(), budget);
    await turns(5);
    expect(budget.held).toBe(2 * LIMIT);
    second.release();
    const third = await waiting;
    expect(third).toHaveLength(LIMIT);
    first.release();
    third.release();
    expect(budget.held).toBe(0);
  });

  it.each(['while it is read', 'while it waits for the budget'])(
    'frees what it holds when its sender leaves %s',
    async (when) => {
      const budget = twoMessages();
      const others = when.endsWith('budget')
        ? [1, 2].map(() => read(Readable.from([Buffer.alloc(LIMIT)], { objectMode: false }), budget))
        : [];
      const held = await Promise.all(others);
      const before = budget.held;
      const stream = open();
      const reading = read(stream, budget);
      reading.catch(() => undefined);
      stream.push(Buffer.alloc(500_000));
      await turns(5);
      stream.destroy();
      await expect(reading).rejects.toThrow();
      expect(budget.held).toBe(before);
      for (const mail of held) mail.release();
      expect(budget.held).toBe(0);
    },
  );
});
