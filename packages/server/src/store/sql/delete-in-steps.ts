import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db, Dialect, Tx } from './dialect.ts';
import type { Sources } from './messages/sources.ts';
import { onConnection, prepare, type Slots } from './prepared.ts';
import { DELETED } from './tables.ts';

/** Freeing so many rows takes about a millisecond or two: so long may others wait for the writer. */
const ROWS_PER_STEP = 100;

/** Frees about `limit` rows and answers how many; fewer mean that nothing is left. */
export type FreeStep = (tx: Tx, limit: number) => Promise<number>;

/** Repeats a step, each in a transaction of its own, and lets other callers in between. */
export async function freeInSteps(db: Db, step: FreeStep): Promise<void> {
  for (;;) {
    const freed = await db.transaction().execute((tx) => step(tx, ROWS_PER_STEP));
    if (freed < ROWS_PER_STEP) return;
    await nextTurn();
  }
}

/**
 * Frees what a deletion has left over that is committed, so that nobody hears of a failure of what was
 * done: where the storage is full or held by another, the sweeper frees it later.
 */
export async function freeNowOrLater(dialect: Dialect, free: () => Promise<void>): Promise<void> {
  try {
    await free();
  } catch (error) {
    if (!dialect.isPassing(error)) throw error;
  }
}

/**
 * Frees about `limit` rows of an inbox's messages with their sources, the oldest first: all of an inbox
 * that ended, or those up to a time.
 */
export function createFreeMessages(db: Db, sources: Sources) {
  const selectOldest = prepare((value: Slots<{ inbox: number; upTo: number; limit: number }>) =>
    db
      .selectFrom('messages as m')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.received_at', 's.seq', 's.size'])
      .where('m.inbox_seq', '=', value.inbox)
      .where('m.received_at', '<=', value.upTo)
      .orderBy('m.received_at')
      .limit(value.limit),
  );
  const deleteMessage = prepare((value: Slots<{ inbox: number; receivedAt: number }>) =>
    db
      .deleteFrom('messages')
      .where('inbox_seq', '=', value.inbox)
      .where('received_at', '=', value.receivedAt)
      .returning('source_seq'),
  );
  return (tx: Tx, inbox: number, limit: number, upTo = Number.MAX_SAFE_INTEGER): Promise<number> =>
    onConnection(tx, async (connection) => {
      let freed = 0;
      for (const { received_at, ...source } of await selectOldest(connection, { inbox, upTo, limit })) {
        const gone = await deleteMessage(connection, { inbox, receivedAt: received_at });
        // Where another transaction deleted the message first, that one releases its source.
        freed += gone.length > 0 ? await sources.release(connection, source) : 1;
        if (freed >= limit) break;
      }
      return freed;
    });
}

export type FreeMessages = ReturnType<typeof createFreeMessages>;

/**
 * Frees about `limit` rows of messages that were deleted by emptying their inbox: of all inboxes, or of
 * the one with the number `only`.
 */
export async function freeEmptied(
  tx: Tx,
  freeMessages: FreeMessages,
  limit: number,
  only?: number,
): Promise<number> {
  let freed = 0;
  while (freed < limit) {
    // A constant, since no engine searches a partial index for a value that it does not know yet.
    let query = tx
      .selectFrom('inboxes')
      .select(['seq', 'emptied_up_to'])
      .where('emptied_up_to', '>', sql.lit(0));
    if (only !== undefined) query = query.where('seq', '=', only);
    const emptied = await query.limit(1).executeTakeFirst();
    if (!emptied) break;
    const left = limit - freed;
    const rows = await freeMessages(tx, emptied.seq, left, emptied.emptied_up_to);
    freed += rows;
    if (rows >= left) break;
    await tx
      .updateTable('inboxes')
      .set({ emptied_up_to: 0 })
      .where('seq', '=', emptied.seq)
      // It may have been emptied again meanwhile.
      .where('emptied_up_to', '=', emptied.emptied_up_to)
      .execute();
    freed += 1;
  }
  return freed;
}

/** Removes a deleted inbox with its messages; large sources are left parked. */
export async function removeInbox(db: Db, freeMessages: FreeMessages, seq: number): Promise<void> {
  await freeInSteps(db, (tx, limit) => freeMessages(tx, seq, limit));
  await db.deleteFrom('inboxes').where('seq', '=', seq).where('expires_at', '=', DELETED).execute();
}
