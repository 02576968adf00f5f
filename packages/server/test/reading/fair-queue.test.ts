import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue, type Flow } from '../../src/reading/fair-queue.ts';

interface Item {
  name: string;
  flow: Flow;
}
const queueOf = (...items: Item[]) => {
  const queue = new FairQueue<Item>();
  for (const item of items) queue.add(item);
  return queue;
};
const many = (count: number, name: string, account: string, inbox: (i: number) => string): Item[] =>
  Array.from({ length: count }, (_, i) => ({ name, flow: [account, inbox(i)] }));

function shift(queue: FairQueue<Item>): Item | undefined {
  const item = queue.next();
  if (item) expect(queue.remove(item)).toBe(true);
  return item;
}

/** Names of what is served next, in order. */
function served(queue: FairQueue<Item>, most = Number.POSITIVE_INFINITY): string[] {
  const names: string[] = [];
  for (let item = shift(queue); item; item = names.length < most ? shift(queue) : undefined)
    names.push(item.name);
  return names;
}

describe('a fair queue', () => {
  it('serves an account after at most one item of each other account, however many they have', () => {
    const queue = queueOf(
      ...many(1_000, 'many', 'a', (i) => `${i % 100}`),
      ...many(1, 'few', 'c', () => 'x'),
    );
    for (let round = 0; round < 50; round++) {
      queue.add({ name: 'honest', flow: ['b', 'y'] });
      const before = [shift(queue), shift(queue), shift(queue)].map((item) => item?.name);
      expect(before.slice(0, before.indexOf('honest')).filter((name) => name === 'many').length).toBeLessThan(
        2,
      );
    }
  });

  it.each([
    ['an account with a thousand inboxes no more than one with one', ['a', 'b'], (i: number) => `${i}`],
    ['an inbox with many items no more than another one of its account', ['a', 'a'], () => 'x'],
  ])('gives %s', (_, [one = '', other = ''], inbox) => {
    const queue = queueOf(...many(1_000, 'many', one, inbox), ...many(100, 'few', other, () => 'y'));
    expect(served(queue, 200).filter((name) => name === 'few')).toHaveLength(100);
  });

  it('serves awaited items before all others, in turns, and keeps the order within one inbox', () => {
    const items = ['a1', 'a2', 'a3', 'b1', 'b2'].map((name): Item => ({ name, flow: [name.charAt(0), 'x'] }));
    const queue = queueOf(...items);
    for (const item of items) if (['a2', 'a3', 'b2'].includes(item.name)) queue.hasten(item);
    expect(served(queue)).toEqual(['a2', 'b2', 'a3', 'a1', 'b1']);
  });

  it('serves each item once, whatever is added, served, awaited and removed', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const step = fc.record({
      flow: fc.tuple(name, name),
      action: fc.constantFrom('nothing', 'shift', 'remove', 'hasten'),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const queue = queueOf();
        const out: string[] = [];
        for (const [id, { flow, action }] of steps.entries()) {
          const item = { name: String(id), flow };
          queue.add(item);
          if (action === 'hasten') queue.hasten(item);
          if (action === 'shift') out.push(shift(queue)?.name ?? '');
          if (action === 'remove') {
            expect([queue.remove(item), queue.remove(item)]).toEqual([true, false]);
            out.push(item.name);
          }
        }
        out.push(...served(queue));
        expect(out.toSorted((a, b) => Number(a) - Number(b))).toEqual(steps.map((_, id) => String(id)));
      }),
    );
  });
});
