import type { MessageStore, NewMail } from '../../contract/index.ts';
import type { Db } from '../dialect.ts';
import { prepare, type Runner, type Slots } from '../prepared.ts';
import { prepareSelectAccount } from './account-pages.ts';
import { laterThanEmptied, type SelectedMessage, toMessage } from './rows.ts';

/**
 * How far apart the times of two messages may be when their order in the account says otherwise: the
 * clocks of several nodes, and messages of one inbox within one millisecond.
 */
const MAX_DISORDER_MS = 60_000;

/** A message's place in its account. */
export interface AccountPlace {
  /** The account's row. */
  account: number;
  accountOrder: number;
}

/** Gives out the places of a batch: the next of an account at each call. */
export type Numbering = (accountId: string) => AccountPlace;

/**
 * Takes the places that a batch's messages have in the order of their accounts. The account's row is
 * locked from here to the end of the transaction, so places become visible in their order, whoever
 * else commits; a place that is not used in the end leaves a gap and nothing else. One statement an
 * account, and accounts in the order of their ids, before any inbox: no two transactions wait for each
 * other.
 */
export function createNumbering(db: Db): (on: Runner, mails: NewMail[]) => Promise<Numbering> {
  const take = prepare((value: Slots<{ accountId: string; count: number }>) =>
    db
      .updateTable('accounts')
      .set((row) => ({ message_order: row('message_order', '+', value.count) }))
      .where('id', '=', value.accountId)
      .returning(['seq', 'message_order']),
  );
  return async (on, mails) => {
    const counts = new Map<string, number>();
    for (const { recipients } of mails) {
      for (const { accountId } of recipients) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    }
    const last = new Map<string, AccountPlace>();
    for (const accountId of [...counts.keys()].sort()) {
      const count = counts.get(accountId) ?? 0;
      const [row] = await take(on, { accountId, count });
      if (row) last.set(accountId, { account: row.seq, accountOrder: row.message_order - count });
    }
    return (accountId) => {
      const place = last.get(accountId);
      if (!place) throw new Error('an inbox has no account');
      place.accountOrder++;
      return place;
    };
  };
}

/** The queries that follow an inbox or an account, oldest first. */
export function createFollowing(
  db: Db,
): Pick<MessageStore, 'listAfter' | 'listByAccount' | 'placeInAccount'> {
  type Range = { after: number; limit: number; now: number };
  const summaries = () =>
    db
      .selectFrom('messages as m')
      .innerJoin('inboxes as i', 'i.seq', 'm.inbox_seq')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.id', 'm.received_at', 'm.rcpt_to', 's.size', 's.parse_error', 's.summary']);

  const selectOfInbox = prepare((value: Slots<Range & { inboxId: string }>) =>
    summaries()
      .where('i.id', '=', value.inboxId)
      .where('i.expires_at', '>', value.now)
      .where('m.received_at', '>', laterThanEmptied(value.after))
      .orderBy('m.received_at')
      .limit(value.limit),
  );
  const selectAccount = prepareSelectAccount(db);
  const selectOfAccount = prepare((value: Slots<Range & { account: number }>) =>
    summaries()
      .select(['i.id as inbox_id', 'm.account_order'])
      .where('m.account_seq', '=', value.account)
      .where('m.account_order', '>', value.after)
      .where('i.expires_at', '>', value.now)
      .whereRef('m.received_at', '>', 'i.emptied_up_to')
      .orderBy('m.account_order')
      .limit(value.limit),
  );
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
   * account but for {@link MAX_DISORDER_MS}, so what lies before a message that is older by so much is
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

    async placeInAccount(accountId, time) {
      // The newest first, so that what is committed meanwhile lies behind the answer.
      const [account] = await selectAccount(db, { accountId });
      if (!account) return 0;
      const { seq, message_order: newest } = account;
      const place = await placeUpTo(seq, newest, time);
      const [first] = await selectFirstAfter(db, { account: seq, place, time });
      return first ? first.account_order - 1 : newest;
    },
  };
}
