import { expect, it } from 'vitest';
import { createRefusalLog } from '../../src/inbound/receiver.ts';
import type { Refusal } from '../../src/refusals/sql.ts';

const refusal = (address: string): Refusal => ({
  ...{ at: 1, address, reply: '550 5.1.1 no', mailFrom: '', helo: '', remoteAddress: '' },
});

/** A store whose writes end when the test says so. */
function slowStore() {
  const written: string[][] = [];
  const running: (() => void)[] = [];
  return {
    written,
    add: async (refusals: Refusal[]) => {
      await new Promise<void>((resolve) => running.push(resolve));
      written.push(refusals.map(({ address }) => address));
    },
    async endOne(): Promise<void> {
      while (running.length === 0) await new Promise((resolve) => setImmediate(resolve));
      running.shift()?.();
    },
  };
}

it('a flush waits for what was added before it, also behind a write that runs, and for nothing later', async () => {
  const store = slowStore();
  const log = createRefusalLog(store, () => undefined);
  log.add(refusal('a'));
  await new Promise((resolve) => setImmediate(resolve));
  log.add(refusal('b'));
  log.add(refusal('c'));
  const flushed = log.flushed();
  await store.endOne();
  let done = false;
  void flushed.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  const second = store.endOne();
  await second;
  await flushed;
  log.add(refusal('d'));
  expect(store.written).toEqual([['a'], ['b', 'c']]);
  await store.endOne();
  await log.flushed();
  expect(store.written.at(-1)).toEqual(['d']);
});

it('reports a failed write, and goes on with the next ones', async () => {
  const lost: unknown[] = [];
  const written: string[] = [];
  const log = createRefusalLog(
    {
      add: async ([first]) => {
        if (first?.address === 'a') throw new Error('the disk is full');
        written.push(first?.address ?? '');
      },
    },
    (error) => lost.push(error),
  );
  log.add(refusal('a'));
  await log.flushed();
  log.add(refusal('b'));
  await log.flushed();
  expect([lost, written]).toEqual([[new Error('the disk is full')], ['b']]);
});

it('keeps what is wanted, reports a look-up that failed, and a flush waits for both', async () => {
  const written: string[] = [];
  const lost: unknown[] = [];
  const log = createRefusalLog(
    { add: async (refusals) => void written.push(...refusals.map(({ address }) => address)) },
    (error) => lost.push(error),
  );
  const failure = new Error('nobody answers');
  const answers = { yes: true, no: false };
  for (const [address, answer] of Object.entries(answers)) log.addIf(async () => answer, refusal(address));
  log.addIf(() => Promise.reject(failure), refusal('failed'));
  await log.flushed();
  expect([written, lost]).toEqual([['yes'], [failure]]);
});

it('a flood costs no more than a thousand open questions', async () => {
  const log = createRefusalLog({ add: async () => undefined }, () => undefined);
  let asked = 0;
  const answers: (() => void)[] = [];
  const ask = () =>
    new Promise<boolean>((resolve) => {
      asked++;
      answers.push(() => resolve(false));
    });
  for (let i = 0; i < 1_500; i++) log.addIf(ask, refusal(`a${i}`));
  expect(asked).toBe(1_000);
  for (const answer of answers) answer();
  await log.flushed();
  log.addIf(ask, refusal('later'));
  expect(asked).toBe(1_001);
});
