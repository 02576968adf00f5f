import { revokeAll } from '../accounts/sql.ts';
import { DELETED } from '../database/schema.ts';
import {
  anyOf,
  FOR_UPDATE,
  freeInSteps,
  freeSoon,
  inSequence,
  type Sql,
  sql,
  steps,
  type Tx,
} from '../database/sql.ts';
import { vacateAddresses } from '../inboxes/sql/addresses.ts';
import { isListed } from '../inboxes/sql/finding.ts';
import { freeAllParked, freeMessages } from '../messages/sql/ending.ts';
import { removeProviderItems } from '../providers/sql.ts';
import { releaseSources } from '../reading/sql.ts';
import { keepForReports, removeDeletedInboxesOf } from '../reports/sql.ts';
import { removeContentOf, removeFailedWaitsOf } from '../waits/sql.ts';
import { cancelOfInboxes, LOCK_TO_REMOVE, removeNextWebhook } from '../webhooks/sql/removal.ts';
import { moveWebhookEnds } from '../webhooks/sql/webhooks.ts';

/** Inboxes per transaction: a millisecond or two. */
const INBOXES_PER_STEP = 20;
/** A deleted inbox counts as this many rows of a step, because its row is in ten indexes and has labels. */
const ROWS_PER_INBOX = 4;

/**
 * Cancels the deliveries of ended inboxes and deletes about `limit` of their rows, one inbox after the other. Freeing a
 * message ends the inbox permanently, because a late extension must not revive an inbox without its messages. Deleted
 * inboxes are not kept; they are found again in each step, because others may delete them between the steps.
 * @param next which inbox comes first, with its lock; it is locked before its deliveries, to prevent deadlocks
 */
export async function freeEndedInboxes(tx: Tx, limit: number, now: number, next: Sql): Promise<number> {
  const released: number[] = [];
  let freed = 0;
  while (freed < limit) {
    const ended = await tx.first<{ seq: number; id: string; expiresAt: number }>(
      sql`select seq, id, expires_at as "expiresAt" from inboxes where ${next}`,
    );
    if (!ended) break;
    const { seq, id, expiresAt } = ended;
    freed += await cancelOfInboxes(tx, limit - freed, [id], now);
    if (freed >= limit) break;
    freed += await freeMessages(tx, seq, limit - freed, released);
    await removeContentOf(tx, [id]);
    const isDone = freed < limit;
    if (expiresAt === DELETED) {
      if (!isDone) break;
      await tx.run(sql`delete from inboxes where seq = ${seq}`);
      freed += ROWS_PER_INBOX;
    } else {
      await tx.run(
        sql`update inboxes set freed = 1, message_count = 0,
          emptied_up_to = ${isDone ? sql`0` : sql`last_received_at`} where seq = ${seq}`,
      );
      freed += 1;
    }
  }
  await releaseSources(tx, released);
  return freed;
}

/** The next inbox that is deleted, of some. */
const nextDeleted = (which: Sql): Sql =>
  sql`expires_at = ${DELETED} and ${which} order by id limit 1 ${FOR_UPDATE}`;

/** Makes live inboxes unreadable, quarantines their addresses and ends their webhooks. @returns their ids */
async function end(tx: Tx, accountId: string, inboxIds: readonly string[], now: number): Promise<string[]> {
  // Lock inboxes in the same order as storing mail does, to prevent deadlocks.
  const live = await tx.all<{ id: string; address: string }>(
    sql`select id, address from inboxes
      where id ${anyOf(inboxIds)} and account_id = ${accountId} and expires_at > ${now} order by id ${FOR_UPDATE}`,
  );
  if (live.length === 0) return [];
  const ids = live.map(({ id }) => id);
  await tx.run(sql`update inboxes set expires_at = ${DELETED}, version = version + 1 where id ${anyOf(ids)}`);
  await vacateAddresses(tx, live, now);
  await moveWebhookEnds(tx, accountId, ids, now);
  await keepForReports(tx, ids, now);
  return ids;
}

export const inboxDeletion = {
  /** Ends an inbox at once, then deletes its data in short transactions. False without such a live inbox. */
  delete: steps(
    async (transaction, accountId: string, inboxId: string, now: number): Promise<boolean> => {
      const ended = await transaction((tx) => end(tx, accountId, [inboxId], now));
      if (ended.length === 0) return false;
      await freeSoon(transaction, (tx, limit) =>
        freeEndedInboxes(tx, limit, now, nextDeleted(sql`id = ${inboxId}`)),
      );
      await freeSoon(transaction, freeAllParked);
      return true;
    },
    { mayUseReserve: true },
  ),

  /** Deletes all live inboxes with all `labels` (at least one), except the sink. @returns their ids */
  deleteByLabels: steps(
    async (
      transaction,
      accountId: string,
      labels: Record<string, string>,
      now: number,
    ): Promise<string[]> => {
      if (Object.keys(labels).length === 0) throw new RangeError('deleteByLabels needs at least one label.');
      const deleted: string[] = [];
      // In descending order, so that inboxes created meanwhile do not make it endless.
      for (let before: string | null = null; ; ) {
        const walked: { ids: string[]; ended: string[] } = await transaction(async (tx) => {
          const found = await tx.all<{ id: string }>(
            sql`select id from inboxes where ${isListed(accountId, labels, before, now)} and kind <> 'sink'
              order by id desc limit ${INBOXES_PER_STEP}`,
          );
          const ids = found.map(({ id }) => id);
          return { ids, ended: await end(tx, accountId, ids, now) };
        }, 'step');
        const { ids, ended } = walked;
        if (ended.length > 0)
          await freeSoon(
            transaction,
            (tx, limit) => freeEndedInboxes(tx, limit, now, nextDeleted(sql`id ${anyOf(ended)}`)),
            'step',
          );
        deleted.push(...ended);
        before = ids.at(-1) ?? null;
        if (ids.length < INBOXES_PER_STEP) break;
      }
      await freeSoon(transaction, freeAllParked);
      return deleted;
    },
    { mayUseReserve: true },
  ),
};

/** Marks an account as being deleted unless it is the last; `lockAccount` then rejects additions to it. */
async function mark(tx: Tx, accountId: string, now: number): Promise<'marked' | 'last' | 'unknown'> {
  // Locks two accounts in one order, so that concurrent deletions cannot delete both.
  const [one, another] = await tx.all<{ id: string }>(
    sql`select id from accounts where deleted_at is null order by id limit 2 ${FOR_UPDATE}`,
  );
  if (one?.id === accountId && !another) return 'last';
  const marked = await tx.run(sql`update accounts set deleted_at = ${now} where id = ${accountId}`);
  return marked > 0 ? 'marked' : 'unknown';
}

async function close(tx: Tx, accountId: string): Promise<void> {
  await tx.run(sql`delete from domains where account_id = ${accountId}`);
  await tx.run(
    sql`update webhooks set ends_at = ${DELETED}, enabled = 0, next_at = null where account_id = ${accountId}`,
  );
  await revokeAll(tx, accountId);
}

async function endInboxes(tx: Tx, accountId: string, limit: number, now: number): Promise<number> {
  // Lock inboxes in the same order as storing mail does, to prevent deadlocks.
  const ended = await tx.all<{ seq: number; id: string; address: string; expiresAt: number }>(
    sql`select seq, id, address, expires_at as "expiresAt" from inboxes
      where account_id = ${accountId} and expires_at > ${DELETED} order by id limit ${limit} ${FOR_UPDATE}`,
  );
  await tx.run(
    sql`update inboxes set expires_at = ${DELETED}, version = version + 1
      where seq ${anyOf(ended.map(({ seq }) => seq))}`,
  );
  // Live inboxes only: the address quarantine of an expired inbox started when it expired.
  const live = ended.filter(({ expiresAt }) => expiresAt > now);
  await vacateAddresses(tx, live, now);
  return ended.length;
}

/** Deletes up to `limit` stored responses, which contain secrets of webhooks. */
const forgetResponses = (tx: Tx, accountId: string, limit: number): Promise<number> =>
  tx.run(
    sql`delete from idempotency where key_id = ${accountId}
      and key_hash in (select key_hash from idempotency where key_id = ${accountId} limit ${limit})`,
  );

async function removeAccount(tx: Tx, accountId: string): Promise<void> {
  // The inboxes and their rows are already deleted. The remaining rows are requests that confirm a URL.
  await tx.run(sql`delete from outgoing where account_id = ${accountId}`);
  // Before its order of messages: this waits for mail that is being stored, whose order is committed then.
  const account = await tx.first<{ seq: number }>(
    sql`delete from accounts where id = ${accountId} returning seq`,
  );
  if (account) await tx.run(sql`delete from account_orders where account_seq = ${account.seq}`);
}

/**
 * Deletes an account and all that clients sent or created. The first transaction ends its keys, domains and webhooks;
 * then nothing can be created for it. The rest follows in short transactions; a second call continues after a failure.
 * Counts of usage, quarantines of addresses and refusals are kept as usual.
 * @returns `last` for the only account, which is not deleted
 */
export const deleteAccount = steps(
  async (transaction, accountId: string, now: number): Promise<'deleted' | 'last' | 'unknown'> => {
    const outcome = await transaction(async (tx) => {
      const marked = await mark(tx, accountId, now);
      if (marked === 'marked') await close(tx, accountId);
      return marked;
    });
    if (outcome !== 'marked') return outcome;
    // All inboxes end before rows are deleted, which takes longer: the sweeper completes an interrupted deletion.
    await freeInSteps(transaction, (tx, limit) => endInboxes(tx, accountId, limit, now));
    await freeInSteps(transaction, (tx, limit) => forgetResponses(tx, accountId, limit));
    await freeInSteps(
      transaction,
      inSequence(
        (tx, limit) => removeNextWebhook(tx, limit, sql`account_id = ${accountId}`, LOCK_TO_REMOVE),
        (tx, limit) => freeEndedInboxes(tx, limit, now, nextDeleted(sql`account_id = ${accountId}`)),
        (tx, limit) => removeDeletedInboxesOf(tx, accountId, limit),
        (tx, limit) => removeFailedWaitsOf(tx, accountId, limit),
        freeAllParked,
      ),
    );
    await freeInSteps(transaction, removeProviderItems(accountId));
    await transaction((tx) => removeAccount(tx, accountId));
    return 'deleted';
  },
  { mayUseReserve: true },
);
