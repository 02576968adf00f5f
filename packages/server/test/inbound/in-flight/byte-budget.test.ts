import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ByteBudget,
  MIN_OWNER_BYTES_PER_SECOND,
  MIN_PROGRESS_BYTES_PER_SECOND,
} from '../../../src/inbound/in-flight/byte-budget.ts';
import { FREE_BYTES, PROGRESS_WINDOW_MS, type Share } from '../../../src/inbound/in-flight/share.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const CAPACITY = 64_000_000;
const LARGEST = 50_000_000;
/** Shared by all but the owner. */
const COMMON = CAPACITY - LARGEST;

const newBudget = (clock = new FakeClock(), capacity = CAPACITY): ByteBudget =>
  new ByteBudget({ capacity, largest: LARGEST, clock });

/** A share that notes what it is told. */
function open(budget: ByteBudget, source = 'a', account = `account of ${source}`) {
  const told: string[] = [];
  const events = { resume: () => void told.push('resume'), revoke: () => void told.push('revoke') };
  return { share: budget.open({ source, account }, events), told };
}

/** A share of this source that holds all it may, but for the reserved room. */
function fill(budget: ByteBudget, source: string): Share {
  const { share } = open(budget, source);
  share.take(FREE_BYTES);
  while (share.held < LARGEST - 100_000 && share.take(100_000));
  return share;
}

describe('the byte budget', () => {
  test('always grants the first bytes of a message, however much others hold', () => {
    const budget = newBudget();
    for (let source = 0; source < 100; source++) {
      const { share } = open(budget, `source ${source}`);
      while (!share.waiting && share.held < LARGEST - 1_000_000) share.take(1_000_000);
    }
    const small = open(budget).share;
    expect(small.take(1)).toBe(true);
    expect(small.take(FREE_BYTES - 1)).toBe(true);
  });

  test('reserves room for one message of the largest size', () => {
    const budget = newBudget();
    const { share } = open(budget);
    for (let held = 0; held < LARGEST; held += 1_000_000) expect(share.take(1_000_000)).toBe(true);
    expect(() => share.take(1)).toThrow(RangeError);
    share.close();
    expect(budget.held).toBe(0);
  });

  test('grants a source a third of the rest, and always leaves room for another', () => {
    const budget = newBudget();
    open(budget, 'owner').share.take(LARGEST);
    expect(fill(budget, 'a').held / COMMON).toBeCloseTo(1 / 3, 1);
    for (const source of ['b', 'c', 'd', 'e']) fill(budget, source);
    expect(open(budget, 'new').share.take(FREE_BYTES + 100_000)).toBe(true);
  });

  test('grants an account two thirds of the rest, wherever its messages come from', () => {
    const budget = newBudget();
    open(budget, 'owner').share.take(LARGEST);
    for (let i = 0; i < 20; i++) {
      const { share } = open(budget, `source ${i}`, 'one account');
      while (!share.waiting && share.held < 2_000_000) share.take(100_000);
    }
    expect(budget.held - LARGEST).toBeLessThan(0.67 * COMMON + 21 * FREE_BYTES);
    expect(open(budget, 'new', 'another').share.take(1_000_000)).toBe(true);
  });

  test('lets sources take turns at the reserved room', () => {
    const budget = newBudget();
    const first = open(budget, 'a');
    first.share.take(LARGEST);
    const second = open(budget, 'a');
    const other = open(budget, 'b');
    expect([second.share.take(LARGEST), other.share.take(LARGEST)]).toEqual([false, false]);
    first.share.close();
    expect([second.told, other.told]).toEqual([[], ['resume']]);
    other.share.close();
    expect(second.told).toEqual(['resume']);
  });

  test('gives the reserved room to the next when a message is complete and leaves enough', () => {
    const budget = newBudget();
    const first = open(budget, 'a');
    first.share.take(12_000_000);
    const next = open(budget, 'b');
    expect(next.share.take(12_000_000)).toBe(false);
    first.share.complete();
    expect([next.share.held, next.told]).toEqual([12_000_000, ['resume']]);
  });

  test('takes back what a closed share held or waited for', () => {
    const budget = newBudget();
    const one = open(budget);
    const two = open(budget);
    one.share.take(LARGEST);
    while (two.share.take(1_000_000));
    two.share.close();
    one.share.close();
    one.share.close();
    expect([budget.held, two.told]).toEqual([0, []]);
  });

  test('refuses a capacity below one message', () => {
    expect(() => newBudget(new FakeClock(), LARGEST - 1)).toThrow(RangeError);
  });
});

describe('a share that receives too slowly', () => {
  const seconds = PROGRESS_WINDOW_MS / 1000;

  test('is revoked while another waits', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    const [slow, owner, waiting] = [open(budget, 'slow'), open(budget, 'owner'), open(budget, 'waiting')];
    slow.share.take(2_000_000);
    owner.share.take(LARGEST - 5_000_000);
    waiting.share.take(LARGEST);
    await clock.advance(PROGRESS_WINDOW_MS / 2);
    slow.share.take(MIN_PROGRESS_BYTES_PER_SECOND * seconds - 1);
    owner.share.take(MIN_OWNER_BYTES_PER_SECOND * seconds);
    await clock.advance(PROGRESS_WINDOW_MS / 2);
    expect([slow.told, owner.told, waiting.told]).toEqual([['revoke'], [], []]);
    await clock.advance(PROGRESS_WINDOW_MS);
    expect(owner.told).toEqual(['revoke']);
    owner.share.close();
    expect(waiting.told).toEqual(['resume']);
  });

  test('is left alone while none waits, while it waits itself, with few bytes, and when it is complete', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    const alone = open(budget, 'alone');
    alone.share.take(2_000_000);
    await clock.advance(10 * PROGRESS_WINDOW_MS);
    expect(alone.told).toEqual([]);
    alone.share.close();
    const [small, complete, waiting] = [open(budget, 'b'), open(budget, 'c'), open(budget, 'd')];
    small.share.take(FREE_BYTES);
    complete.share.take(LARGEST);
    complete.share.complete();
    while (waiting.share.take(1_000_000));
    await clock.advance(3 * PROGRESS_WINDOW_MS);
    expect([small, complete, waiting].map(({ told }) => told)).toEqual([[], [], []]);
  });

  test('sets no timer while none waits', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    const owner = open(budget);
    owner.share.take(LARGEST);
    expect(clock.sleepers).toBe(0);
    const waiting = open(budget);
    waiting.share.take(LARGEST);
    expect(clock.sleepers).toBe(1);
    waiting.share.close();
    await clock.advance(0);
    expect(clock.sleepers).toBe(0);
  });
});

test('the budget never passes its capacity and never leaves all waiting, whatever the order', () => {
  type Mail = { share: Share; wants: number[] };
  const size = fc.integer({ min: 1, max: 10_000_000 });
  const mail = fc.record({
    source: fc.constantFrom('a', 'b', 'c'),
    account: fc.constantFrom('x', 'y', ''),
    wants: fc.array(size, { minLength: 1, maxLength: 4 }),
  });
  fc.assert(
    fc.property(
      fc.array(mail, { minLength: 1, maxLength: 30 }),
      fc.infiniteStream(fc.nat()),
      (mails, chance) => {
        const budget = newBudget();
        const shares: Mail[] = mails.map(({ source, account, wants }) => ({
          share: open(budget, source, account).share,
          wants: [...wants],
        }));
        while (shares.length > 0) {
          const ready = shares.filter(({ share }) => !share.waiting);
          expect(ready.length).toBeGreaterThan(0);
          const one = ready[(chance.next().value ?? 0) % ready.length] as Mail;
          const bytes = one.wants.shift();
          if (bytes !== undefined) one.share.take(bytes);
          else {
            one.share.complete();
            one.share.close();
            shares.splice(shares.indexOf(one), 1);
          }
          expect(budget.held).toBeLessThanOrEqual(CAPACITY + mails.length * FREE_BYTES);
        }
        expect(budget.held).toBe(0);
      },
    ),
  );
});
