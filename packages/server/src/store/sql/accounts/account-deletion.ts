import type { AccountStore } from '../../contract/index.ts';
import { type FreeMessages, freeInSteps, removeInbox } from '../delete-in-steps.ts';
import type { Db, Dialect, Tx } from '../dialect.ts';
import { vacateAddress } from '../inboxes/addresses.ts';
import type { Sources } from '../messages/sources.ts';
import { DELETED } from '../tables.ts';
import { removeWebhook } from '../webhooks/queue.ts';
import { revokeAll } from './keys.ts';

/** Marks an account unless it is the last; from here on nothing is made for it (see lock-account.ts). */
async function mark(
  tx: Tx,
  dialect: Dialect,
  accountId: string,
  now: number,
): Promise<'marked' | 'last' | 'unknown'> {
  // Two of those that stay, locked in one order: deletions at once cannot each count on the other's account.
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

/** Ends all at once that opens an account or brings mail to others. @returns the ids of its keys */
async function closeAccount(tx: Tx, accountId: string): Promise<string[]> {
  await tx.deleteFrom('domains').where('account_id', '=', accountId).execute();
  await tx
    .updateTable('webhooks')
    .set({ ends_at: DELETED, enabled: 0, next_at: null })
    .where('account_id', '=', accountId)
    .execute();
  return revokeAll(tx, accountId);
}

/** Makes up to `limit` inboxes unreadable, expired ones too; answers how many. */
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
        .limit(limit),
    )
    .execute();
  for (const { seq, id: inboxId, address, expires_at } of inboxes) {
    await tx
      .updateTable('inboxes')
      .set((row) => ({ expires_at: DELETED, version: row('version', '+', 1) }))
      .where('seq', '=', seq)
      .execute();
    // The quarantine after an expired one has begun already.
    if (expires_at > now) await vacateAddress(tx, { address, inboxId }, now);
  }
  return inboxes.length;
}

/** Removes up to `limit` remembered answers to a key's requests; they hold the secrets of webhooks. */
async function forgetAnswers(tx: Tx, keyId: string, limit: number): Promise<number> {
  const old = tx.selectFrom('idempotency').select('key_hash').where('key_id', '=', keyId).limit(limit);
  const gone = tx.deleteFrom('idempotency').where('key_id', '=', keyId).where('key_hash', 'in', old);
  return (await gone.returning('key_hash').execute()).length;
}

/** The first row of one account in a table, until none is left. */
async function removeEach<T>(first: () => Promise<T | undefined>, remove: (row: T) => Promise<unknown>) {
  for (let row = await first(); row !== undefined; row = await first()) await remove(row);
}

/** `AccountStore.delete`. */
export function createAccountDeletion(
  db: Db,
  dialect: Dialect,
  sources: Sources,
  freeMessages: FreeMessages,
): AccountStore['delete'] {
  const removeWebhooks = (accountId: string) =>
    removeEach(
      () =>
        db
          .selectFrom('webhooks')
          .select('id')
          .where('account_id', '=', accountId)
          .limit(1)
          .executeTakeFirst(),
      ({ id }) => removeWebhook(db, id),
    );
  const removeInboxes = (accountId: string) =>
    removeEach(
      () =>
        db
          .selectFrom('inboxes')
          .select('id')
          .where('account_id', '=', accountId)
          .where('expires_at', '=', DELETED)
          .limit(1)
          .executeTakeFirst(),
      ({ id }) => removeInbox(db, dialect, freeMessages, id),
    );

  return async (accountId, now) => {
    const begun = await db.transaction().execute(async (tx) => {
      const outcome = await mark(tx, dialect, accountId, now);
      return outcome === 'marked' ? { keyIds: await closeAccount(tx, accountId) } : outcome;
    });
    if (typeof begun === 'string') return begun;
    // All of them before any is freed, which takes its time: should we be stopped, the sweeper does the rest.
    await freeInSteps(db, (tx, limit) => endInboxes(tx, dialect, accountId, limit, now));
    for (const keyId of begun.keyIds) await freeInSteps(db, (tx, limit) => forgetAnswers(tx, keyId, limit));
    await removeWebhooks(accountId);
    await removeInboxes(accountId);
    await freeInSteps(db, (tx, limit) => sources.freeParked(tx, limit));
    await db.deleteFrom('accounts').where('id', '=', accountId).execute();
    return 'deleted';
  };
}
