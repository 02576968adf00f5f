import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  anyOf,
  type Db,
  FOR_UPDATE,
  FOR_UPDATE_SKIP_LOCKED,
  inserted,
  KEEP,
  parseOr,
  read,
  sql,
  type Tx,
  type Value,
  write,
} from '../database/sql.ts';
import type { MailAuthentication, MailEnvelope } from '../mail/mail.ts';
import { freeRead } from '../memory.ts';

/** Raw sources are stored in pieces, so that a response need not load a large source whole. */
export const RAW_PIECE_BYTES = 256 * 1024;
/** Pieces that are loaded in one turn of the event loop, which takes a millisecond. */
const PIECES_PER_TURN = 4;

export interface NewSource {
  /** This server's Received line, then the mail. The store takes over a resizable buffer: do not reuse it. */
  raw: Uint8Array;
  envelope: MailEnvelope;
  trail?: string;
}

export interface Reading {
  /** UTF-8 JSON of a {@link MailSummary} and of a {@link StoredContent}. */
  summary: Uint8Array;
  content: Uint8Array;
  parseError: string | null;
  /** Null if the sender was not checked. */
  authentication: MailAuthentication | null;
  trail: string;
}

export interface ReadingOf extends Reading {
  source: number;
  size: number;
}

/** Rows per INSERT. Only a few sizes, so that the database plans only a few different statements. */
const SIZES = [64, 16, 4] as const;

/** @param into table with columns: `t (a, b)` @param ending constant SQL after the rows: `returning a` */
export async function insertRows<Row extends object>(
  tx: Tx,
  into: string,
  rows: readonly Value[][],
  ending = '',
): Promise<Row[]> {
  const results: Promise<Row[]>[] = [];
  for (let at = 0; at < rows.length; ) {
    const size = SIZES.find((one) => one <= rows.length - at) ?? 1;
    results.push(tx.all<Row>(inserted(into, rows.slice(at, at + size), ending)));
    at += size;
  }
  return (await Promise.all(results)).flat();
}

const pieceOf = (raw: Uint8Array, piece: number): Uint8Array =>
  raw.subarray(piece * RAW_PIECE_BYTES, (piece + 1) * RAW_PIECE_BYTES);

/** @returns the `seq` of each row, in the order of `rows` */
async function insertSources(tx: Tx, rows: readonly Value[][]): Promise<number[]> {
  const into = 'sources (size, envelope, raw)';
  if (tx.engine === 'postgres') {
    const added = await insertRows<{ seq: number }>(tx, into, rows, 'returning seq');
    // Each row gets a higher `seq` than the row before, but `returning` has no defined order.
    return added.map(({ seq }) => seq).toSorted((a, b) => a - b);
  }
  // On SQLite, `returning` copies each row, which would double the time of the insert.
  await insertRows(tx, into, rows);
  const [{ last } = { last: 0 }] = await tx.all<{ last: number }>(sql`select last_insert_rowid() as last`);
  return rows.map((_, index) => last - rows.length + 1 + index);
}

export type StoredSource<Mail extends NewSource> = Mail & { source: number };

/** @returns the mails with the `seq` of their sources. A `seq` is never reused, even after a deletion. */
export async function addSources<Mail extends NewSource>(
  tx: Tx,
  mails: readonly Mail[],
): Promise<StoredSource<Mail>[]> {
  const rows = mails.map(({ raw, envelope, trail }) => [
    ...[raw.length, JSON.stringify({ ...envelope, trail }), pieceOf(raw, 0)],
  ]);
  const numbers = await insertSources(tx, rows);
  const stored = mails.map((mail, index) => ({ ...mail, source: numbers[index] as number }));
  const pieces: Promise<unknown>[] = [];
  for (const { source, raw } of stored) {
    for (let piece = 1; piece * RAW_PIECE_BYTES < raw.length; piece++) {
      const row = [source, piece, pieceOf(raw, piece)];
      pieces.push(insertRows(tx, 'source_pieces (source_seq, piece, bytes)', [row]));
    }
  }
  await Promise.all(pieces);
  return stored;
}

export async function removeSources(tx: Tx, seqs: readonly number[]): Promise<void> {
  if (seqs.length === 0) return;
  await Promise.all([
    tx.run(sql`delete from source_pieces where source_seq ${anyOf(seqs)}`),
    tx.run(sql`delete from sources where seq ${anyOf(seqs)}`),
  ]);
}

async function addReadings(tx: Tx, added: readonly ReadingOf[]): Promise<void> {
  const rows = added.map(({ source, size, parseError, trail, authentication, summary, content }) => [
    ...[source, size, parseError === null ? null : JSON.stringify(parseError), trail],
    ...[authentication === null ? null : JSON.stringify(authentication), summary, content],
  ]);
  const columns = 'source_seq, size, parse_error, trail, authentication, summary, content';
  await insertRows(tx, `readings (${columns})`, rows, 'on conflict (source_seq) do nothing');
}

/** Makes deliveries due. Locks them by id, as the cancellation of deliveries does, to prevent deadlocks. */
async function makeDue(tx: Tx, deliveries: readonly string[]): Promise<void> {
  if (deliveries.length === 0) return;
  await tx.run(
    sql`with locked as materialized (select id from deliveries where id ${anyOf(deliveries)} order by id ${FOR_UPDATE})
      update deliveries set due_at = created_at
      where id in (select id from locked) and due_at is null and leased_until is null and ended_at is null`,
  );
  await tx.run(
    sql`insert into wakes (webhook_id) select distinct webhook_id from deliveries where id ${anyOf(deliveries)}`,
  );
}

/** Deletes rows of `unread` and makes their webhook deliveries due. @returns the number of deliveries */
async function endUnread(tx: Tx, sources: readonly number[]): Promise<number> {
  const ended = await tx.all<{ deliveries: string | null }>(
    sql`delete from unread where source_seq ${anyOf(sources)} returning deliveries`,
  );
  const due = ended.flatMap(({ deliveries }) => parseOr<string[]>(deliveries ?? '[]', []));
  await makeDue(tx, due);
  return due.length;
}

/** Call this after deleting the sources, which waits for concurrent {@link keep} calls that add content. */
async function removeReadings(tx: Tx, seqs: readonly number[]): Promise<void> {
  await tx.run(sql`delete from readings where source_seq ${anyOf(seqs)}`);
  await endUnread(tx, seqs);
}

/** @returns undefined if the source, or a piece of it, is deleted */
export async function loadSource(db: Db, source: number): Promise<NewSource | undefined> {
  const row = await db.first<{ size: number; envelope: string; raw: Uint8Array }>(
    sql`select size, envelope, raw from sources where seq = ${source}`,
  );
  if (!row) return undefined;
  const unknown = { mailFrom: '', helo: '', remoteAddress: '', tls: false };
  const envelope = parseOr<MailEnvelope>(row.envelope, unknown);
  const raw = new Uint8Array(row.size);
  raw.set(row.raw);
  for (let [piece, at] = [1, row.raw.length]; at < raw.length; piece++) {
    if (piece % PIECES_PER_TURN === 0) await nextTurn();
    const next = await db.first<{ bytes: Uint8Array }>(
      sql`select bytes from source_pieces where source_seq = ${source} and piece = ${piece}`,
    );
    if (!next) return undefined;
    raw.set(next.bytes, at);
    at += next.bytes.length;
    freeRead(next.bytes);
  }
  return { raw, envelope };
}

/** Subtracts the number of deleted messages from each source's message count. @returns sources still in use */
async function unshare(tx: Tx, times: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  // Locking in a fixed order prevents deadlocks between concurrent transactions.
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

/** Larger sources are deleted later by {@link freeParked}, a few per transaction. */
const SMALL_BYTES = 64 * 1024;
/** Deleting a piece takes about as long as deleting this many rows. */
const ROWS_PER_PIECE = 16;

/**
 * Deletes small sources that no message uses any more, and parks large ones for {@link freeParked}. Call it
 * once per transaction, as the last step: locking shared sources several times could deadlock.
 * @param released the source of each deleted message, with repetitions, from `delete … returning`. After a
 * `select`, another transaction could delete the same rows
 */
export async function releaseSources(tx: Tx, released: readonly number[]): Promise<void> {
  if (released.length === 0) return;
  const times = new Map<number, number>();
  for (const source of released) times.set(source, (times.get(source) ?? 0) + 1);
  const shown = await unshare(tx, times);
  const unused = [...times.keys()].filter((source) => !shown.has(source));
  if (unused.length === 0) return;
  const deleted = await tx.all<{ seq: number }>(
    sql`delete from sources where seq ${anyOf(unused)} and size <= ${SMALL_BYTES} returning seq`,
  );
  const seqs = deleted.map(({ seq }) => seq);
  await removeReadings(tx, seqs);
  if (deleted.length === unused.length) return;
  await tx.run(
    sql`insert into parked_sources (source_seq) select seq from sources where seq ${anyOf(unused)}`,
  );
}

/** Deletes about `limit` rows of parked sources. @returns about how many; below `limit` if none is left */
export async function freeParked(tx: Tx, limit: number): Promise<number> {
  const most = Math.ceil(limit / ROWS_PER_PIECE);
  // Locked: if a concurrent call deleted pieces too, each would count too few, and delete a source too early.
  const parked = await tx.all<{ source: number }>(
    sql`select source_seq as source from parked_sources where stage is null limit ${most} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  if (parked.length === 0) return 0;
  const sources = parked.map(({ source }) => source);
  const pieces = await tx.run(
    sql`delete from source_pieces where (source_seq, piece) in
      (select source_seq, piece from source_pieces where source_seq ${anyOf(sources)} limit ${most})`,
  );
  if (pieces < most) {
    await tx.run(sql`delete from sources where seq ${anyOf(sources)}`);
    await removeReadings(tx, sources);
    await tx.run(sql`delete from parked_sources where source_seq ${anyOf(sources)}`);
  }
  return (pieces + sources.length) * ROWS_PER_PIECE;
}

export interface UnreadSource {
  source: number;
  size: number;
  accountId: string;
  checks: number | null;
}

/** Stores parsed content, except of sources that were deleted or already have parsed content. */
async function keep(tx: Tx, readings: ReadingOf[]): Promise<number> {
  const sources = readings.map(({ source }) => source);
  const kept = await tx.all<{ seq: number }>(
    sql`select seq from sources where seq ${anyOf(sources)} order by seq ${KEEP}`,
  );
  const there = new Set(kept.map(({ seq }) => seq));
  const wanted = readings.filter(({ source }) => there.has(source));
  await addReadings(tx, wanted);
  // Sources that the query did not find have no content, so their rows stay in `unread`.
  const due = await endUnread(tx, [...there]);
  if (due > 0) tx.hint({ kind: 'deliveries' });
  return due;
}

export const readings = {
  /** Does not wait for the disk: a mail can be parsed again. @returns the number of deliveries now due */
  keep: write({ keepsInboxes: true, mayUseReserve: true, commit: 'relaxed' }, keep),

  /** Waits for the disk: if the result were lost, a new check of the sender might give another result. */
  keepChecked: write({ keepsInboxes: true, mayUseReserve: true }, keep),

  missing: read((db, sources: readonly number[]) =>
    db.all<UnreadSource>(
      sql`select s.seq as source, s.size, coalesce(u.account_id, '') as "accountId", u.checks
        from sources s left join readings r on r.source_seq = s.seq left join unread u on u.source_seq = s.seq
        where s.seq ${anyOf(sources)} and r.source_seq is null`,
    ),
  ),

  listUnread: read((db, after: number, limit: number) =>
    db.all<UnreadSource>(
      sql`select s.seq as source, s.size, u.account_id as "accountId", u.checks
        from unread u join sources s on s.seq = u.source_seq
        where u.source_seq > ${after} order by u.source_seq limit ${limit}`,
    ),
  ),

  load: read(loadSource),
};
