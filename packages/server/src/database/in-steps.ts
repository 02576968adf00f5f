import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { Transaction, Tx } from './operations.ts';

/** One or two milliseconds per transaction, during which other writes wait. */
const ROWS_PER_STEP = 100;

/** Deletes about `limit` rows and returns the count; fewer than `limit` means that nothing is left. */
export type FreeStep = (tx: Tx, limit: number) => Promise<number>;

/** Repeats a step until nothing is left. @param first `step` unless the first may share a transaction */
export async function freeInSteps(transaction: Transaction, step: FreeStep, first?: 'step'): Promise<void> {
  for (let of = first; ; of = 'step') {
    const freed = await transaction((tx) => step(tx, ROWS_PER_STEP), of);
    if (freed < ROWS_PER_STEP) return;
    await nextTurn();
  }
}

/** Frees the space of a committed deletion. If the storage is full, damaged or locked, the sweeper frees it later. */
export async function freeNowOrLater(free: () => Promise<void>): Promise<void> {
  try {
    await free();
  } catch (error) {
    if (!(error instanceof AppError && ['unavailable', 'storage_damaged'].includes(error.code))) throw error;
  }
}

export function inSequence(...steps: FreeStep[]): FreeStep {
  return async (tx, limit) => {
    let freed = 0;
    for (const step of steps) {
      if (freed >= limit) break;
      freed += await step(tx, limit - freed);
    }
    return freed;
  };
}
