import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db, Dialect, Tx } from './dialect.ts';
import { rowsToFree, type Sources } from './messages/sources.ts';
import { onConnection, prepare, type Slots } from './prepared.ts';
import { DELETED } from './tables.ts';

/** Rows deleted in one transaction: one or two milliseconds, during which other writes wait. */
const ROWS_PER_STEP = 100;

/** Deletes about `limit` rows and returns the count; fewer than `limit` means that nothing is left. */
export type FreeStep = (tx: Tx, limit: number) => Promise<number>;

/** Repeats a step until nothing is left, each in a transaction of its own; other calls run between them. */
export async function freeInSteps(db: Db, step: FreeStep): Promise<void> {
  for (;;) {
    const freed = await db.transaction().execute((tx) => step(tx, ROWS_PER_STEP));
    if (freed < ROWS_PER_STEP) return;
    await nextTurn();
  }
}

/**
 * Frees the space of a deletion that is already committed. The deletion succeeds even if the storage is
 * full or locked by another process: the sweeper frees the space later.
 */
export async function freeNowOrLater(dialect: Dialect, free: () => Promise<void>): Promise<void> {
  try {
    await free();
  } catch (error) {
    if (!dialect.isTransient(error)) throw error;
  }
}

/**
 * Deletes about `limit` rows of an inbox's messages with their sources, the oldest first: all messages of
 * an inbox that ended, or those up to a time. The number of an inbox is valid only within the transaction
 * that looked it up: SQLite gives the number of a removed inbox to a new one.
 * @returns the rows deleted; fewer than `limit` means that no message is left
 */
export function createFreeMessages(db: Db, sources: Sources) {
  const selectOldest = prepare((value: Slots<{ inbox: number; upTo: number; limit: number }>) =>
    db
      .selectFrom('messages as m')
      .leftJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.received_at', 's.size'])
      .where('m.inbox_seq', '=', value.inbox)
      .where('m.received_at', '<=', value.upTo)
      .orderBy('m.received_at')
      .limit(value.limit),
  );
  const deleteMessage = prepareDeleteMessage(db);
  return (tx: Tx, inbox: number, limit: number, upTo = Number.MAX_SAFE_INTEGER): Promise<number> =>
    onConnection(tx, async (connection) => {
      const released: number[] = [];
      let freed = 0;
      for (const { received_at, size } of await selectOldest(connection, { inbox, upTo, limit })) {
        const deleted = await deleteMessage(connection, { inbox, receivedAt: received_at });
        for (const { source_seq } of deleted) released.push(source_seq);
        freed += rowsToFree(size ?? 0);
        if (freed >= limit) break;
      }
      await sources.release(connection, released);
      return freed;
    });
}

/** Deletes one message by its key; returns its source, or no row if another transaction deleted it first. */
export function prepareDeleteMessage(db: Db) {
  return prepare((value: Slots<{ inbox: number; receivedAt: number }>) =>
    db
      .deleteFrom('messages')
      .where('inbox_seq', '=', value.inbox)
      .where('received_at', '=', value.receivedAt)
      .returning('source_seq'),
  );
}

export type FreeMessages = ReturnType<typeof createFreeMessages>;

/**
 * Deletes about `limit` rows of messages of emptied inboxes: of all such inboxes, or of the one with the id
 * `only`. Returns the count.
 */
export async function freeEmptied(
  tx: Tx,
  freeMessages: FreeMessages,
  limit: number,
  only?: string,
): Promise<number> {
  let freed = 0;
  while (freed < limit) {
    // A constant, since no engine searches a partial index for a value that it does not know yet.
    let query = tx
      .selectFrom('inboxes')
      .select(['seq', 'emptied_up_to'])
      .where('emptied_up_to', '>', sql.lit(0));
    if (only !== undefined) query = query.where('id', '=', only);
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

/**
 * Removes a deleted inbox with its messages; large sources are left parked. Each step looks the inbox up by
 * its id, because the sweeper or another process may have removed it since the step before, and a new inbox
 * may have its number.
 */
export async function removeInbox(
  db: Db,
  dialect: Dialect,
  freeMessages: FreeMessages,
  inboxId: string,
): Promise<void> {
  await freeInSteps(db, async (tx, limit) => {
    const inbox = await dialect
      .lockRows(
        tx.selectFrom('inboxes').select('seq').where('id', '=', inboxId).where('expires_at', '=', DELETED),
      )
      .executeTakeFirst();
    if (!inbox) return 0;
    const freed = await freeMessages(tx, inbox.seq, limit);
    if (freed < limit) await tx.deleteFrom('inboxes').where('seq', '=', inbox.seq).execute();
    return freed;
  });
}
