import { RAW_PIECE_BYTES } from '../../contract/messages.ts';
import type { Dialect, Engine, Tx } from '../engine.ts';

/** Freeing so many bytes takes about as long as freeing one more row. */
const BYTES_PER_ROW = 16 * 1024;
const ROWS_PER_PIECE = RAW_PIECE_BYTES / BYTES_PER_ROW;

/**
 * The work of deleting a message and releasing its source of `size` bytes, in rows. A source of several
 * pieces counts as one row, since {@link Sources.release} only marks it.
 */
export function rowsToFree(size: number): number {
  return size > RAW_PIECE_BYTES ? 1 : 1 + Math.floor(size / BYTES_PER_ROW);
}

/** The deletion of stored mails; each may belong to messages in several inboxes. */
export interface Sources {
  /**
   * Releases one source for each message that the caller's transaction has deleted. The last message of a
   * source deletes it; a source of several pieces is left to {@link freeParked}.
   * Once in a transaction, as its last step: two that lock shared sources several times could deadlock.
   * @param released the `source_seq` values that the `delete … returning` of the messages returned, and
   *   nothing else: what was read before may have been deleted by another transaction. Messages of several
   *   inboxes may have the same source.
   */
  release(tx: Tx, released: readonly number[]): Promise<void>;
  /**
   * Deletes about `limit` rows of sources that {@link release} left behind, or of only that one, and
   * returns the count. Another transaction may have deleted that one already; if its number belongs to
   * another parked source by now, deleting that is correct as well.
   */
  freeParked(tx: Tx, limit: number, only?: number): Promise<number>;
}

/**
 * Takes messages from shared sources.
 * @param times how many of each source
 * @returns the sources that other messages still show
 */
async function unshare(
  tx: Tx,
  dialect: Dialect,
  times: ReadonlyMap<number, number>,
): Promise<ReadonlySet<number>> {
  // In one order, so that two transactions that release the same sources cannot deadlock.
  const shared = await dialect
    .lockRows(
      tx
        .selectFrom('shared_sources')
        .select(['source_seq', 'messages'])
        .where('source_seq', 'in', [...times.keys()])
        .orderBy('source_seq'),
    )
    .execute();
  const numbersOf = (rows: typeof shared) => rows.map(({ source_seq }) => source_seq);
  const taken = ({ source_seq }: { source_seq: number }): number => times.get(source_seq) ?? 0;
  const last = numbersOf(shared.filter((row) => row.messages <= taken(row)));
  const still = shared.filter((row) => row.messages > taken(row));
  if (last.length > 0) await tx.deleteFrom('shared_sources').where('source_seq', 'in', last).execute();
  for (const [count, rows] of Map.groupBy(still, taken)) {
    await tx
      .updateTable('shared_sources')
      .set((row) => ({ messages: row('messages', '-', count) }))
      .where('source_seq', 'in', numbersOf(rows))
      .execute();
  }
  return new Set(numbersOf(still));
}

/** Deletes the last pieces of a source, and the source with its last piece. */
async function freePieces(tx: Tx, source: number, limit: number): Promise<number> {
  const pieces = Math.max(1, Math.ceil(limit / ROWS_PER_PIECE));
  const last = tx
    .selectFrom('source_pieces')
    .select('piece')
    .where('source_seq', '=', source)
    .orderBy('piece', 'desc')
    .limit(pieces);
  const gone = await tx
    .deleteFrom('source_pieces')
    .where('source_seq', '=', source)
    .where('piece', 'in', last)
    .returning('piece')
    .execute();
  if (gone.length === pieces) return pieces * ROWS_PER_PIECE;
  await tx.deleteFrom('sources').where('seq', '=', source).execute();
  await tx.deleteFrom('parked_sources').where('source_seq', '=', source).execute();
  return (gone.length + 1) * ROWS_PER_PIECE;
}

export function createSources({ dialect }: Pick<Engine, 'dialect'>): Sources {
  return {
    async release(tx, released) {
      if (released.length === 0) return;
      const times = new Map<number, number>();
      for (const source of released) times.set(source, (times.get(source) ?? 0) + 1);
      const shown = await unshare(tx, dialect, times);
      const unused = [...times.keys()].filter((source) => !shown.has(source));
      if (unused.length === 0) return;
      const deleted = await tx
        .deleteFrom('sources')
        .where('seq', 'in', unused)
        .where('size', '<=', RAW_PIECE_BYTES)
        .returning('seq')
        .execute();
      if (deleted.length === unused.length) return;
      // What was deleted is no longer selected; what is left has several pieces.
      await tx
        .insertInto('parked_sources')
        .columns(['source_seq'])
        .expression((from) => from.selectFrom('sources').select('seq').where('seq', 'in', unused))
        .execute();
    },

    async freeParked(tx, limit, only) {
      let freed = 0;
      while (freed < limit) {
        let query = tx.selectFrom('parked_sources').select('source_seq').where('stage', 'is', null).limit(1);
        if (only !== undefined) query = query.where('source_seq', '=', only);
        // Locked, because its row must outlive its pieces while another transaction deletes those.
        const parked = await dialect.lockRows(query).executeTakeFirst();
        if (!parked) break;
        freed += await freePieces(tx, parked.source_seq, limit - freed);
      }
      return freed;
    },
  };
}
