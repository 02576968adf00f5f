import type { NewMail } from '../../contract/index.ts';
import { RAW_PIECE_BYTES } from '../../contract/messages.ts';
import type { Db, Dialect, Tx } from '../dialect.ts';
import { prepare, type Runner, type Slots } from '../prepared.ts';
import { envelopeJson } from './rows.ts';

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

/** The stored mails; each may belong to messages in several inboxes. */
export interface Sources {
  /** Stores a mail that belongs to that many messages; returns the number of its row. */
  add(on: Runner, mail: NewMail, messages: number): Promise<number>;
  /**
   * Releases one source for each message that the caller's transaction has deleted. The last message of a
   * source deletes it; a source of several pieces is left to {@link freeParked}.
   * @param sources the `source_seq` values that the `delete … returning` of the messages returned, and
   *   nothing else: what was read before may have been deleted by another transaction
   */
  release(on: Runner, sources: readonly number[]): Promise<void>;
  /**
   * Deletes about `limit` rows of sources that {@link release} left behind, or of only that one, and
   * returns the count. Another transaction may have deleted that one already; if its number belongs to
   * another parked source by now, deleting that is correct as well.
   */
  freeParked(tx: Tx, limit: number, only?: number): Promise<number>;
}

export function createSources(db: Db, dialect: Dialect): Sources {
  const insertSource = prepare(
    (
      value: Slots<{
        size: number;
        parseError: string | null;
        summary: Uint8Array;
        envelope: string;
        content: Uint8Array;
        raw: Uint8Array;
      }>,
    ) =>
      db
        .insertInto('sources')
        .values({
          size: value.size,
          parse_error: value.parseError,
          summary: value.summary,
          envelope: value.envelope,
          content: value.content,
          raw: value.raw,
        })
        .returning('seq'),
  );
  const insertPiece = prepare((value: Slots<{ source: number; piece: number; bytes: Uint8Array }>) =>
    db
      .insertInto('source_pieces')
      .values({ source_seq: value.source, piece: value.piece, bytes: value.bytes }),
  );
  const insertShares = prepare((value: Slots<{ source: number; messages: number }>) =>
    db.insertInto('shared_sources').values({ source_seq: value.source, messages: value.messages }),
  );
  const dropShare = prepare((value: Slots<{ source: number }>) =>
    db
      .updateTable('shared_sources')
      .set((row) => ({ messages: row('messages', '-', 1) }))
      .where('source_seq', '=', value.source)
      .returning('messages'),
  );
  const deleteShares = prepare((value: Slots<{ source: number }>) =>
    db.deleteFrom('shared_sources').where('source_seq', '=', value.source),
  );
  const deleteSource = prepare((value: Slots<{ source: number }>) =>
    db.deleteFrom('sources').where('seq', '=', value.source),
  );
  const deleteIfWhole = prepare((value: Slots<{ source: number; maxSize: number }>) =>
    db
      .deleteFrom('sources')
      .where('seq', '=', value.source)
      .where('size', '<=', value.maxSize)
      .returning('seq'),
  );
  const park = prepare((value: Slots<{ source: number }>) =>
    db
      .insertInto('parked_sources')
      .columns(['source_seq'])
      .expression(db.selectFrom('sources').select('seq').where('seq', '=', value.source)),
  );
  const unpark = prepare((value: Slots<{ source: number }>) =>
    db.deleteFrom('parked_sources').where('source_seq', '=', value.source),
  );

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
    await deleteSource(tx, { source });
    await unpark(tx, { source });
    return (gone.length + 1) * ROWS_PER_PIECE;
  }

  return {
    async add(on, mail, messages) {
      const { raw, summary, content, parseError } = mail;
      const [row] = await insertSource(on, {
        size: raw.length,
        parseError: parseError === null ? null : JSON.stringify(parseError),
        summary,
        envelope: envelopeJson(mail),
        content,
        raw: raw.subarray(0, RAW_PIECE_BYTES),
      });
      if (!row) throw new Error('an insert answered no row');
      for (let piece = 1; piece * RAW_PIECE_BYTES < raw.length; piece++) {
        const bytes = raw.subarray(piece * RAW_PIECE_BYTES, (piece + 1) * RAW_PIECE_BYTES);
        await insertPiece(on, { source: row.seq, piece, bytes });
      }
      if (messages > 1) await insertShares(on, { source: row.seq, messages });
      return row.seq;
    },

    async release(on, released) {
      // In one order, so that two transactions that release the same shared sources cannot deadlock.
      for (const source of released.toSorted((a, b) => a - b)) {
        const [shares] = await dropShare(on, { source });
        if (shares && shares.messages > 0) continue;
        if (shares) await deleteShares(on, { source });
        const [deleted] = await deleteIfWhole(on, { source, maxSize: RAW_PIECE_BYTES });
        if (!deleted) await park(on, { source });
      }
    },

    async freeParked(tx, limit, only) {
      let freed = 0;
      while (freed < limit) {
        let query = tx.selectFrom('parked_sources').select('source_seq').limit(1);
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
