import { sql } from 'kysely';
import type { Tx } from '../engine.ts';

/** Keeps what reports show of inboxes that are being deleted, of those that have labels. */
export async function keepForReports(tx: Tx, inboxIds: readonly string[], now: number): Promise<void> {
  await tx
    .insertInto('deleted_inboxes')
    .columns([
      ...(['id', 'account_id', 'address', 'labels', 'created_at', 'deleted_at'] as const),
      ...(['received_messages', 'first_received_at', 'waits'] as const),
    ])
    .expression((row) =>
      row
        .selectFrom('inboxes as i')
        .leftJoin('inbox_waits as w', 'w.inbox_seq', 'i.seq')
        .select(['i.id', 'i.account_id', 'i.address', 'i.labels', 'i.created_at'])
        .select(sql<number>`cast(${now} as bigint)`.as('deleted_at'))
        .select(['i.received_messages', 'i.first_received_at', 'w.waits'])
        .where('i.id', 'in', inboxIds)
        .where('i.labels', '!=', '{}'),
    )
    .execute();
}

/** Removes up to `limit` rows of an account. @returns how many */
export async function removeDeletedInboxesOf(tx: Tx, accountId: string, limit: number): Promise<number> {
  const of = tx.selectFrom('deleted_inboxes').select('id').where('account_id', '=', accountId).limit(limit);
  return (await tx.deleteFrom('deleted_inboxes').where('id', 'in', of).returning('id').execute()).length;
}
