import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Flow, Turns } from '../../src/reading/parse-pool.ts';

interface Item {
  name: string;
  flow: Flow;
}
const turnsOf = (...items: Item[]) => {
  const turns = new Turns<Item>();
  for (const item of items) turns.add(item);
  return turns;
};
const many = (count: number, name: string, account: string, inbox: (i: number) => string): Item[] =>
  Array.from({ length: count }, (_, i) => ({ name, flow: [account, inbox(i)] }));

/** Names of what is served next, in order. */
function served(turns: Turns<Item>, most = Number.POSITIVE_INFINITY): string[] {
  const names: string[] = [];
  for (let item = turns.next(); item && names.length < most; item = turns.next()) {
    expect([turns.remove(item), turns.remove(item)]).toEqual([true, false]);
    names.push(item.name);
  }
  return names;
}

describe('turns', () => {
  it('serve an account after at most one item of each other account, however many they have', () => {
    const few: Item = { name: 'few', flow: ['c', 'x'] };
    const turns = turnsOf(...many(1_000, 'many', 'a', (i) => `${i % 100}`), few);
    for (let round = 0; round < 50; round++) {
      turns.add({ name: 'honest', flow: ['b', 'y'] });
      const names = served(turns, 3);
      const before = names.slice(0, names.indexOf('honest'));
      expect(before.filter((name) => name === 'many').length).toBeLessThan(2);
    }
  });

  it.each([
    ['an account with a thousand inboxes no more than one with one', ['a', 'b'], (i: number) => `${i}`],
    ['an inbox with many items no more than another one of its account', ['a', 'a'], () => 'x'],
  ])('give %s', (_, [one = '', other = ''], inbox) => {
    const turns = turnsOf(...many(1_000, 'many', one, inbox), ...many(100, 'few', other, () => 'y'));
    expect(served(turns, 200).filter((name) => name === 'few')).toHaveLength(100);
  });

  it('serve each item once, in order within its inbox', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, name)), (flows) => {
        const items = flows.map((flow, id) => ({ name: String(id), flow }));
        const order = served(turnsOf(...items)).map(Number);
        expect(order.toSorted((a, b) => a - b)).toEqual([...flows.keys()]);
        for (const flow of flows) {
          const own = order.filter((id) => String(flows[id]) === String(flow));
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});
