import { sql } from 'kysely';
import type { MessageStore, NewestPage } from '../../contract/index.ts';
import type { Db, Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { bounded, toRow } from './rows.ts';

/** Finds the row number of an account and the place of its newest message. */
export function prepareSelectAccount(db: Db) {
  return prepare((value: Slots<{ accountId: string }>) =>
    db
      .selectFrom('accounts as a')
      .leftJoin('account_orders as o', 'o.account_seq', 'a.seq')
      .select((row) => ['a.seq', row.fn.coalesce('o.last', sql.lit(0)).as('last')])
      .where('a.id', '=', value.accountId),
  );
}

/** The page of a range without messages. */
export const emptyPage = (before: number): NewestPage => ({
  messages: [],
  place: before,
  time: 0,
  isComplete: true,
});

/** The queries that page through an account, newest first. */
export function createAccountPages({ db }: Engine): Pick<MessageStore, 'listNewest' | 'newestInAccount'> {
  const selectAccount = prepareSelectAccount(db);
  type Range = { account: number; after: number; before: number; limit: number; now: number };
  // The rows are bounded before the join, so that a page costs no more where many inboxes have ended and
  // the sweeper has not freed them yet.
  const selectNewest = prepare((value: Slots<Range>) =>
    db
      .selectFrom((all) =>
        all
          .selectFrom('messages')
          .select(['id', 'inbox_seq', 'received_at', 'source_seq', 'account_order', 'read_at', 'tags'])
          .where('account_seq', '=', value.account)
          .where('account_order', '>', value.after)
          .where('account_order', '<', value.before)
          .orderBy('account_order', 'desc')
          .limit(value.limit)
          .as('m'),
      )
      .leftJoin('inboxes as i', (join) =>
        join
          .onRef('i.seq', '=', 'm.inbox_seq')
          .on('i.expires_at', '>', value.now)
          .onRef('i.emptied_up_to', '<', 'm.received_at'),
      )
      .leftJoin('sources as s', (join) =>
        join.onRef('s.seq', '=', 'm.source_seq').on('i.seq', 'is not', null),
      )
      .select(['m.id', 'm.received_at', 'm.account_order', 'm.read_at', 'm.tags'])
      .select(['i.id as inbox_id', 's.size', 's.summary'])
      .orderBy('m.account_order', 'desc'),
  );

  return {
    async listNewest(accountId, range, now) {
      const { limit, ...bounds } = bounded(range);
      const [account] = await selectAccount(db, { accountId });
      if (!account) return emptyPage(bounds.before);
      const rows = await selectNewest(db, { account: account.seq, ...bounds, limit, now });
      return {
        messages: rows.flatMap(({ inbox_id, size, summary, ...row }) =>
          inbox_id === null || size === null || summary === null
            ? []
            : { ...toRow({ ...row, size, summary }), inboxId: inbox_id, accountOrder: row.account_order },
        ),
        place: rows.at(-1)?.account_order ?? bounds.before,
        time: rows.at(-1)?.received_at ?? 0,
        isComplete: rows.length < limit,
      };
    },

    async newestInAccount(accountId) {
      const [account] = await selectAccount(db, { accountId });
      return account?.last ?? 0;
    },
  };
}
