import { timeOfId } from '../../../ids.ts';
import type { MessageStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { MESSAGE_COLUMNS, toMessage } from './rows.ts';

/** Marks of messages: what clients note about them. */
export function createMarks({ dialect, transaction }: Engine): Pick<MessageStore, 'mark'> {
  return {
    mark: (inboxId, messageId, changes, now) =>
      transaction(async (tx) => {
        const receivedAt = timeOfId('msg', messageId);
        if (receivedAt === undefined) return undefined;
        // Locked before the message, as by a deletion.
        const inbox = await dialect
          .lockRows(
            tx
              .selectFrom('inboxes')
              .select('seq')
              .where('id', '=', inboxId)
              .where('expires_at', '>', now)
              .where('emptied_up_to', '<', receivedAt),
          )
          .executeTakeFirst();
        if (!inbox) return undefined;
        const row = await tx
          .selectFrom('messages as m')
          .innerJoin('sources as s', 's.seq', 'm.source_seq')
          .select(MESSAGE_COLUMNS)
          .where('m.inbox_seq', '=', inbox.seq)
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
          .where('inbox_seq', '=', inbox.seq)
          .where('received_at', '=', receivedAt)
          .execute();
        await tx
          .updateTable('inboxes')
          .set((row) => ({ version: row('version', '+', 1) }))
          .where('seq', '=', inbox.seq)
          .execute();
        return toMessage(inboxId, { ...row, ...marks });
      }),
  };
}
