import { setImmediate as nextTurn } from 'node:timers/promises';
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

/** Frees about `limit` rows of the messages of an inbox that ended, with their sources. */
export function createFreeMessages(db: Db, sources: Sources) {
  const selectOldest = prepare((value: Slots<{ inbox: number; limit: number }>) =>
    db
      .selectFrom('messages as m')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.received_at', 's.seq', 's.size'])
      .where('m.inbox_seq', '=', value.inbox)
      .orderBy('m.received_at')
      .limit(value.limit),
  );
  const deleteMessage = prepare((value: Slots<{ inbox: number; receivedAt: number }>) =>
    db
      .deleteFrom('messages')
      .where('inbox_seq', '=', value.inbox)
      .where('received_at', '=', value.receivedAt),
  );
  return (tx: Tx, inbox: number, limit: number): Promise<number> =>
    onConnection(tx, async (connection) => {
      let freed = 0;
      for (const { received_at, ...source } of await selectOldest(connection, { inbox, limit })) {
        await deleteMessage(connection, { inbox, receivedAt: received_at });
        freed += await sources.release(connection, source);
        if (freed >= limit) break;
      }
      return freed;
    });
}

export type FreeMessages = ReturnType<typeof createFreeMessages>;

/** Removes a deleted inbox with its messages; large sources are left parked. */
export async function removeInbox(db: Db, freeMessages: FreeMessages, seq: number): Promise<void> {
  await freeInSteps(db, (tx, limit) => freeMessages(tx, seq, limit));
  await db.deleteFrom('inboxes').where('seq', '=', seq).where('expires_at', '=', DELETED).execute();
}
