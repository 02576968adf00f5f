import { revokeAll } from '../accounts/sql.ts';
import { DELETED } from '../database/schema.ts';
import {
  anyOf,
  FOR_UPDATE,
  type FreeStep,
  freeInSteps,
  inSequence,
  sql,
  steps,
  type Tx,
} from '../database/sql.ts';
import { vacateAddresses } from '../inboxes/sql/addresses.ts';
import { isListed } from '../inboxes/sql/finding.ts';
import { freeAllParked, freeMessages, freeSoon } from '../messages/sql/ending.ts';
import { removeProviderItems } from '../providers/sql.ts';
import { releaseSources } from '../reading/sql.ts';
import { keepForReports, removeDeletedInboxesOf } from '../reports/sql.ts';
import { removeContentOf, removeFailedWaitsOf } from '../waits/sql.ts';
import { cancelOfInboxes, LOCK_TO_REMOVE, removeNextWebhook } from '../webhooks/sql/removal.ts';
import { moveWebhookEnds } from '../webhooks/sql/webhooks.ts';

/** Inboxes per transaction: a millisecond or two. */
const INBOXES_PER_STEP = 20;
/** An inbox counts as this many rows of a step, because its row is in ten indexes and has labels. */
const ROWS_PER_INBOX = 4;

/**
 * Cancels deliveries and deletes about `limit` rows of deleted inboxes, their own rows last. Finds the inboxes by id in
 * each step, because others may delete them between the steps, and new inboxes may get their numbers.
 */
async function freeDeletedInboxes(
  tx: Tx,
  limit: number,
  inboxIds: readonly string[],
  now: number,
): Promise<number> {
  // Lock inboxes in the same order as storing mail does, and before deliveries as the sweeper does, to prevent deadlocks.
  const inboxes = await tx.all<{ seq: number; id: string }>(
    sql`select seq, id from inboxes where id ${anyOf(inboxIds)} and expires_at = ${DELETED} order by id ${FOR_UPDATE}`,
  );
  if (inboxes.length === 0) return 0;
  const ids = inboxes.map(({ id }) => id);
  let freed = await cancelOfInboxes(tx, limit, ids, now);
  const released: number[] = [];
  const emptied: typeof inboxes = [];
  for (const inbox of inboxes) {
    if (freed < limit) freed += await freeMessages(tx, inbox.seq, limit - freed, released);
    if (freed >= limit) break;
    emptied.push(inbox);
    freed += ROWS_PER_INBOX;
  }
  await releaseSources(tx, released);
  if (emptied.length === 0) return freed;
  await removeContentOf(
    tx,
    emptied.map(({ id }) => id),
  );
  await tx.run(sql`delete from inboxes where seq ${anyOf(emptied.map(({ seq }) => seq))}`);
  return freed;
}

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
      const free: FreeStep = (tx, limit) => freeDeletedInboxes(tx, limit, ended, now);
      await freeSoon(transaction, free);
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
          await freeSoon(transaction, (tx, limit) => freeDeletedInboxes(tx, limit, ended, now), 'step');
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
  // The quarantine of an expired inbox's address has begun already.
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

/** Deletes about `limit` rows of deleted inboxes. @returns at least `limit` while there may be more */
async function removeInboxes(tx: Tx, accountId: string, limit: number, now: number): Promise<number> {
  const inboxes = await tx.all<{ id: string }>(
    sql`select id from inboxes where account_id = ${accountId} and expires_at = ${DELETED} limit ${INBOXES_PER_STEP}`,
  );
  const ids = inboxes.map(({ id }) => id);
  return ids.length === 0 ? 0 : Math.max(limit, await freeDeletedInboxes(tx, limit, ids, now));
}

async function removeAccount(tx: Tx, accountId: string): Promise<void> {
  // Rows without an inbox: requests to confirm a URL.
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
        (tx, limit) => removeInboxes(tx, accountId, limit, now),
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
