import { expect, it } from 'vitest';
import { Batcher } from '../../src/messages/batcher.ts';

it('a failed write of refusals is reported, and the next ones go on', async () => {
  const lost: unknown[] = [];
  const written: string[] = [];
  const write = async (refusals: string[]): Promise<never[]> => {
    if (refusals.includes('a')) throw new Error('the disk is full');
    written.push(...refusals);
    return [];
  };
  const log = new Batcher(write, { onLost: (error) => lost.push(error) });
  for (const refusal of ['a', 'b']) {
    log.offer(refusal);
    await log.flushed();
  }
  expect([lost, written]).toEqual([[new Error('the disk is full')], ['b']]);
});
