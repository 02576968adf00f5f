import { prepareDeleteOldest } from '../delete-in-steps.ts';
import type { Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { Sources } from './sources.ts';

/** An inbox that holds more messages than it may. */
export interface Overfull {
  inboxSeq: number;
  maxMessages: number;
}

/** Deletes the oldest messages of inboxes until they hold at most `maxMessages`, within the caller's transaction. */
export type Evict = (tx: Tx, overfull: readonly Overfull[]) => Promise<void>;

/**
 * The caller's transaction has locked the inboxes' rows. Small sources are deleted at once; those of several
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
  async function evictFrom(tx: Tx, { inboxSeq: inbox, maxMessages }: Overfull): Promise<number[]> {
    const [row] = await selectCount(tx, { inbox });
    const limit = (row?.message_count ?? 0) - maxMessages;
    if (!row || limit <= 0) return [];
    const after = row.emptied_up_to;
    const oldest = await selectOldest(tx, { inbox, after, upTo: Number.MAX_SAFE_INTEGER, limit });
    const last = oldest.at(-1);
    if (!last) return [];
    const deleted = await deleteRange(tx, { inbox, after, upTo: last.received_at });
    await subtract(tx, { inbox, count: deleted.length });
    return deleted.map(({ source_seq }) => source_seq);
  }

  return async (tx, overfull) => {
    const released: number[] = [];
    for (const one of overfull) released.push(...(await evictFrom(tx, one)));
    await sources.release(tx, released);
  };
}
