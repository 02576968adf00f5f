import {
  EMPTY,
  FOR_UPDATE,
  FOR_UPDATE_SKIP_LOCKED,
  type FreeStep,
  freeSoon,
  inSequence,
  sql,
  steps,
  type Tx,
} from '../../database/sql.ts';
import { freeParked, releaseSources, rowsToFree } from '../../reading/sql.ts';
import { lockInboxOf } from './one.ts';

interface Oldest {
  inbox: number;
  after: number;
  upTo: number;
  limit: number;
}

const selectOldest = (tx: Tx, { inbox, after, upTo, limit }: Oldest) =>
  tx.all<{ receivedAt: number; size: number | null }>(
    sql`select m.received_at as "receivedAt", s.size from messages m left join sources s on s.seq = m.source_seq
      where m.inbox_seq = ${inbox} and m.received_at > ${after} and m.received_at <= ${upTo}
      order by m.received_at limit ${limit}`,
  );

async function deleteUpTo(tx: Tx, inbox: number, after: number, upTo: number): Promise<number[]> {
  const deleted = await tx.all<{ source: number }>(
    sql`delete from messages where inbox_seq = ${inbox} and received_at > ${after} and received_at <= ${upTo}
      returning source_seq as source`,
  );
  return deleted.map(({ source }) => source);
}

/**
 * Deletes the oldest messages, about `limit` rows. The caller's transaction has locked the inbox and read its `seq`,
 * because SQLite reuses numbers. @param released receives the sources, which the caller has to release
 */
export async function freeMessages(
  tx: Tx,
  inbox: number,
  limit: number,
  released: number[],
  upTo = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  let freed = 0;
  let last: number | undefined;
  for (const { receivedAt, size } of await selectOldest(tx, { inbox, after: -1, upTo, limit })) {
    last = receivedAt;
    freed += rowsToFree(size ?? 0);
    if (freed >= limit) break;
  }
  if (last !== undefined) released.push(...(await deleteUpTo(tx, inbox, -1, last)));
  return freed;
}

/** @param only the id of one inbox; otherwise all emptied inboxes */
export async function freeEmptied(tx: Tx, limit: number, only?: string): Promise<number> {
  const ofOnly = only === undefined ? EMPTY : sql`and id = ${only}`;
  // The sweeper skips an inbox that another node is emptying; a deletion waits for its inbox.
  const lock = only === undefined ? FOR_UPDATE_SKIP_LOCKED : FOR_UPDATE;
  const released: number[] = [];
  let freed = 0;
  while (freed < limit) {
    // A literal, because engines use a partial index only for a value that is known when they plan.
    const emptied = await tx.first<{ seq: number; upTo: number }>(
      sql`select seq, emptied_up_to as "upTo" from inboxes where emptied_up_to > 0 ${ofOnly} limit 1 ${lock}`,
    );
    if (!emptied) break;
    const left = limit - freed;
    const rows = await freeMessages(tx, emptied.seq, left, released, emptied.upTo);
    freed += rows;
    if (rows >= left) break;
    await tx.run(sql`update inboxes set emptied_up_to = 0 where seq = ${emptied.seq}`);
    freed += 1;
  }
  await releaseSources(tx, released);
  return freed;
}

/** Deletes the oldest messages of locked inboxes. The sweeper deletes sources that were stored in several pieces. */
export async function evict(
  tx: Tx,
  overfull: readonly { inbox: number; maxMessages: number }[],
): Promise<void> {
  const released: number[] = [];
  for (const { inbox, maxMessages } of overfull) {
    const row = await tx.first<{ count: number; after: number }>(
      sql`select message_count as count, emptied_up_to as after from inboxes where seq = ${inbox}`,
    );
    const limit = (row?.count ?? 0) - maxMessages;
    if (!row || limit <= 0) continue;
    const { after } = row;
    const oldest = await selectOldest(tx, { inbox, after, upTo: Number.MAX_SAFE_INTEGER, limit });
    const last = oldest.at(-1);
    if (!last) continue;
    const deleted = await deleteUpTo(tx, inbox, after, last.receivedAt);
    await tx.run(
      sql`update inboxes set message_count = message_count - ${deleted.length} where seq = ${inbox}`,
    );
    released.push(...deleted);
  }
  await releaseSources(tx, released);
}

/** @returns the source of the deleted message */
async function unlist(tx: Tx, inboxId: string, messageId: string, now: number): Promise<number | undefined> {
  const locked = await lockInboxOf(tx, inboxId, messageId, now);
  if (!locked) return undefined;
  const { inboxSeq, receivedAt } = locked;
  const message = await tx.first<{ source: number }>(
    sql`delete from messages where inbox_seq = ${inboxSeq} and received_at = ${receivedAt} and id = ${messageId}
      returning source_seq as source`,
  );
  if (!message) return undefined;
  await tx.run(
    sql`update inboxes set message_count = message_count - 1, version = version + 1 where seq = ${inboxSeq}`,
  );
  await releaseSources(tx, [message.source]);
  return message.source;
}

export const freeAllParked: FreeStep = (tx, limit) => freeParked(tx, limit);

export const ending = {
  /** Deletes the source too unless another message has it. False if there is no such message. */
  delete: steps(
    async (transaction, inboxId: string, messageId: string, now: number): Promise<boolean> => {
      const source = await transaction((tx) => unlist(tx, inboxId, messageId, now));
      if (source === undefined) return false;
      await freeSoon(transaction, (tx, limit) => freeParked(tx, limit, source));
      return true;
    },
    { mayUseReserve: true },
  ),

  /**
   * Deletes the messages committed before the call, and none committed after it resolves. False if the inbox is not
   * live. `lastReceivedAt` stays, so that cursors remain valid.
   */
  deleteAll: steps(
    async (transaction, inboxId: string, now: number): Promise<boolean> => {
      const emptied = await transaction((tx) =>
        tx.run(
          sql`update inboxes set emptied_up_to = last_received_at, message_count = 0, version = version + 1
            where id = ${inboxId} and expires_at > ${now} and freed = 0`,
        ),
      );
      if (emptied === 0) return false;
      await freeSoon(
        transaction,
        inSequence((tx, limit) => freeEmptied(tx, limit, inboxId), freeAllParked),
      );
      return true;
    },
    { mayUseReserve: true },
  ),
};
