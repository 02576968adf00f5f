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
   * @param released the `source_seq` values that the `delete … returning` of the messages returned, and
   *   nothing else: what was read before may have been deleted by another transaction. Messages of one inbox
   *   have different sources.
   */
  release(tx: Tx, released: readonly number[]): Promise<void>;
  /**
   * Deletes about `limit` rows of sources that {@link release} left behind, or of only that one, and
   * returns the count. Another transaction may have deleted that one already; if its number belongs to
   * another parked source by now, deleting that is correct as well.
   */
  freeParked(tx: Tx, limit: number, only?: number): Promise<number>;
}

/** Takes one message from each shared source; returns the sources that other messages still show. */
async function unshare(tx: Tx, dialect: Dialect, released: readonly number[]): Promise<ReadonlySet<number>> {
  // In one order, so that two transactions that release the same sources cannot deadlock.
  const shared = await dialect
    .lockRows(
      tx
        .selectFrom('shared_sources')
        .select(['source_seq', 'messages'])
        .where('source_seq', 'in', released)
        .orderBy('source_seq'),
    )
    .execute();
  const numbersOf = (rows: typeof shared) => rows.map(({ source_seq }) => source_seq);
  const last = numbersOf(shared.filter(({ messages }) => messages <= 1));
  const still = numbersOf(shared.filter(({ messages }) => messages > 1));
  if (last.length > 0) await tx.deleteFrom('shared_sources').where('source_seq', 'in', last).execute();
  if (still.length > 0) {
    await tx
      .updateTable('shared_sources')
      .set((row) => ({ messages: row('messages', '-', 1) }))
      .where('source_seq', 'in', still)
      .execute();
  }
  return new Set(still);
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
      const shown = await unshare(tx, dialect, released);
      const unused = released.filter((source) => !shown.has(source));
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
