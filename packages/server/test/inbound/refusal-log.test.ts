import { expect, it } from 'vitest';
import { Batcher } from '../../src/messages/batcher.ts';

/** A store whose writes end when the test says so. */
function slowStore() {
  const written: string[][] = [];
  const running: (() => void)[] = [];
  return {
    written,
    add: async (refusals: string[]): Promise<never[]> => {
      await new Promise<void>((resolve) => running.push(resolve));
      written.push(refusals);
      return [];
    },
    async endOne(): Promise<void> {
      while (running.length === 0) await new Promise((resolve) => setImmediate(resolve));
      running.shift()?.();
    },
  };
}

it('a flush waits for what was added before it, also behind a write that runs, and for nothing later', async () => {
  const store = slowStore();
  const log = new Batcher(store.add);
  log.offer('a');
  await new Promise((resolve) => setImmediate(resolve));
  log.offer('b');
  log.offer('c');
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
  log.offer('d');
  expect(store.written).toEqual([['a'], ['b', 'c']]);
  await store.endOne();
  await log.flushed();
  expect(store.written.at(-1)).toEqual(['d']);
});

it('reports a failed write, and goes on with the next ones', async () => {
  const lost: unknown[] = [];
  const written: string[] = [];
  const write = async (refusals: string[]): Promise<never[]> => {
    if (refusals.includes('a')) throw new Error('the disk is full');
    written.push(...refusals);
    return [];
  };
  const log = new Batcher(write, { onLost: (error) => lost.push(error) });
  log.offer('a');
  await log.flushed();
  log.offer('b');
  await log.flushed();
  expect([lost, written]).toEqual([[new Error('the disk is full')], ['b']]);
});
