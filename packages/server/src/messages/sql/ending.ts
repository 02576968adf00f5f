import { anyOf, FOR_UPDATE_SKIP_LOCKED, sql, type Tx, write } from '../../database/sql.ts';
import { releaseSources } from '../../reading/sql.ts';
import { lockInboxOf } from './one.ts';

/** Deleting an inbox costs as much as deleting this many messages: it is in eight indexes, and has labels. */
export const ROWS_PER_INBOX = 4;

/** Deletes about `limit` rows of emptied inboxes. @returns the number; below `limit` if no rows are left */
export async function freeEmptied(tx: Tx, limit: number): Promise<number> {
  // The 0 is not a parameter, because the databases would not use the partial index for a parameter.
  const emptied = await tx.all<{ seq: number }>(
    sql`select seq from inboxes where emptied_up_to > 0 limit ${Math.ceil(limit / ROWS_PER_INBOX)}
      ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  if (emptied.length === 0) return 0;
  const inboxes = anyOf(emptied.map(({ seq }) => seq));
  const deleted = await tx.all<{ source: number }>(
    sql`with chosen as materialized (
        select m.inbox_seq, m.received_at from inboxes i
          join messages m on m.inbox_seq = i.seq and m.received_at <= i.emptied_up_to
        where i.seq ${inboxes} order by m.inbox_seq, m.received_at limit ${limit})
      delete from messages where (inbox_seq, received_at) in (select inbox_seq, received_at from chosen)
      returning source_seq as source`,
  );
  await releaseSources(
    tx,
    deleted.map(({ source }) => source),
  );
  if (deleted.length >= limit) return limit;
  await tx.run(sql`update inboxes set emptied_up_to = 0 where seq ${inboxes}`);
  return deleted.length + emptied.length * ROWS_PER_INBOX;
}

/** Deletes the `excess` oldest messages of each locked inbox. The sweeper deletes their large sources later. */
export async function evict(
  tx: Tx,
  overfull: readonly { seq: number; emptiedUpTo: number; excess: number }[],
) {
  const released: number[] = [];
  for (const { seq, emptiedUpTo, excess } of overfull) {
    const deleted = await tx.all<{ source: number }>(
      sql`delete from messages where inbox_seq = ${seq} and received_at in (
          select received_at from messages where inbox_seq = ${seq} and received_at > ${emptiedUpTo}
          order by received_at limit ${excess})
        returning source_seq as source`,
    );
    released.push(...deleted.map(({ source }) => source));
  }
  await releaseSources(tx, released);
}

export const ending = {
  /** Deletes a message, and its source unless another message uses it. @returns false if it does not exist */
  delete: write({ mayUseReserve: true }, async (tx, inboxId: string, messageId: string, now: number) => {
    const locked = await lockInboxOf(tx, inboxId, messageId, now);
    if (!locked) return false;
    const { inboxSeq, receivedAt } = locked;
    const message = await tx.first<{ source: number }>(
      sql`delete from messages where inbox_seq = ${inboxSeq} and received_at = ${receivedAt} and id = ${messageId}
          returning source_seq as source`,
    );
    if (!message) return false;
    await tx.run(
      sql`update inboxes set message_count = message_count - 1, version = version + 1 where seq = ${inboxSeq}`,
    );
    await releaseSources(tx, [message.source]);
    tx.hint({ kind: 'inbox', inboxId });
    return true;
  }),

  /** Empties an inbox, but keeps `lastReceivedAt` for cursors. @returns false if the inbox is not live */
  deleteAll: write({ mayUseReserve: true }, async (tx, inboxId: string, now: number) => {
    const emptied = await tx.run(
      sql`update inboxes set emptied_up_to = last_received_at, message_count = 0, version = version + 1
          where id = ${inboxId} and expires_at > ${now} and freed = 0`,
    );
    if (emptied > 0) tx.hint({ kind: 'inbox', inboxId });
    return emptied > 0;
  }),
};
