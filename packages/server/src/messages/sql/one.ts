import type { MarkMessage } from '@mayfly/client/contract';
import {
  anyOf,
  EMPTY,
  FOR_UPDATE,
  read,
  type Sql,
  sql,
  type Tx,
  unreadOf,
  write,
} from '../../database/sql.ts';
import { timeOfId } from '../../ids.ts';
import { knownContent, MAX_DERIVED_BYTES, readContent } from '../../mail/stored-content.ts';
import type { RAW_PIECE_BYTES } from '../../reading/sql.ts';
import {
  MESSAGE_COLUMNS,
  parseContent,
  readEnvelope,
  type StoredMessage,
  toMessage,
  WITH_READING,
} from './rows.ts';

/** Locks a live inbox before its message. Storing mail uses the same order, which prevents deadlocks. */
export async function lockInboxOf(tx: Tx, inboxId: string, messageId: string, now: number) {
  const receivedAt = timeOfId('msg', messageId);
  if (receivedAt === undefined) return undefined;
  const inbox = await tx.first<{ seq: number }>(
    sql`select seq from inboxes
      where id = ${inboxId} and expires_at > ${now} and emptied_up_to < ${receivedAt} ${FOR_UPDATE}`,
  );
  return inbox && { inboxSeq: inbox.seq, receivedAt };
}

/** `from` and `where` for one message `m` of a live inbox `i`. For an invalid id, there is no row. */
const fromMessage = (inboxId: string, messageId: string, now: number, joins = EMPTY): Sql =>
  sql`from inboxes i join messages m on m.inbox_seq = i.seq ${joins}
    where i.id = ${inboxId} and i.expires_at > ${now} and m.received_at = ${timeOfId('msg', messageId) ?? -1}
      and m.id = ${messageId} and m.received_at > i.emptied_up_to`;

const SOURCE_AND_READING = sql`join sources s on s.seq = m.source_seq ${WITH_READING}`;

export const one = {
  existing: read(async (db, inboxId: string, messageIds: readonly string[], now: number) => {
    const times = messageIds.flatMap((id) => timeOfId('msg', id) ?? []);
    if (times.length === 0) return [];
    const rows = await db.all<{ id: string }>(
      sql`select m.id from inboxes i join messages m on m.inbox_seq = i.seq
          where i.id = ${inboxId} and i.expires_at > ${now} and m.received_at ${anyOf(times)}
            and m.id ${anyOf(messageIds)} and m.received_at > i.emptied_up_to`,
    );
    return rows.map(({ id }) => id);
  }),

  find: read(async (db, inboxId: string, messageId: string, now: number) => {
    type Row = StoredMessage & {
      accountId: string;
      envelope: string;
      trail: string;
      authentication: string | null;
      content: Uint8Array;
      raw: Uint8Array | null;
    };
    // For a small mail, read the raw source too: the stored content omits what can be derived from it.
    const row = await db.first<Row>(
      sql`select ${MESSAGE_COLUMNS}, i.account_id as "accountId", s.envelope, r.trail, r.authentication,
            r.content, case when s.size <= ${MAX_DERIVED_BYTES} then s.raw end as raw
          ${fromMessage(inboxId, messageId, now, SOURCE_AND_READING)}`,
    );
    if (!row) return undefined;
    const unread = unreadOf([row]);
    if (unread) return unread;
    const stored = parseContent(row.content);
    return {
      ...toMessage(inboxId, row),
      accountId: row.accountId,
      ...readEnvelope(row.envelope, row),
      ...(row.raw ? { ...(await readContent(stored, row.raw)), isPartial: false } : knownContent(stored)),
    };
  }),

  sizeOf: read(async (db, inboxId: string, messageId: string, now: number): Promise<number | undefined> => {
    const row = await db.first<{ size: number }>(
      sql`select s.size ${fromMessage(inboxId, messageId, now, SOURCE_AND_READING)}`,
    );
    return row?.size;
  }),

  /** Reads a piece of at most {@link RAW_PIECE_BYTES}. @returns undefined if there is no such piece */
  readRaw: read(async (db, inboxId: string, messageId: string, piece: number, now: number) => {
    const source = sql`select m.source_seq ${fromMessage(inboxId, messageId, now)}`;
    const row = await db.first<{ bytes: Uint8Array }>(
      piece === 0
        ? sql`select raw as bytes from sources where seq = (${source})`
        : sql`select bytes from source_pieces where source_seq = (${source}) and piece = ${piece}`,
    );
    return row?.bytes;
  }),

  mark: write(
    { keepsInboxes: true },
    async (tx, inboxId: string, messageId: string, changes: MarkMessage, now: number) => {
      const locked = await lockInboxOf(tx, inboxId, messageId, now);
      if (!locked) return undefined;
      const { inboxSeq, receivedAt } = locked;
      const row = await tx.first<StoredMessage>(
        sql`select ${MESSAGE_COLUMNS} from messages m ${WITH_READING}
          where m.inbox_seq = ${inboxSeq} and m.received_at = ${receivedAt} and m.id = ${messageId}`,
      );
      if (!row) return undefined;
      const unread = unreadOf([row]);
      if (unread) return unread;
      const { read = row.readAt !== null, tags: changed } = changes;
      const readAt = read ? (row.readAt ?? now) : null;
      const tags = changed ? JSON.stringify(changed) : row.tags;
      if (readAt === row.readAt && tags === row.tags) return toMessage(inboxId, row);
      await tx.run(
        sql`update messages set read_at = ${readAt}, tags = ${tags}
          where inbox_seq = ${inboxSeq} and received_at = ${receivedAt}`,
      );
      await tx.run(sql`update inboxes set version = version + 1 where seq = ${inboxSeq}`);
      tx.hint({ kind: 'inbox', inboxId });
      return toMessage(inboxId, { ...row, readAt, tags });
    },
  ),
};
