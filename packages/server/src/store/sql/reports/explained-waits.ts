import { sql } from 'kysely';
import { MAX_EXPLAINED_WAITS, type ReportStore } from '../../contract/reports.ts';
import { EXPLAINED_KEPT_MS } from '../../contract/retention.ts';
import type { Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { DELETED } from '../tables/index.ts';

/** What failed waits have explained. */
export function createExplained({
  db,
  dialect,
  transaction,
}: Engine): Pick<ReportStore, 'addExplained' | 'findWait'> {
  type Row = {
    id: string;
    accountId: string;
    inboxId: string;
    endedAt: number;
    plain: string;
    content: string;
  };
  // Not for an account that is being deleted, and without content for an inbox that is.
  const insert = prepare((value: Slots<Row>) =>
    db
      .insertInto('failed_waits')
      .columns(['id', 'account_id', 'inbox_id', 'ended_at', 'plain', 'content'])
      .expression((row) =>
        row
          .selectFrom('accounts as a')
          .leftJoin('inboxes as i', (join) =>
            join.on('i.id', '=', value.inboxId).on('i.expires_at', '>', DELETED).on('i.freed', '=', 0),
          )
          .select([
            sql<string>`cast(${value.id} as text)`.as('id'),
            'a.id as account_id',
            sql<string>`cast(${value.inboxId} as text)`.as('inbox_id'),
            sql<number>`cast(${value.endedAt} as bigint)`.as('ended_at'),
            sql<string>`cast(${value.plain} as text)`.as('plain'),
            sql<string | null>`case when i.id is not null then cast(${value.content} as text) end`.as(
              'content',
            ),
          ])
          .where('a.id', '=', value.accountId)
          .where('a.deleted_at', 'is', null),
      ),
  );
  const trim = (tx: Tx, inboxIds: string[]) => {
    const ofInboxes = db
      .selectFrom('failed_waits')
      .select(['id', sql<number>`row_number() over (partition by inbox_id order by id desc)`.as('place')])
      .where('inbox_id', 'in', inboxIds)
      .as('w');
    const tooMany = db.selectFrom(ofInboxes).select('w.id').where('w.place', '>', MAX_EXPLAINED_WAITS);
    // Those that another transaction is deleting are left to it: two that wait for each other could deadlock.
    const free = dialect.lockFreeRows(db.selectFrom('failed_waits').select('id').where('id', 'in', tooMany));
    return tx.deleteFrom('failed_waits').where('id', 'in', free).execute();
  };
  return {
    addExplained: (waits) =>
      transaction(async (tx) => {
        for (const one of waits) await insert(tx, { ...one });
        await trim(tx, [...new Set(waits.map((one) => one.inboxId))]);
      }),

    async findWait(accountId, inboxId, id, now) {
      const row = await db
        .selectFrom('failed_waits as w')
        .leftJoin('inboxes as i', (join) =>
          join.onRef('i.id', '=', 'w.inbox_id').on('i.expires_at', '>', now),
        )
        .select(['w.plain', 'w.content', 'i.id as live'])
        .where('w.id', '=', id)
        .where('w.inbox_id', '=', inboxId)
        .where('w.account_id', '=', accountId)
        .where('w.ended_at', '>', now - EXPLAINED_KEPT_MS)
        .executeTakeFirst();
      return row && { plain: row.plain, content: row.live === null ? null : row.content };
    },
  };
}

/** Removes what messages said from the explanations of inboxes that have ended. */
export async function removeContentOf(tx: Tx, inboxIds: readonly string[]): Promise<void> {
  await tx.updateTable('failed_waits').set({ content: null }).where('inbox_id', 'in', inboxIds).execute();
}

/** Removes up to `limit` rows of an account. @returns how many */
export async function removeFailedWaitsOf(tx: Tx, accountId: string, limit: number): Promise<number> {
  const of = tx.selectFrom('failed_waits').select('id').where('account_id', '=', accountId).limit(limit);
  return (await tx.deleteFrom('failed_waits').where('id', 'in', of).returning('id').execute()).length;
}
