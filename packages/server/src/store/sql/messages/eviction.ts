import { prepareDeleteOldest } from '../delete-in-steps.ts';
import type { Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { Sources } from './sources.ts';

/** Deletes an inbox's oldest messages until it holds at most `maxMessages`, within the caller's transaction. */
export type Evict = (tx: Tx, inbox: number, maxMessages: number) => Promise<void>;

/**
 * The caller's transaction has locked the inbox's row. Small sources are deleted at once; those of several
 * pieces can no longer be read, and the sweeper deletes them in steps.
 */
export function createEvict({ db }: Pick<Engine, 'db'>, sources: Sources): Evict {
  const selectCount = prepare((value: Slots<{ inbox: number }>) =>
    db.selectFrom('inboxes').select(['message_count', 'emptied_up_to']).where('seq', '=', value.inbox),
  );
  const { selectOldest, deleteRange } = prepareDeleteOldest({ db });
  const subtract = prepare((value: Slots<{ inbox: number; count: number }>) =>
    db
      .updateTable('inboxes')
      .set((row) => ({ message_count: row('message_count', '-', value.count) }))
      .where('seq', '=', value.inbox),
  );
  return async (tx, inbox, maxMessages) => {
    const [row] = await selectCount(tx, { inbox });
    const limit = (row?.message_count ?? 0) - maxMessages;
    if (!row || limit <= 0) return;
    const after = row.emptied_up_to;
    const oldest = await selectOldest(tx, { inbox, after, upTo: Number.MAX_SAFE_INTEGER, limit });
    const last = oldest.at(-1);
    if (!last) return;
    const deleted = await deleteRange(tx, { inbox, after, upTo: last.received_at });
    await sources.release(
      tx,
      deleted.map(({ source_seq }) => source_seq),
    );
    await subtract(tx, { inbox, count: deleted.length });
  };
}
