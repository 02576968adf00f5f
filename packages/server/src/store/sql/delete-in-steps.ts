import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { AppError } from '../../errors.ts';
import type { Engine, Tx } from './engine.ts';
import { createSources, rowsToFree, type Sources } from './messages/sources.ts';
import { prepare, type Slots } from './prepared.ts';

/** Rows deleted in one transaction: one or two milliseconds, during which other writes wait. */
const ROWS_PER_STEP = 100;
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

/** Deletes messages with their sources, a limited number of rows in each transaction. */
export interface Removal {
  sources: Sources;
  /**
   * Deletes about `limit` rows of an inbox's messages, the oldest first. The caller's transaction has locked
   * the inbox. The number of an inbox is valid only within the transaction that read it: SQLite gives the
   * number of a removed inbox to a new one.
   * @param released gets the sources of the deleted messages, which the caller has to release
   * @param upTo only messages with `received_at` up to this time
   */
  freeMessages(tx: Tx, inbox: number, limit: number, released: number[], upTo?: number): Promise<number>;
  /** Deletes about `limit` rows of messages of all emptied inboxes, or of the one with the id `only`. */
  freeEmptied(tx: Tx, limit: number, only?: string): Promise<number>;
}

/** The oldest messages of an inbox, and their deletion up to a time; returns the sources that they had. */
export function prepareDeleteOldest({ db }: Pick<Engine, 'db'>) {
  const selectOldest = prepare(
    (value: Slots<{ inbox: number; after: number; upTo: number; limit: number }>) =>
      db
        .selectFrom('messages as m')
        .leftJoin('sources as s', 's.seq', 'm.source_seq')
        .select(['m.received_at', 's.size'])
        .where('m.inbox_seq', '=', value.inbox)
        .where('m.received_at', '>', value.after)
        .where('m.received_at', '<=', value.upTo)
        .orderBy('m.received_at')
        .limit(value.limit),
  );
  const deleteRange = prepare((value: Slots<{ inbox: number; after: number; upTo: number }>) =>
    db
      .deleteFrom('messages')
      .where('inbox_seq', '=', value.inbox)
      .where('received_at', '>', value.after)
      .where('received_at', '<=', value.upTo)
      .returning('source_seq'),
  );
  return { selectOldest, deleteRange };
}

export function createRemoval(engine: Engine): Removal {
  const { dialect } = engine;
  const sources = createSources(engine);
  const { selectOldest, deleteRange } = prepareDeleteOldest(engine);

  async function freeMessages(
    tx: Tx,
    inbox: number,
    limit: number,
    released: number[],
    upTo = Number.MAX_SAFE_INTEGER,
  ): Promise<number> {
    const after = -1;
    let freed = 0;
    let last: number | undefined;
    for (const { received_at, size } of await selectOldest(tx, { inbox, after, upTo, limit })) {
      last = received_at;
      freed += rowsToFree(size ?? 0);
      if (freed >= limit) break;
    }
    if (last === undefined) return 0;
    const deleted = await deleteRange(tx, { inbox, after, upTo: last });
    released.push(...deleted.map(({ source_seq }) => source_seq));
    return freed;
  }

  async function freeEmptied(tx: Tx, limit: number, only?: string): Promise<number> {
    const released: number[] = [];
    let freed = 0;
    while (freed < limit) {
      // A literal, because no engine uses a partial index for a value that is unknown when it plans.
      let query = tx
        .selectFrom('inboxes')
        .select(['seq', 'emptied_up_to'])
        .where('emptied_up_to', '>', sql.lit(0));
      if (only !== undefined) query = query.where('id', '=', only);
      // Another node that empties one now goes on with it; the deletion that asked for this one waits.
      const lock = only === undefined ? dialect.lockFreeRows : dialect.lockRows;
      const emptied = await lock(query.limit(1)).executeTakeFirst();
      if (!emptied) break;
      const left = limit - freed;
      const rows = await freeMessages(tx, emptied.seq, left, released, emptied.emptied_up_to);
      freed += rows;
      if (rows >= left) break;
      await tx.updateTable('inboxes').set({ emptied_up_to: 0 }).where('seq', '=', emptied.seq).execute();
      freed += 1;
    }
    await sources.release(tx, released);
    return freed;
  }

  return { sources, freeMessages, freeEmptied };
}
