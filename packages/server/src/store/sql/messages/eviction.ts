import { prepareDeleteMessage } from '../delete-in-steps.ts';
import type { Db } from '../dialect.ts';
import { prepare, type Runner, type Slots } from '../prepared.ts';
import type { Sources } from './sources.ts';

/** Deletes an inbox's oldest messages until it holds at most `maxMessages`, within the caller's transaction. */
export type Evict = (on: Runner, inbox: number, maxMessages: number) => Promise<void>;

/**
 * The caller's transaction has locked the inbox's row. Small sources are deleted at once; those of several
 * pieces can no longer be read, and the sweeper deletes them in steps.
 */
export function createEvict(db: Db, sources: Sources): Evict {
  const selectCount = prepare((value: Slots<{ inbox: number }>) =>
    db.selectFrom('inboxes').select(['message_count', 'emptied_up_to']).where('seq', '=', value.inbox),
  );
  const selectOldest = prepare((value: Slots<{ inbox: number; after: number; limit: number }>) =>
    db
      .selectFrom('messages')
      .select('received_at')
      .where('inbox_seq', '=', value.inbox)
      .where('received_at', '>', value.after)
      .orderBy('received_at')
      .limit(value.limit),
  );
  const deleteMessage = prepareDeleteMessage(db);
  const subtract = prepare((value: Slots<{ inbox: number; count: number }>) =>
    db
      .updateTable('inboxes')
      .set((row) => ({ message_count: row('message_count', '-', value.count) }))
      .where('seq', '=', value.inbox),
  );
  return async (on, inbox, maxMessages) => {
    const [row] = await selectCount(on, { inbox });
    const limit = (row?.message_count ?? 0) - maxMessages;
    if (!row || limit <= 0) return;
    const oldest = await selectOldest(on, { inbox, after: row.emptied_up_to, limit });
    const released: number[] = [];
    for (const { received_at: receivedAt } of oldest) {
      for (const { source_seq } of await deleteMessage(on, { inbox, receivedAt })) released.push(source_seq);
    }
    await sources.release(on, released);
    await subtract(on, { inbox, count: released.length });
  };
}
