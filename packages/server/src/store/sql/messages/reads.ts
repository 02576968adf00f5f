import { sql } from 'kysely';
import { timeOfId } from '../../../ids.ts';
import { knownContent, MAX_DERIVED_BYTES, readContent } from '../../../mail/stored-content.ts';
import type { FullMessageRecord, MessageStore } from '../../contract/index.ts';
import type { Db, Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import {
  bounded,
  laterThanEmptied,
  MESSAGE_COLUMNS,
  parseContent,
  readEnvelope,
  toMessage,
  toRow,
} from './rows.ts';

type MessageKey = { inboxId: string; messageId: string; receivedAt: number; now: number };

/** Messages of a live inbox. */
const ofLiveInbox = (db: Db, inboxId: Slots<MessageKey>['inboxId'], now: Slots<MessageKey>['now']) =>
  db
    .selectFrom('inboxes as i')
    .innerJoin('messages as m', 'm.inbox_seq', 'i.seq')
    .where('i.id', '=', inboxId)
    .where('i.expires_at', '>', now);

/**
 * The messages of a live inbox after a time, with their sources. The inbox is read by subqueries: joined to it,
 * PostgreSQL would read and sort all messages for a page of them.
 */
export function messagesAfter(db: Db, value: Slots<{ inboxId: string; now: number; after: number }>) {
  const inbox = db
    .selectFrom('inboxes as i')
    .where('i.id', '=', value.inboxId)
    .where('i.expires_at', '>', value.now);
  return db
    .selectFrom('messages as m')
    .innerJoin('sources as s', 's.seq', 'm.source_seq')
    .where('m.inbox_seq', '=', inbox.select('i.seq'))
    .where('m.received_at', '>', inbox.select(laterThanEmptied(value.after).as('after')));
}

/** The list of an inbox, newest first. */
export function createLists({ db }: Engine): Pick<MessageStore, 'listRows'> {
  type Page = Slots<{ inboxId: string; now: number; after: number; before: number; limit: number }>;
  const selectRows = prepare((value: Page) =>
    messagesAfter(db, value)
      .where('m.received_at', '<', value.before)
      .orderBy('m.received_at', 'desc')
      .limit(value.limit)
      .select(['m.id', 'm.received_at', 'm.read_at', 'm.tags', 's.size', 's.summary']),
  );
  return {
    async listRows(inboxId, range, now) {
      const rows = await selectRows(db, { inboxId, now, ...bounded(range) });
      return rows.map(toRow);
    },
  };
}

/** One message of a live inbox, by its id and the time in it. */
const oneMessage = (db: Db, value: Slots<MessageKey>) =>
  ofLiveInbox(db, value.inboxId, value.now)
    .where('m.received_at', '=', value.receivedAt)
    .where('m.id', '=', value.messageId)
    .whereRef('m.received_at', '>', 'i.emptied_up_to');

/** The queries that find messages of a live inbox by their ids. */
export function createReads({ db }: Engine): Pick<MessageStore, 'existing' | 'find'> {
  const selectFull = prepare((value: Slots<MessageKey>) =>
    oneMessage(db, value)
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select([...MESSAGE_COLUMNS, 'i.account_id', 's.envelope', 's.content'])
      // Of a small mail the content is stored without what the raw source has.
      .select(sql<Uint8Array | null>`case when s.size <= ${MAX_DERIVED_BYTES} then s.raw end`.as('raw')),
  );
  return {
    async existing(inboxId, messageIds, now) {
      const times = messageIds.flatMap((id) => timeOfId('msg', id) ?? []);
      if (times.length === 0) return [];
      const rows = await ofLiveInbox(db, sql.val(inboxId), sql.val(now))
        .select('m.id')
        .where('m.received_at', 'in', times)
        .where('m.id', 'in', messageIds)
        .whereRef('m.received_at', '>', 'i.emptied_up_to')
        .execute();
      return rows.map(({ id }) => id);
    },

    async find(inboxId, messageId, now): Promise<FullMessageRecord | undefined> {
      const receivedAt = timeOfId('msg', messageId);
      if (receivedAt === undefined) return undefined;
      const place = { inboxId, messageId, receivedAt, now };
      const [row] = await selectFull(db, place);
      if (!row) return undefined;
      const stored = parseContent(row.content);
      return {
        ...toMessage(inboxId, row),
        accountId: row.account_id,
        ...readEnvelope(row.envelope),
        ...(row.raw ? { ...(await readContent(stored, row.raw)), isPartial: false } : knownContent(stored)),
      };
    },
  };
}

/** The raw sources of the messages of a live inbox. */
export function createRawReads({ db }: Engine): Pick<MessageStore, 'readRaw'> {
  const selectFirstPiece = prepare((value: Slots<MessageKey>) =>
    oneMessage(db, value).innerJoin('sources as s', 's.seq', 'm.source_seq').select('s.raw as bytes'),
  );
  const selectPiece = prepare((value: Slots<MessageKey & { piece: number }>) =>
    oneMessage(db, value)
      .innerJoin('source_pieces as p', 'p.source_seq', 'm.source_seq')
      .select('p.bytes')
      .where('p.piece', '=', value.piece),
  );
  return {
    async readRaw(inboxId, messageId, piece, now) {
      const receivedAt = timeOfId('msg', messageId);
      if (receivedAt === undefined) return undefined;
      const place = { inboxId, messageId, receivedAt, now };
      const [row] =
        piece === 0 ? await selectFirstPiece(db, place) : await selectPiece(db, { ...place, piece });
      return row?.bytes;
    },
  };
}
