import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ByteBudget,
  FREE_BYTES,
  MIN_OWNER_BYTES_PER_SECOND,
  MIN_PROGRESS_BYTES_PER_SECOND,
  PROGRESS_WINDOW_MS,
} from '../../src/inbound/incoming-mail.ts';
import { FakeClock } from '../support/fake-clock.ts';

const CAPACITY = 64_000_000;
const LARGEST = 50_000_000;
/** Shared by all but the owner. */
const COMMON = CAPACITY - LARGEST;

const newBudget = (clock = new FakeClock()): ByteBudget =>
  new ByteBudget({ capacity: CAPACITY, largest: LARGEST, clock });

/** A mail of a source, which may wait for memory and may be revoked. */
function open(budget: ByteBudget, source = 'a') {
  const mail = {
    isRevoked: false,
    isWaiting: false,
    get held() {
      return share.held;
    },
    /** @returns whether the bytes were granted at once */
    take(bytes: number): boolean {
      const granted = budget.take(share, bytes);
      mail.isWaiting = granted !== undefined;
      void granted?.then(() => {
        mail.isWaiting = false;
      });
      return !granted;
    },
    complete: () => budget.complete(share),
    close: () => budget.close(share),
  };
  const share = budget.open(source, () => {
    mail.isRevoked = true;
  });
  return mail;
}

/** A mail of this source that holds all it may without the reserved room. */
function fill(budget: ByteBudget, source: string) {
  const mail = open(budget, source);
  mail.take(FREE_BYTES);
  while (mail.held < LARGEST - 100_000 && mail.take(100_000));
  return mail;
}

/** Lets promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the byte budget', () => {
  test('always grants the first bytes of a mail, however much others hold', () => {
    const budget = newBudget();
    for (let source = 0; source < 100; source++) fill(budget, `source ${source}`);
    const small = open(budget, 'source 1');
    expect([small.take(1), small.take(FREE_BYTES - 1)]).toEqual([true, true]);
  });

  test('reserves room for one mail of the largest size', () => {
    const budget = newBudget();
    const mail = open(budget);
    for (let held = 0; held < LARGEST; held += 1_000_000) expect(mail.take(1_000_000)).toBe(true);
    mail.close();
    expect(budget.held).toBe(0);
  });

  test('grants a source half of the rest, and always leaves room for another', () => {
    const budget = newBudget();
    open(budget, 'owner').take(LARGEST);
    expect(fill(budget, 'a').held / COMMON).toBeCloseTo(1 / 2, 1);
    for (const source of ['b', 'c', 'd', 'e']) fill(budget, source);
    expect(open(budget, 'new').take(FREE_BYTES + 100_000)).toBe(true);
  });

  test('serves the source first that holds the least, and gives it the reserved room', async () => {
    const budget = newBudget();
    const first = open(budget, 'a');
    first.take(LARGEST);
    const others = [open(budget, 'a'), open(budget, 'a')];
    for (const one of others) one.take(FREE_BYTES);
    const last = open(budget, 'b');
    expect([...others, last].map((one) => one.take(LARGEST - FREE_BYTES))).toEqual([false, false, false]);
    first.close();
    await settle();
    expect([...others, last].map(({ isWaiting }) => isWaiting)).toEqual([true, true, false]);
    last.close();
    await settle();
    expect(others.map(({ isWaiting }) => isWaiting)).toEqual([false, true]);
  });

  test('gives the reserved room to the next when a mail is complete and leaves enough', async () => {
    const budget = newBudget();
    const first = open(budget, 'a');
    first.take(12_000_000);
    const next = open(budget, 'b');
    expect(next.take(12_000_000)).toBe(false);
    first.complete();
    await settle();
    expect([next.held, next.isWaiting]).toEqual([12_000_000, false]);
  });

  test('takes back what a closed share held or waited for, and ends its wait', async () => {
    const budget = newBudget();
    const [one, two] = [open(budget), open(budget)];
    one.take(LARGEST);
    while (two.take(1_000_000));
    two.close();
    one.close();
    one.close();
    await settle();
    expect([budget.held, two.isWaiting]).toEqual([0, false]);
  });
});

describe('a mail that comes too slowly', () => {
  const seconds = PROGRESS_WINDOW_MS / 1000;

  test('is revoked while another waits', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    const [slow, owner, waiting] = [open(budget, 'slow'), open(budget, 'owner'), open(budget, 'waiting')];
    const revoked = () => [slow, owner, waiting].map(({ isRevoked }) => isRevoked);
    owner.take(LARGEST - 5_000_000);
    slow.take(2_000_000);
    waiting.take(LARGEST);
    await clock.advance(PROGRESS_WINDOW_MS / 2);
    slow.take(MIN_PROGRESS_BYTES_PER_SECOND * seconds - 1);
    owner.take(MIN_OWNER_BYTES_PER_SECOND * seconds);
    await clock.advance(PROGRESS_WINDOW_MS / 2);
    expect(revoked()).toEqual([true, false, false]);
    await clock.advance(PROGRESS_WINDOW_MS);
    expect(revoked()).toEqual([true, true, false]);
    owner.close();
    await settle();
    expect(waiting.isWaiting).toBe(false);
  });

  test('is left alone while none waits, while it waits itself, with few bytes, and when it is complete', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    const alone = open(budget, 'alone');
    alone.take(2_000_000);
    await clock.advance(10 * PROGRESS_WINDOW_MS);
    expect(alone.isRevoked).toBe(false);
    alone.close();
    const [small, complete, waiting] = [open(budget, 'b'), open(budget, 'c'), open(budget, 'd')];
    small.take(FREE_BYTES);
    complete.take(LARGEST);
    complete.complete();
    while (waiting.take(1_000_000));
    await clock.advance(3 * PROGRESS_WINDOW_MS);
    expect([small, complete, waiting].map(({ isRevoked }) => isRevoked)).toEqual([false, false, false]);
  });

  test('sets no timer while none waits', async () => {
    const clock = new FakeClock();
    const budget = newBudget(clock);
    open(budget).take(LARGEST);
    expect(clock.sleepers).toBe(0);
    const waiting = open(budget);
    waiting.take(LARGEST);
    expect(clock.sleepers).toBe(1);
    waiting.close();
    await clock.advance(0);
    expect(clock.sleepers).toBe(0);
  });
});

test('the budget never passes its capacity and never leaves all waiting, whatever the order', async () => {
  const size = fc.integer({ min: 1, max: 10_000_000 });
  const wants = fc.array(size, { minLength: 1, maxLength: 4 });
  const mail = fc.record({ source: fc.constantFrom('a', 'b', 'c'), wants });
  const mails = fc.array(mail, { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(mails, fc.infiniteStream(fc.nat()), async (mails, chance) => {
      const budget = newBudget();
      const opened = mails.map(({ source, wants }) => ({ mail: open(budget, source), wants: [...wants] }));
      while (opened.length > 0) {
        const ready = opened.filter((one) => !one.mail.isWaiting);
        expect(ready.length).toBeGreaterThan(0);
        const one = ready[(chance.next().value ?? 0) % ready.length] as (typeof opened)[number];
        const bytes = one.wants.shift();
        if (bytes !== undefined) one.mail.take(bytes);
        else {
          one.mail.complete();
          one.mail.close();
          opened.splice(opened.indexOf(one), 1);
        }
        await Promise.resolve();
        await Promise.resolve();
        expect(budget.held).toBeLessThanOrEqual(CAPACITY + mails.length * FREE_BYTES);
      }
      expect(budget.held).toBe(0);
    }),
  );
});
