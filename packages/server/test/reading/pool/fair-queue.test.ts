import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../../src/reading/pool/fair-queue.ts';

const MB = 1_000_000;

/** Everything that is left, in the order in which it is served. */
function drain<T>(queue: FairQueue<T>): T[] {
  const served: T[] = [];
  for (let item = queue.shift(); item !== undefined; item = queue.shift()) served.push(item);
  return served;
}

describe('a fair queue', () => {
  it('serves a small job before the large ones that other connections wait with', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 20; i++) queue.add(`bomb ${i}`, ['account', 'address', `connection ${i}`], MB);
    queue.add('honest', ['account', 'address', 'connection'], 2_000);
    expect(queue.shift()).toBe('honest');
  });

  it('does so each time, while each connection sends its next large job when one is done', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 20; i++) queue.add(`bomb ${i}`, ['a', 'x', `${i}`], MB);
    const waits: number[] = [];
    for (let round = 0; round < 50; round++) {
      queue.add('honest', ['b', 'y', 'z'], 2_000);
      let before = 0;
      for (let item = queue.shift(); item !== 'honest'; item = queue.shift()) {
        before += 1;
        queue.add(`${item}`, ['a', 'x', `${item}`.slice(5)], MB);
      }
      waits.push(before);
      const bomb = queue.shift() ?? '';
      queue.add(bomb, ['a', 'x', bomb.slice(5)], MB);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(1);
  });

  it('gives an account with a thousand connections no more than one with one', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 1_000; i++) queue.add('many', ['a', `address ${i}`, `${i}`], 10);
    for (let i = 0; i < 100; i++) queue.add('one', ['b', 'address', 'connection'], 10);
    const first = Array.from({ length: 200 }, () => queue.shift());
    expect(first.filter((item) => item === 'one')).toHaveLength(100);
  });

  it('gives an address with many connections no more than one with one, within an account', () => {
    const queue = new FairQueue<string>();
    for (let i = 0; i < 100; i++) queue.add('many', ['a', 'x', `${i}`], 10);
    for (let i = 0; i < 10; i++) queue.add('one', ['a', 'y', 'connection'], 10);
    const first = Array.from({ length: 20 }, () => queue.shift());
    expect(first.filter((item) => item === 'one')).toHaveLength(10);
  });

  it('lets no job wait for ever behind small ones that keep coming', () => {
    const queue = new FairQueue<string>();
    queue.add('large', ['a'], MB);
    let served = 0;
    for (let item = ''; item !== 'large'; served++) {
      queue.add('small', ['b'], 10_000);
      item = queue.shift() ?? '';
    }
    expect(served).toBeLessThanOrEqual(101);
  });

  it('keeps the order within one connection', () => {
    const queue = new FairQueue<number>();
    for (const cost of [5, 1, 3]) queue.add(cost, ['a', 'b'], cost);
    expect(drain(queue)).toEqual([5, 1, 3]);
  });

  it('serves each item once, whatever is added, served and removed, and forgets groups without items', () => {
    const step = fc.record({
      flow: fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 2 }),
      cost: fc.nat(100),
      action: fc.constantFrom('nothing', 'shift', 'remove'),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const queue = new FairQueue<number>();
        const out: number[] = [];
        for (const [id, { flow, cost, action }] of steps.entries()) {
          queue.add(id, flow, cost);
          const peeked = queue.peek();
          if (action === 'shift') {
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
