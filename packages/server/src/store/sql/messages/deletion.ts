import { timeOfId } from '../../../ids.ts';
import type { MessageStore } from '../../contract/index.ts';
import { freeInSteps, freeNowOrLater, inSequence, type Removal } from '../delete-in-steps.ts';
import type { Dialect, Engine, Tx } from '../engine.ts';

/**
 * Locks the live inbox of a message that is to be changed or deleted, before the message, as in a commit that evicts:
 * otherwise the two could deadlock.
 * @returns the place of the message; undefined if the inbox has ended or was emptied since, or the id is none
 */
export async function lockInboxOf(
  tx: Tx,
  dialect: Dialect,
  { inboxId, messageId }: { inboxId: string; messageId: string },
  now: number,
): Promise<{ inboxSeq: number; receivedAt: number } | undefined> {
  const receivedAt = timeOfId('msg', messageId);
  if (receivedAt === undefined) return undefined;
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
  return inbox && { inboxSeq: inbox.seq, receivedAt };
}

/** Deletes a message of an inbox; returns its source, or undefined if there is no such message. */
async function unlist(tx: Tx, dialect: Dialect, inboxId: string, messageId: string, now: number) {
  const locked = await lockInboxOf(tx, dialect, { inboxId, messageId }, now);
  if (!locked) return undefined;
  const { inboxSeq, receivedAt } = locked;
  const message = await tx
    .deleteFrom('messages')
    .where('inbox_seq', '=', inboxSeq)
    .where('received_at', '=', receivedAt)
    .where('id', '=', messageId)
    .returning('source_seq')
    .executeTakeFirst();
  if (!message) return undefined;
  await tx
    .updateTable('inboxes')
    .set((row) => ({ message_count: row('message_count', '-', 1), version: row('version', '+', 1) }))
    .where('seq', '=', inboxSeq)
    // If the inbox was emptied meanwhile, the message is no longer counted.
    .where('emptied_up_to', '<', receivedAt)
    .execute();
  return message.source_seq;
}

/** Deleting one message of an inbox, or all of them. */
export function createDeletion(
  engine: Engine,
  { sources, freeEmptied }: Removal,
): Pick<MessageStore, 'delete' | 'deleteAll'> {
  const { dialect, transaction } = engine;
  return {
    async delete(inboxId, messageId, now) {
      const source = await transaction(async (tx) => {
        const source = await unlist(tx, dialect, inboxId, messageId, now);
        if (source !== undefined) await sources.release(tx, [source]);
        return source;
      });
      if (source === undefined) return false;
      await freeNowOrLater(() => freeInSteps(engine, (tx, limit) => sources.freeParked(tx, limit, source)));
      return true;
    },

    async deleteAll(inboxId, now) {
      const emptied = await transaction((tx) =>
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
      await freeNowOrLater(() =>
        freeInSteps(
          engine,
          inSequence(
            (tx, limit) => freeEmptied(tx, limit, inboxId),
            (tx, limit) => sources.freeParked(tx, limit),
          ),
        ),
      );
      return true;
    },
  };
}
