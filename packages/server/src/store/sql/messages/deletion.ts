import { timeOfId } from '../../../ids.ts';
import type { MessageStore } from '../../contract/index.ts';
import { type FreeMessages, freeEmptied, freeInSteps, freeNowOrLater } from '../delete-in-steps.ts';
import type { Db, Dialect, Tx } from '../dialect.ts';
import type { Sources } from './sources.ts';

/** Deleting one message of an inbox, or all of them. */
export function createDeletion(
  db: Db,
  dialect: Dialect,
  sources: Sources,
  freeMessages: FreeMessages,
): Pick<MessageStore, 'delete' | 'deleteAll'> {
  /** Removes a message from its inbox; answers its source, or undefined when there is no such message. */
  async function unlist(tx: Tx, inboxId: string, messageId: string, now: number) {
    const receivedAt = timeOfId('msg', messageId);
    if (receivedAt === undefined) return undefined;
    // The inbox before the message, as a commit that evicts locks them: else the two could wait for each other.
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
    const message = await tx
      .deleteFrom('messages')
      .where('inbox_seq', '=', inbox.seq)
      .where('received_at', '=', receivedAt)
      .where('id', '=', messageId)
      .returning('source_seq')
      .executeTakeFirst();
    if (!message) return undefined;
    await tx
      .updateTable('inboxes')
      .set((row) => ({ message_count: row('message_count', '-', 1), version: row('version', '+', 1) }))
      .where('seq', '=', inbox.seq)
      // Where it was emptied meanwhile, the message is not counted any more.
      .where('emptied_up_to', '<', receivedAt)
      .execute();
    return tx
      .selectFrom('sources')
      .select(['seq', 'size'])
      .where('seq', '=', message.source_seq)
      .executeTakeFirstOrThrow();
  }

  return {
    async delete(inboxId, messageId, now) {
      const source = await db.transaction().execute(async (tx) => {
        const source = await unlist(tx, inboxId, messageId, now);
        if (source) await sources.release(tx, source);
        return source;
      });
      if (!source) return false;
      await freeNowOrLater(dialect, () =>
        freeInSteps(db, (tx, limit) => sources.freeParked(tx, limit, source.seq)),
      );
      return true;
    },

    async deleteAll(inboxId, now) {
      const emptied = await db.transaction().execute((tx) =>
        tx
          .updateTable('inboxes')
          .set((row) => ({
            emptied_up_to: row.ref('last_received_at'),
            message_count: 0,
            version: row('version', '+', 1),
          }))
          .where('id', '=', inboxId)
          .where('expires_at', '>', now)
          .where('freed', '=', 0)
          .returning('seq')
          .executeTakeFirst(),
      );
      if (!emptied) return false;
      await freeNowOrLater(dialect, async () => {
        await freeInSteps(db, (tx, limit) => freeEmptied(tx, freeMessages, limit, emptied.seq));
        await freeInSteps(db, (tx, limit) => sources.freeParked(tx, limit));
      });
      return true;
    },
  };
}
