import type { Db, Tx } from '../../database/operations.ts';
import { anyOf, EMPTY, FOR_UPDATE, inserted, sql, type Value } from '../../database/sql.ts';
import { type NewMail, RAW_PIECE_BYTES } from '../records.ts';

/** Few sizes, so that each connection plans few statements. */
const SIZES = [64, 16, 4] as const;

/** Returns rows in their order if `returning` (constant SQL) is given. @param into a table with its columns */
export async function insertRows<Row extends object>(
  tx: Tx,
  into: string,
  rows: readonly (readonly Value[])[],
  returning = '',
): Promise<Row[]> {
  const results: Promise<unknown>[] = [];
  for (let at = 0; at < rows.length; ) {
    const size = SIZES.find((one) => one <= rows.length - at) ?? 1;
    const query = inserted(into, rows.slice(at, at + size), returning);
    results.push(returning === '' ? tx.run(query) : tx.all<Row>(query));
    at += size;
  }
  const returned = await Promise.all(results);
  return returning === '' ? [] : (returned.flat() as Row[]);
}

const envelopeJson = ({ envelope, authentication, trail }: NewMail): string =>
  JSON.stringify({ ...envelope, ...(authentication && { authentication }), trail });

const pieceOf = (raw: Uint8Array, piece: number): Uint8Array =>
  raw.subarray(piece * RAW_PIECE_BYTES, (piece + 1) * RAW_PIECE_BYTES);

/** Returns the numbers of the rows. Within a transaction, those of SQLite are consecutive. */
async function numbered(tx: Tx, into: string, rows: readonly (readonly Value[])[]): Promise<number[]> {
  if (tx.engine === 'postgres') {
    return (await insertRows<{ seq: number }>(tx, into, rows, 'returning seq')).map(({ seq }) => seq);
  }
  await insertRows(tx, into, rows);
  const last = await tx.first<{ seq: number }>(sql`select last_insert_rowid() as seq`);
  return rows.map((_, index) => (last?.seq ?? Number.NaN) - rows.length + 1 + index);
}

/** Returns the numbers of the sources. */
export async function addSources(tx: Tx, mails: readonly NewMail[]): Promise<number[]> {
  const rows = mails.map((mail) => {
    const { raw, summary, content, parseError } = mail;
    const error = parseError === null ? null : JSON.stringify(parseError);
    return [raw.length, error, summary, envelopeJson(mail), content, pieceOf(raw, 0)];
  });
  const into = 'sources (size, parse_error, summary, envelope, content, raw)';
  const seqs = await numbered(tx, into, rows);
  const pieces: Promise<unknown>[] = [];
  for (const [index, { raw }] of mails.entries()) {
    for (let piece = 1; piece * RAW_PIECE_BYTES < raw.length; piece++) {
      // One by one, because a row may have 256 KiB.
      const row = [seqs[index] as number, piece, pieceOf(raw, piece)];
      pieces.push(insertRows(tx, 'source_pieces (source_seq, piece, bytes)', [row]));
    }
  }
  await Promise.all(pieces);
  return seqs;
}

export async function removeSources(tx: Tx, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  await Promise.all([
    tx.run(sql`delete from source_pieces where source_seq ${anyOf(seqs)}`),
    tx.run(sql`delete from sources where seq ${anyOf(seqs)}`),
  ]);
}

/** Pieces that were deleted meanwhile are missing. */
export async function loadSource(db: Db, source: number): Promise<Uint8Array> {
  const first = await db.all<{ bytes: Uint8Array }>(
    sql`select raw as bytes from sources where seq = ${source}`,
  );
  const others = await db.all<{ bytes: Uint8Array }>(
    sql`select bytes from source_pieces where source_seq = ${source} order by piece`,
  );
  return Buffer.concat([...first, ...others].map(({ bytes }) => bytes));
}

/** Freeing this many bytes takes about as long as freeing one more row. */
const BYTES_PER_ROW = 16 * 1024;
const ROWS_PER_PIECE = RAW_PIECE_BYTES / BYTES_PER_ROW;

/** The cost of deleting a message, in rows. A source of several pieces is only marked by {@link releaseSources}. */
export function rowsToFree(size: number): number {
  return size > RAW_PIECE_BYTES ? 1 : 1 + Math.floor(size / BYTES_PER_ROW);
}

/** Returns the sources that other messages still have. @param times removed messages by source */
async function unshare(tx: Tx, times: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  // In one order, so that concurrent transactions cannot deadlock.
  const shared = await tx.all<{ seq: number; messages: number }>(
    sql`select source_seq as seq, messages from shared_sources where source_seq ${anyOf([...times.keys()])}
      order by source_seq ${FOR_UPDATE}`,
  );
  const shown = new Set<number>();
  for (const { seq, messages } of shared) {
    const left = messages - (times.get(seq) ?? 0);
    if (left > 0) shown.add(seq);
    await (left > 0
      ? tx.run(sql`update shared_sources set messages = ${left} where source_seq = ${seq}`)
      : tx.run(sql`delete from shared_sources where source_seq = ${seq}`));
  }
  return shown;
}

/**
 * Deletes the sources whose last message was deleted; those of several pieces are left to {@link freeParked}.
 * Once in a transaction, as its last step, because locking shared sources several times could deadlock.
 * @param released one for each message, only from its `delete … returning`: a row read before may be gone
 */
export async function releaseSources(tx: Tx, released: readonly number[]): Promise<void> {
  if (released.length === 0) return;
  const times = new Map<number, number>();
  for (const source of released) times.set(source, (times.get(source) ?? 0) + 1);
  const shown = await unshare(tx, times);
  const unused = [...times.keys()].filter((source) => !shown.has(source));
  if (unused.length === 0) return;
  const deleted = await tx.run(
    sql`delete from sources where seq ${anyOf(unused)} and size <= ${RAW_PIECE_BYTES}`,
  );
  if (deleted === unused.length) return;
  // The sources that are left have several pieces.
  await tx.run(
    sql`insert into parked_sources (source_seq) select seq from sources where seq ${anyOf(unused)}`,
  );
}

/** Deletes about `limit` rows of all parked sources, or of `only`, and returns the count. */
export async function freeParked(tx: Tx, limit: number, only?: number): Promise<number> {
  // `only` may have been deleted, and its number reused for another parked source, which is deleted then.
  const ofOnly = only === undefined ? EMPTY : sql`and source_seq = ${only}`;
  let freed = 0;
  while (freed < limit) {
    // Locked, because its row must outlive its pieces, which another transaction may be deleting.
    const parked = await tx.first<{ source: number }>(
      sql`select source_seq as source from parked_sources where stage is null ${ofOnly} limit 1 ${FOR_UPDATE}`,
    );
    if (!parked) break;
    freed += await freePieces(tx, parked.source, limit - freed);
  }
  return freed;
}

/** Deletes pieces from the end, and the source with the first one. */
async function freePieces(tx: Tx, source: number, limit: number): Promise<number> {
  const pieces = Math.max(1, Math.ceil(limit / ROWS_PER_PIECE));
  const gone = await tx.run(
    sql`delete from source_pieces where source_seq = ${source} and piece in
      (select piece from source_pieces where source_seq = ${source} order by piece desc limit ${pieces})`,
  );
  if (gone === pieces) return pieces * ROWS_PER_PIECE;
  await tx.run(sql`delete from sources where seq = ${source}`);
  await tx.run(sql`delete from parked_sources where source_seq = ${source}`);
  return (gone + 1) * ROWS_PER_PIECE;
}
