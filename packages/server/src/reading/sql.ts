import { read, type Tx, write } from '../database/operations.ts';
import { anyOf, KEEP, parseOr, sql } from '../database/sql.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { addReadings, endUnread, loadSource, type ReadingOf, reserveSources } from './sources.ts';

export interface UnreadSource {
  source: number;
  size: number;
  accountId: string;
  /** Whether the sender is to be checked. */
  checks: boolean;
}

/** Engines return numbers for what is true or false. Null without a row in `unread`. */
type UnreadRow = Omit<UnreadSource, 'checks'> & { checks: number | null };

const toUnread = (row: UnreadRow): UnreadSource => ({ ...row, checks: row.checks === 1 });

/** Stores parsed content, except for sources that are deleted or have parsed content already. */
async function keep(tx: Tx, readings: ReadingOf[]): Promise<number> {
  const sources = readings.map(({ source }) => source);
  const kept = await tx.all<{ seq: number }>(
    sql`select seq from sources where seq ${anyOf(sources)} order by seq ${KEEP}`,
  );
  const there = new Set(kept.map(({ seq }) => seq));
  await addReadings(
    tx,
    readings.filter(({ source }) => there.has(source)),
  );
  // A source that was committed after they were looked up is still unread.
  return endUnread(tx, [...there]);
}

export const readings = {
  /** Stores parsed content without waiting for the disk: mails can be parsed again after a crash. @returns how many deliveries became due */
  keep: write(keep, { keepsInboxes: true, mayUseReserve: true, relaxed: true }),

  /** As {@link keep}, but waits for stable storage, because checking a sender again later may give another result. */
  keepChecked: write(keep, { keepsInboxes: true, mayUseReserve: true }),

  reserve: write(reserveSources, { keepsInboxes: true }),

  /** Which of these sources exist and are not parsed. */
  missing: read(async (db, sources: readonly number[]): Promise<UnreadSource[]> => {
    const rows = await db.all<UnreadRow>(
      sql`select s.seq as source, s.size, coalesce(u.account_id, '') as "accountId", u.checks
        from sources s left join readings r on r.source_seq = s.seq left join unread u on u.source_seq = s.seq
        where s.seq ${anyOf(sources)} and r.source_seq is null`,
    );
    return rows.map(toUnread);
  }),

  /** Unparsed sources with larger numbers than `after`, in ascending order. */
  listUnread: read(async (db, after: number, limit: number): Promise<UnreadSource[]> => {
    const rows = await db.all<UnreadRow>(
      sql`select s.seq as source, s.size, u.account_id as "accountId", u.checks
        from unread u join sources s on s.seq = u.source_seq
        where u.source_seq > ${after} order by u.source_seq limit ${limit}`,
    );
    return rows.map(toUnread);
  }),

  /** Loads a source; undefined if it was deleted. */
  load: read(async (db, source: number): Promise<{ raw: Uint8Array; envelope: MailEnvelope } | undefined> => {
    const row = await db.first<{ size: number; envelope: string }>(
      sql`select size, envelope from sources where seq = ${source}`,
    );
    if (!row) return undefined;
    const raw = await loadSource(db, source);
    const unknown = { mailFrom: '', helo: '', remoteAddress: '', tls: false };
    // Pieces that were deleted while they were read are missing.
    return raw.length === row.size
      ? { raw, envelope: parseOr<MailEnvelope>(row.envelope, unknown) }
      : undefined;
  }),
};
