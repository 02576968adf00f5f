import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteBudget, type Share } from '../../../src/inbound/in-flight/byte-budget.ts';

const CAPACITY = 100;
const LARGEST = 40;

describe('the byte budget', () => {
  test('gives room while there is some, and keeps one largest mail free for the oldest', () => {
    const budget = new ByteBudget(CAPACITY, LARGEST);
    const oldest = budget.open(() => undefined);
    const other = budget.open(() => undefined);
    expect(oldest.take(1)).toBe(true);
    expect(other.take(40)).toBe(true);
    const third = budget.open(() => undefined);
    expect(third.take(20)).toBe(true);
    const fourth = budget.open(() => undefined);
    expect(fourth.take(1)).toBe(false);
    expect(oldest.take(39)).toBe(true);
    expect(budget.held).toBe(CAPACITY);
  });

  test('serves who waits in the order of their mails, not of their asking', () => {
    const budget = new ByteBudget(80, 40);
    const served: string[] = [];
    const [first, second, third] = ['first', 'second', 'third'].map((name) =>
      budget.open(() => served.push(name)),
    ) as [Share, Share, Share];
    first.take(40);
    second.take(30);
    expect(third.take(20)).toBe(false);
    expect(second.take(10)).toBe(true);
    expect(served).toEqual([]);
    first.close();
    expect(served).toEqual(['third']);
    expect(budget.held).toBe(60);
  });

  test('lets nobody pass one that waits and is older', () => {
    const budget = new ByteBudget(50, 40);
    budget.open(() => undefined).take(1);
    const older = budget.open(() => undefined);
    const younger = budget.open(() => undefined);
    expect(older.take(11)).toBe(false);
    expect(younger.take(1)).toBe(false);
    expect(older.waiting && younger.waiting).toBe(true);
  });

  test('takes back what a closed share held or waited for', () => {
    const budget = new ByteBudget(40, 40);
    const one = budget.open(() => undefined);
    const two = budget.open(() => {
      throw new Error('a closed share was served');
    });
    one.take(40);
    two.take(1);
    two.close();
    one.close();
    one.close();
    expect(budget.held).toBe(0);
  });

  test('refuses a capacity below one mail, and a mail above the largest', () => {
    expect(() => new ByteBudget(39, 40)).toThrow(RangeError);
    const share = new ByteBudget(40, 40).open(() => undefined);
    share.take(40);
    expect(() => share.take(1)).toThrow(RangeError);
  });

  test('never passes its capacity and never leaves all waiting, whatever the order', () => {
    type Mail = { share: Share; wants: number[] };
    const sizes = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(sizes, { minLength: 1, maxLength: 30 }),
        fc.infiniteStream(fc.nat()),
        (mails, chance) => {
          const budget = new ByteBudget(CAPACITY, LARGEST);
          const open: Mail[] = mails.map((wants) => ({
            share: budget.open(() => undefined),
            wants: [...wants],
          }));
          while (open.length > 0) {
            // Somebody can always go on; a random one does.
            const ready = open.filter(({ share }) => !share.waiting);
            expect(ready.length).toBeGreaterThan(0);
            const mail = ready[(chance.next().value ?? 0) % ready.length] as Mail;
            const bytes = mail.wants.shift();
            if (bytes !== undefined) mail.share.take(bytes);
            else {
              mail.share.close();
              open.splice(open.indexOf(mail), 1);
            }
            expect(budget.held).toBeLessThanOrEqual(CAPACITY);
          }
          expect(budget.held).toBe(0);
        },
      ),
    );
  });
});
