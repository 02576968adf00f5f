import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/reading/parsing.ts';

/** Everything that is left, in the order in which it is served. */
function drain<T>(queue: FairQueue<T>): T[] {
  const served: T[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) served.push(item);
  return served;
}

describe('a fair queue', () => {
  it('serves an account after at most one item of each other account, however many they have', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 1_000; i++) queue.add('many', ['a', `inbox ${i % 100}`]);
    queue.add('few', ['c', 'x']);
    for (let round = 0; round < 50; round++) {
      queue.add('honest', ['b', 'y']);
      const before: string[] = [];
      for (let item = queue.shift(); item !== 'honest'; item = queue.shift()) before.push(item ?? '');
      expect(before.filter((item) => item === 'many').length).toBeLessThanOrEqual(1);
    }
  });

  it('gives an account with a thousand inboxes no more than one with one', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 1_000; i++) queue.add('many', ['a', `inbox ${i}`]);
    for (let i = 0; i < 100; i++) queue.add('one', ['b', 'inbox']);
    const first = Array.from({ length: 200 }, () => queue.shift());
    expect(first.filter((item) => item === 'one')).toHaveLength(100);
  });

  it('gives an inbox with many items no more than one with one, within an account', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 100; i++) queue.add('many', ['a', 'x']);
    for (let i = 0; i < 10; i++) queue.add('one', ['a', 'y']);
    const first = Array.from({ length: 20 }, () => queue.shift());
    expect(first.filter((item) => item === 'one')).toHaveLength(10);
  });

  it('serves awaited items before all others, and in turns', () => {
    const queue = new FairQueue<string>();
    const names = ['a1', 'a2', 'a3', 'b1', 'b2'];
    for (const name of names) queue.add(name, [name.slice(0, 1), 'x']);
    for (const name of ['a2', 'a3', 'b2']) queue.hasten(name, [name.slice(0, 1), 'x']);
    expect(drain(queue)).toEqual(['a2', 'b2', 'a3', 'a1', 'b1']);
  });

  it('keeps the order within one inbox', () => {
    const queue = new FairQueue<number>();
    for (const item of [5, 1, 3]) queue.add(item, ['a', 'b']);
    expect(drain(queue)).toEqual([5, 1, 3]);
  });

  it('serves each item once, whatever is added, served, awaited and removed', () => {
    const step = fc.record({
      flow: fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('a', 'b', 'c')),
      action: fc.constantFrom('nothing', 'shift', 'remove', 'hasten'),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const queue = new FairQueue<number>();
        const out: number[] = [];
        for (const [id, { flow, action }] of steps.entries()) {
          queue.add(id, flow);
          const peeked = queue.peek();
          if (action === 'hasten') queue.hasten(id, flow);
          else if (action === 'shift') {
            const item = queue.shift();
            expect(item).toBe(peeked);
            out.push(item ?? -1);
          } else if (action === 'remove') {
            expect(queue.remove(id, flow)).toBe(true);
            expect(queue.remove(id, flow)).toBe(false);
            out.push(id);
          }
        }
        expect(queue.size).toBe(steps.length - out.length);
        out.push(...drain(queue));
        expect(out.toSorted((a, b) => a - b)).toEqual(steps.map((_, id) => id));
        expect(queue.size).toBe(0);
      }),
    );
  });
});
