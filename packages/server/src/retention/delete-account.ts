import { revokeAll } from '../accounts/sql.ts';
import { freeInSteps, inSequence } from '../database/in-steps.ts';
import { steps, type Tx } from '../database/operations.ts';
import { DELETED } from '../database/schema.ts';
import { anyOf, FOR_UPDATE, sql } from '../database/sql.ts';
import { vacateAddresses } from '../inboxes/sql/addresses.ts';
import { freeParked } from '../reading/sources.ts';
import { removeDeletedInboxesOf } from '../reports/sql.ts';
import { removeFailedWaitsOf } from '../waits/sql.ts';
import { LOCK_TO_REMOVE, removeNextWebhook } from '../webhooks/sql/removal.ts';
import { freeDeletedInboxes, INBOXES_PER_STEP } from './delete-inboxes.ts';

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
  // In the lock order of the intake, against deadlocks.
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
  await tx.run(
    sql`delete from account_orders where account_seq in (select seq from accounts where id = ${accountId})`,
  );
  await tx.run(sql`delete from accounts where id = ${accountId}`);
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
        (tx, limit) => freeParked(tx, limit),
      ),
    );
    await transaction((tx) => removeAccount(tx, accountId));
    return 'deleted';
  },
  { mayUseReserve: true },
);
