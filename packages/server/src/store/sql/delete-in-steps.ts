import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import { freeEmptied, freeMessages } from '../../messages/sql/ending.ts';
import { freeParked, releaseSources } from '../../messages/sql/sources.ts';
import type { Engine, Tx } from './engine.ts';
import { kitOn } from './kit-on.ts';
import { removeContentOf } from './reports/explained-waits.ts';
import { DELETED } from './tables/index.ts';
import { cancelOfInboxes } from './webhooks/queue.ts';

/** Rows deleted in one transaction: one or two milliseconds, during which other writes wait. */
const ROWS_PER_STEP = 100;
/** Inboxes that are ended, or whose rows are deleted, in one transaction: a millisecond or two. */
export const INBOXES_PER_STEP = 20;
/** Deleting the row of an inbox changes ten indexes, and its labels. */
const ROWS_PER_INBOX = 4;

/** Deletes about `limit` rows and returns the count; fewer than `limit` means that nothing is left. */
export type FreeStep = (tx: Tx, limit: number) => Promise<number>;

/**
 * Repeats a step until nothing is left, each in a transaction of its own; other calls run between them.
 * @param first `step` for a part of something longer; otherwise the first one shares a transaction with other calls
 */
export async function freeInSteps(
  { transaction }: Pick<Engine, 'transaction'>,
  step: FreeStep,
  first?: 'step',
): Promise<void> {
  for (let of = first; ; of = 'step') {
    const freed = await transaction((tx) => step(tx, ROWS_PER_STEP), of);
    if (freed < ROWS_PER_STEP) return;
    await nextTurn();
  }
}

/**
 * Frees the space of a deletion that is already committed. The deletion succeeds even if the storage is
 * full, damaged or locked by another process: the sweeper frees the space later.
 */
export async function freeNowOrLater(free: () => Promise<void>): Promise<void> {
  try {
    await free();
  } catch (error) {
    if (!(error instanceof AppError && ['unavailable', 'storage_damaged'].includes(error.code))) throw error;
  }
}

/** Runs steps one after the other within one limit, each as far as the steps before it left of the limit. */
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

/** Deletes messages with their sources, a limited number of rows in each transaction. See messages/sql/. */
export interface Removal {
  sources: {
    release(tx: Tx, released: readonly number[]): Promise<void>;
    freeParked(tx: Tx, limit: number): Promise<number>;
  };
  freeMessages(tx: Tx, inbox: number, limit: number, released: number[]): Promise<number>;
  freeEmptied(tx: Tx, limit: number): Promise<number>;
  /**
   * Cancels the deliveries of deleted inboxes and deletes their rows, about `limit` in all, their own rows last;
   * large sources are left parked.
   */
  freeDeletedInboxes(tx: Tx, limit: number, inboxIds: readonly string[], now: number): Promise<number>;
}

export function createRemoval({ dialect }: Engine): Removal {
  // The inboxes are found by their ids in each step: the sweeper or another process may have removed some since
  // the step before, and new inboxes may have their numbers.
  async function freeDeletedInboxes(
    tx: Tx,
    limit: number,
    inboxIds: readonly string[],
    now: number,
  ): Promise<number> {
    // They are locked in the order of the intake, and before their deliveries, as by the sweeper.
    const inboxes = await dialect
      .lockRows(
        tx
          .selectFrom('inboxes')
          .select(['seq', 'id'])
          .where('id', 'in', inboxIds)
          .where('expires_at', '=', DELETED)
          .orderBy('id'),
      )
      .execute();
    if (inboxes.length === 0) return 0;
    const ids = inboxes.map(({ id }) => id);
    let freed = await cancelOfInboxes(tx, limit, ids, now);
    const released: number[] = [];
    const emptied: number[] = [];
    for (const { seq } of inboxes) {
      if (freed < limit) freed += await freeMessages(kitOn(tx), seq, limit - freed, released);
      if (freed >= limit) break;
      emptied.push(seq);
      freed += ROWS_PER_INBOX;
    }
    await releaseSources(kitOn(tx), released);
    if (emptied.length === 0) return freed;
    const isEmptied = new Set(emptied);
    const emptiedIds = inboxes.filter(({ seq }) => isEmptied.has(seq)).map(({ id }) => id);
    await removeContentOf(tx, emptiedIds);
    await tx.deleteFrom('inboxes').where('seq', 'in', emptied).execute();
    return freed;
  }

  return {
    sources: {
      release: (tx, released) => releaseSources(kitOn(tx), released),
      freeParked: (tx, limit) => freeParked(kitOn(tx), limit),
    },
    freeMessages: (tx, ...rest) => freeMessages(kitOn(tx), ...rest),
    freeEmptied: (tx, limit) => freeEmptied(kitOn(tx), limit),
    freeDeletedInboxes,
  };
}
