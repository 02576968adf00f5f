import { revokeAll } from '../accounts/sql.ts';
import { DELETED } from '../database/schema.ts';
import {
  anyOf,
  constant,
  FOR_UPDATE,
  sql,
  steps,
  type Transaction,
  type Tx,
  write,
} from '../database/sql.ts';
import { vacateAddresses } from '../inboxes/sql/addresses.ts';
import { isListed } from '../inboxes/sql/finding.ts';
import { keepForReports } from '../reports/sql.ts';
import { moveWebhookEnds } from '../webhooks/sql/webhooks.ts';
import { type Chore, FREEING, inSequence, removeSome } from './sweep.ts';

const INBOXES_PER_STEP = 20;

async function end(tx: Tx, accountId: string, inboxIds: readonly string[], now: number): Promise<string[]> {
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
  for (const inboxId of ids) tx.hint({ kind: 'inbox', inboxId });
  return ids;
}

/** Makes inboxes unreadable at once; the sweeper deletes their rows later. Lock order: inboxes by id. */
export const inboxDeletion = {
  delete: write(
    { mayUseReserve: true },
    async (tx, accountId: string, inboxId: string, now: number) =>
      (await end(tx, accountId, [inboxId], now)).length > 0,
  ),

  /** Deletes all live inboxes that have all `labels` (at least one), except a sink. @returns their ids */
  deleteByLabels: steps(
    { mayUseReserve: true },
    async (transaction, accountId: string, labels: Record<string, string>, now: number) => {
      if (Object.keys(labels).length === 0) throw new RangeError('deleteByLabels needs at least one label.');
      const deleted: string[] = [];
      // From the newest to the oldest, so that the loop ends even if inboxes are created meanwhile.
      for (let before: string | null = null; ; ) {
        const { ids, ended }: Record<'ids' | 'ended', string[]> = await transaction(async (tx) => {
          const found = await tx.all<{ id: string }>(
            sql`select id from inboxes where ${isListed(accountId, labels, before, now)} and kind <> 'sink'
              order by id desc limit ${INBOXES_PER_STEP}`,
          );
          const ids = found.map(({ id }) => id);
          return { ids, ended: await end(tx, accountId, ids, now) };
        }, 'step');
        deleted.push(...ended);
        before = ids.at(-1) ?? null;
        if (ids.length < INBOXES_PER_STEP) return deleted;
      }
    },
  ),
};

/** Marks an account as being deleted unless it is the last; `lockAccount` then rejects additions to it. */
async function mark(tx: Tx, accountId: string, now: number): Promise<'marked' | 'last' | 'unknown'> {
  // Locks two accounts in a fixed order, so that two concurrent deletions cannot delete the last two.
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

/** Deletes rows of a marked account (see {@link mark}), for which no transaction adds rows any more. */
const choresOf = (accountId: string): Chore => {
  const remove = (table: string, key: string, column: string) =>
    removeSome(table, key, () => sql`${constant(column)} = ${accountId}`, FOR_UPDATE);
  return inSequence([
    // The stored responses contain secrets of webhooks.
    remove('idempotency', 'key_id, key_hash', 'key_id'),
    remove('deleted_inboxes', 'id', 'account_id'),
    remove('failed_waits', 'id', 'account_id'),
    remove('provider_items', 'owner, provider, kind, name', 'account_id'),
    ...FREEING,
  ]);
};

/** Whether inboxes or webhooks are left. Waits for locked rows, because {@link choresOf} skips such rows. */
async function hasRows(tx: Tx, accountId: string): Promise<boolean> {
  const left = (table: string) =>
    tx.first(sql`select id from ${constant(table)} where account_id = ${accountId} limit 1 ${FOR_UPDATE}`);
  return Boolean((await left('inboxes')) ?? (await left('webhooks')));
}

async function removeAccount(tx: Tx, accountId: string): Promise<void> {
  // The rows that are left belong to no inbox: they are requests that confirm a URL (`handshake`).
  await tx.run(sql`delete from outgoing where account_id = ${accountId}`);
  // Delete the account first: this waits for transactions that store its mail and update account_orders.
  const account = await tx.first<{ seq: number }>(
    sql`delete from accounts where id = ${accountId} returning seq`,
  );
  if (account) await tx.run(sql`delete from account_orders where account_seq = ${account.seq}`);
  tx.hint({ kind: 'all' });
}

/** Rows per transaction. A transaction takes one or two milliseconds, during which other writes wait. */
const ROWS_PER_STEP = 100;

async function inSteps(transaction: Transaction, step: (tx: Tx, limit: number) => Promise<number>) {
  while ((await transaction((tx) => step(tx, ROWS_PER_STEP), 'step')) >= ROWS_PER_STEP);
}

/**
 * Deletes an account and its data, except usage counts, quarantined addresses and refusals. After the first
 * transaction, no data can be added. If a later one fails, call again. @returns `last` for the only account
 */
export const deleteAccount = steps(
  { mayUseReserve: true },
  async (transaction, accountId: string, now: number): Promise<'deleted' | 'last' | 'unknown'> => {
    const outcome = await transaction(async (tx) => {
      const marked = await mark(tx, accountId, now);
      if (marked === 'marked') await close(tx, accountId);
      return marked;
    });
    if (outcome !== 'marked') return outcome;
    // Make all inboxes unreadable before any rows are deleted, because deleting takes longer.
    await inSteps(transaction, (tx, limit) => endInboxes(tx, accountId, limit, now));
    const free = choresOf(accountId);
    await inSteps(transaction, async (tx, limit) => {
      const freed = await free(tx, limit, now);
      return freed >= limit || (await hasRows(tx, accountId)) ? limit : 0;
    });
    await transaction((tx) => removeAccount(tx, accountId));
    return 'deleted';
  },
);
