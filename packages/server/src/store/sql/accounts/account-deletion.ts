import { sql } from '../../../database/sql.ts';
import { LOCK_TO_REMOVE, removeNextWebhook } from '../../../webhooks/sql/removal.ts';
import type { AccountStore } from '../../contract/index.ts';
import { freeInSteps, INBOXES_PER_STEP, inSequence, type Removal } from '../delete-in-steps.ts';
import type { Dialect, Engine, Tx } from '../engine.ts';
import { vacateAddresses } from '../inboxes/addresses.ts';
import { kitOn } from '../kit-on.ts';
import { removeDeletedInboxesOf } from '../reports/deleted-inboxes.ts';
import { removeFailedWaitsOf } from '../reports/explained-waits.ts';
import { DELETED } from '../tables/index.ts';
import { revokeAll } from './keys.ts';

/** Marks an account as being deleted unless it is the last; then nothing is added to it (lock-account.ts). */
async function mark(
  tx: Tx,
  dialect: Dialect,
  accountId: string,
  now: number,
): Promise<'marked' | 'last' | 'unknown'> {
  // Two remaining accounts, locked in one order, so that concurrent deletions cannot delete both.
  const [one, another] = await dialect
    .lockRows(tx.selectFrom('accounts').select('id').where('deleted_at', 'is', null).orderBy('id').limit(2))
    .execute();
  if (one?.id === accountId && !another) return 'last';
  const marked = await tx
    .updateTable('accounts')
    .set({ deleted_at: now })
    .where('id', '=', accountId)
    .returning('id')
    .executeTakeFirst();
  return marked ? 'marked' : 'unknown';
}

/** Ends the keys, domains and webhooks of an account. @returns the ids of its keys */
async function closeAccount(tx: Tx, accountId: string): Promise<string[]> {
  await tx.deleteFrom('domains').where('account_id', '=', accountId).execute();
  await tx
    .updateTable('webhooks')
    .set({ ends_at: DELETED, enabled: 0, next_at: null })
    .where('account_id', '=', accountId)
    .execute();
  return revokeAll(tx, accountId);
}

/** Makes up to `limit` inboxes unreadable, also expired ones; returns how many. */
async function endInboxes(
  tx: Tx,
  dialect: Dialect,
  accountId: string,
  limit: number,
  now: number,
): Promise<number> {
  const inboxes = await dialect
    .lockRows(
      tx
        .selectFrom('inboxes')
        .select(['seq', 'id', 'address', 'expires_at'])
        .where('account_id', '=', accountId)
        .where('expires_at', '>', DELETED)
        // In the order of the intake: otherwise the two could deadlock.
        .orderBy('id')
        .limit(limit),
    )
    .execute();
  if (inboxes.length === 0) return 0;
  await tx
    .updateTable('inboxes')
    .set((row) => ({ expires_at: DELETED, version: row('version', '+', 1) }))
    .where(
      'seq',
      'in',
      inboxes.map(({ seq }) => seq),
    )
    .execute();
  // The quarantine of an expired inbox's address has begun already.
  const live = inboxes.filter(({ expires_at }) => expires_at > now);
  await vacateAddresses(tx, live, now);
  return inboxes.length;
}

/**
 * Removes up to `limit` stored responses; they contain the secrets of webhooks.
 * @param owner the account, or one of its keys for what versions before 0.2.0 stored
 */
async function forgetResponses(tx: Tx, owner: string, limit: number): Promise<number> {
  const old = tx.selectFrom('idempotency').select('key_hash').where('key_id', '=', owner).limit(limit);
  const gone = tx.deleteFrom('idempotency').where('key_id', '=', owner).where('key_hash', 'in', old);
  return (await gone.returning('key_hash').execute()).length;
}

/** Removes about `limit` rows of an account's webhooks, with their deliveries. */
const removeWebhooks = (tx: Tx, accountId: string, limit: number): Promise<number> =>
  removeNextWebhook(kitOn(tx), limit, sql`account_id = ${accountId}`, LOCK_TO_REMOVE);

/**
 * Removes about `limit` rows of an account's deleted inboxes.
 * @returns at least `limit` as long as there may be more
 */
async function removeInboxes(
  tx: Tx,
  { freeDeletedInboxes }: Removal,
  accountId: string,
  limit: number,
  now: number,
): Promise<number> {
  const inboxes = await tx
    .selectFrom('inboxes')
    .select('id')
    .where('account_id', '=', accountId)
    .where('expires_at', '=', DELETED)
    .limit(INBOXES_PER_STEP)
    .execute();
  const ids = inboxes.map(({ id }) => id);
  return ids.length === 0 ? 0 : Math.max(limit, await freeDeletedInboxes(tx, limit, ids, now));
}

async function removeAccount(tx: Tx, accountId: string): Promise<void> {
  const gone = await tx.deleteFrom('accounts').where('id', '=', accountId).returning('seq').execute();
  for (const { seq } of gone) await tx.deleteFrom('account_orders').where('account_seq', '=', seq).execute();
}

/** `AccountStore.delete`. */
export function createAccountDeletion(engine: Engine, removal: Removal): AccountStore['delete'] {
  const { dialect, transaction } = engine;
  return async (accountId, now) => {
    const begun = await transaction(async (tx) => {
      const outcome = await mark(tx, dialect, accountId, now);
      return outcome === 'marked' ? { keyIds: await closeAccount(tx, accountId) } : outcome;
    });
    if (typeof begun === 'string') return begun;
    // All inboxes end before any is freed, which takes longer: if this is interrupted, the sweeper does the rest.
    await freeInSteps(engine, (tx, limit) => endInboxes(tx, dialect, accountId, limit, now));
    for (const owner of [accountId, ...begun.keyIds]) {
      await freeInSteps(engine, (tx, limit) => forgetResponses(tx, owner, limit));
    }
    await freeInSteps(
      engine,
      inSequence(
        (tx, limit) => removeWebhooks(tx, accountId, limit),
        (tx, limit) => removeInboxes(tx, removal, accountId, limit, now),
        (tx, limit) => removeDeletedInboxesOf(tx, accountId, limit),
        (tx, limit) => removeFailedWaitsOf(tx, accountId, limit),
        (tx, limit) => removal.sources.freeParked(tx, limit),
      ),
    );
    await transaction((tx) => removeAccount(tx, accountId));
    return 'deleted';
  };
}
