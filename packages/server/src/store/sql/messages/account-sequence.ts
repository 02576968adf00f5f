import type { MessageStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { prepareSelectAccount } from './account-pages.ts';
import { messagesAfter } from './reads.ts';
import { MESSAGE_COLUMNS, type SelectedMessage, toMessage } from './rows.ts';

/**
 * How far apart the times of two messages may be when their order in the account says otherwise: the
 * clocks of several nodes, and messages of one inbox within one millisecond.
 */
const MAX_DISORDER_MS = 60_000;

/** The queries that follow an inbox or an account, oldest first. */
export function createFollowing({ db }: Engine): Pick<MessageStore, 'listAfter' | 'listByAccount'> {
  type Range = { after: number; limit: number; now: number };
  const selectOfInbox = prepare((value: Slots<Range & { inboxId: string }>) =>
    messagesAfter(db, value).select(MESSAGE_COLUMNS).orderBy('m.received_at').limit(value.limit),
  );
  const selectAccount = prepareSelectAccount(db);
  const selectOfAccount = prepare((value: Slots<Range & { account: number }>) =>
    db
      .selectFrom('messages as m')
      .innerJoin('inboxes as i', 'i.seq', 'm.inbox_seq')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(MESSAGE_COLUMNS)
      .select(['i.id as inbox_id', 'm.account_order'])
      .where('m.account_seq', '=', value.account)
      .where('m.account_order', '>', value.after)
      .where('i.expires_at', '>', value.now)
      .whereRef('m.received_at', '>', 'i.emptied_up_to')
      .orderBy('m.account_order')
      .limit(value.limit),
  );

  return {
    async listAfter(inboxId, { after, limit }, now) {
      const rows: SelectedMessage[] = await selectOfInbox(db, { inboxId, after, limit, now });
      return rows.map((row) => toMessage(inboxId, row));
    },

    async listByAccount(accountId, { after, limit }, now) {
      const [account] = await selectAccount(db, { accountId });
      if (!account) return [];
      const rows = await selectOfAccount(db, { account: account.seq, after, limit, now });
      return rows.map((row) => ({ ...toMessage(row.inbox_id, row), accountOrder: row.account_order }));
    },
  };
}

/** The query for the place of a time in an account's order. */
export function createPlaces({ db }: Engine): Pick<MessageStore, 'placeInAccount'> {
  const selectAccount = prepareSelectAccount(db);
  const selectLastUpTo = prepare((value: Slots<{ account: number; after: number; upTo: number }>) =>
    db
      .selectFrom('messages')
      .select(['account_order', 'received_at'])
      .where('account_seq', '=', value.account)
      .where('account_order', '>', value.after)
      .where('account_order', '<=', value.upTo)
      .orderBy('account_order', 'desc')
      .limit(1),
  );
  const selectFirstAfter = prepare((value: Slots<{ account: number; place: number; time: number }>) =>
    db
      .selectFrom('messages')
      .select('account_order')
      .where('account_seq', '=', value.account)
      .where('account_order', '>', value.place)
      .where('received_at', '>', value.time)
      .orderBy('account_order')
      .limit(1),
  );

  /**
   * A place up to which no message is newer than `time`, found by bisection. Times follow the order of the
   * account except for {@link MAX_DISORDER_MS}, so all messages before one that is older by that much are
   * older than `time`.
   */
  async function placeUpTo(account: number, newest: number, time: number): Promise<number> {
    let place = 0;
    for (let end = newest; place < end; ) {
      const upTo = place + Math.ceil((end - place) / 2);
      const [last] = await selectLastUpTo(db, { account, after: place, upTo });
      if (!last || last.received_at <= time - MAX_DISORDER_MS) place = upTo;
      else end = last.account_order - 1;
    }
    return place;
  }

  return {
    async placeInAccount(accountId, time) {
      // The newest first, so that whatever is committed meanwhile comes after the result.
      const [account] = await selectAccount(db, { accountId });
      if (!account) return 0;
      const { seq, last: newest } = account;
      const place = await placeUpTo(seq, newest, time);
      const [first] = await selectFirstAfter(db, { account: seq, place, time });
      return first ? first.account_order - 1 : newest;
    },
  };
}
