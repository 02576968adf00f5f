import type { MessageStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { lockInboxOf } from './deletion.ts';
import { MESSAGE_COLUMNS, toMessage } from './rows.ts';

/** Marks of messages: what clients note about them. */
export function createMarks({ dialect, transaction }: Engine): Pick<MessageStore, 'mark'> {
  return {
    mark: (inboxId, messageId, changes, now) =>
      transaction(async (tx) => {
        const locked = await lockInboxOf(tx, dialect, { inboxId, messageId }, now);
        if (!locked) return undefined;
        const { inboxSeq, receivedAt } = locked;
        const row = await tx
          .selectFrom('messages as m')
          .innerJoin('sources as s', 's.seq', 'm.source_seq')
          .select(MESSAGE_COLUMNS)
          .where('m.inbox_seq', '=', inboxSeq)
          .where('m.received_at', '=', receivedAt)
          .where('m.id', '=', messageId)
          .executeTakeFirst();
        if (!row) return undefined;
        const { read = row.read_at !== null, tags } = changes;
        const marks = {
          read_at: read ? (row.read_at ?? now) : null,
          tags: tags ? JSON.stringify(tags) : row.tags,
        };
        if (marks.read_at === row.read_at && marks.tags === row.tags) return toMessage(inboxId, row);
        await tx
          .updateTable('messages')
          .set(marks)
          .where('inbox_seq', '=', inboxSeq)
          .where('received_at', '=', receivedAt)
          .execute();
        await tx
          .updateTable('inboxes')
          .set((row) => ({ version: row('version', '+', 1) }))
          .where('seq', '=', inboxSeq)
          .execute();
        return toMessage(inboxId, { ...row, ...marks });
      }),
  };
}
