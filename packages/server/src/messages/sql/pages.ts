import { constant, type Db, type Range, read, sql, type Unread, unreadOf } from '../../database/sql.ts';
import type { MessageRow, NewestPage, OpenRange } from '../records.ts';
import {
  ASCENDING,
  bounded,
  LISTED_COLUMNS,
  type ListedMessage,
  MESSAGE_COLUMNS,
  ofLiveInbox,
  type StoredMessage,
  toMessage,
  WITH_READING,
} from './rows.ts';

const timeOf = ({ receivedAt }: { receivedAt: number }): number => receivedAt;
const orderOf = ({ accountOrder }: { accountOrder: number }): number => accountOrder;

export const placesOf = (db: Db, accountId: string): Promise<{ seq: number; last: number } | undefined> =>
  db.first(
    sql`select a.seq, o.last from accounts a join account_orders o on o.account_seq = a.seq where a.id = ${accountId}`,
  );

export const emptyPage = (before: number): NewestPage => ({
  messages: [],
  place: before,
  time: 0,
  isComplete: true,
});

/** How far `receivedAt` may decrease from one `accountOrder` to a higher one, because the clocks of nodes differ. */
const MAX_DISORDER_MS = 60_000;

/** Binary search by `time - MAX_DISORDER_MS`. @returns an `accountOrder` up to which no message is newer than `time` */
async function placeUpTo(db: Db, account: number, newest: number, time: number): Promise<number> {
  let place = 0;
  for (let end = newest; place < end; ) {
    const upTo = place + Math.ceil((end - place) / 2);
    const last = await db.first<{ place: number; receivedAt: number }>(
      sql`select account_order as place, received_at as "receivedAt" from messages
        where account_seq = ${account} and account_order > ${place} and account_order <= ${upTo}
        order by account_order desc limit 1`,
    );
    if (!last || last.receivedAt <= time - MAX_DISORDER_MS) place = upTo;
    else end = last.place - 1;
  }
  return place;
}

const MAX_RECIPIENT_ROWS = 10_000;
const RECIPIENTS = constant("m.received_at || ' ' || m.rcpt_to as line");

export const pages = {
  listRows: read(async (db, inboxId: string, range: Range, now: number): Promise<MessageRow[] | Unread> => {
    const rows = await db.all<ListedMessage>(ofLiveInbox(LISTED_COLUMNS, inboxId, bounded(range), now));
    const unread = unreadOf(rows, timeOf);
    return unread ?? rows.map((row) => ({ ...row, inboxId }));
  }),

  listAfter: read(async (db, inboxId: string, range: OpenRange, now: number) => {
    const all = bounded({ before: Number.POSITIVE_INFINITY, ...range });
    const rows = await db.all<StoredMessage>(ofLiveInbox(MESSAGE_COLUMNS, inboxId, all, now, ASCENDING));
    const unread = unreadOf(rows, timeOf);
    return unread ?? rows.map((row) => toMessage(inboxId, row));
  }),

  listByAccount: read(async (db, accountId: string, range: OpenRange, now: number) => {
    const { after, before, limit } = bounded({ before: Number.POSITIVE_INFINITY, ...range });
    const account = await placesOf(db, accountId);
    if (!account) return [];
    const rows = await db.all<StoredMessage & { inboxId: string; accountOrder: number }>(
      sql`select ${MESSAGE_COLUMNS}, i.id as "inboxId", m.account_order as "accountOrder"
          from messages m join inboxes i on i.seq = m.inbox_seq ${WITH_READING}
          where m.account_seq = ${account.seq} and m.account_order > ${after} and m.account_order < ${before}
            and i.expires_at > ${now} and m.received_at > i.emptied_up_to
          order by m.account_order limit ${limit}`,
    );
    const unread = unreadOf(rows, orderOf);
    return unread ?? rows.map((row) => ({ ...toMessage(row.inboxId, row), accountOrder: row.accountOrder }));
  }),

  /** Messages with `after < accountOrder < before`, newest first. Large accounts take no longer. */
  listNewest: read(async (db, accountId: string, range: Range, now: number): Promise<NewestPage | Unread> => {
    const { after, before, limit } = bounded(range);
    const account = await placesOf(db, accountId);
    if (!account) return emptyPage(before);
    // Limit the rows before the join, so that messages of ended inboxes do not make a page more expensive.
    const rows = await db.all<ListedMessage & { inboxId: string; accountOrder: number }>(
      sql`select ${LISTED_COLUMNS}, m.account_order as "accountOrder", i.id as "inboxId"
        from (select id, inbox_seq, received_at, source_seq, account_order, read_at, tags, rcpt_to from messages
          where account_seq = ${account.seq} and account_order > ${after} and account_order < ${before}
          order by account_order desc limit ${limit}) m
        left join inboxes i on i.seq = m.inbox_seq and i.expires_at > ${now} and i.emptied_up_to < m.received_at
        left join readings r on r.source_seq = m.source_seq and i.seq is not null
        order by m.account_order desc`,
    );
    const last = rows.at(-1);
    const live = rows.filter(({ inboxId }) => inboxId !== null);
    const newest = rows[0]?.accountOrder ?? 0;
    const unread = unreadOf(live, () => newest);
    if (unread) return unread;
    return {
      messages: live,
      place: last?.accountOrder ?? before,
      time: last?.receivedAt ?? 0,
      isComplete: rows.length < limit,
    };
  }),

  /** One line per message, newest first: `receivedAt`, a space, and the RCPT addresses as a JSON array. */
  recipients: read(async (db, inboxId: string, after: number, now: number): Promise<string> => {
    // One string, because it takes less time to search it than to return a row for each message.
    const all = bounded({ after, before: Number.POSITIVE_INFINITY, limit: MAX_RECIPIENT_ROWS });
    const row = await db.first<{ lines: string | null }>(
      sql`select string_agg(line, '\n') as lines from (${ofLiveInbox(RECIPIENTS, inboxId, all, now)}) newest`,
    );
    return row?.lines ?? '';
  }),

  /** The largest committed `accountOrder`, even if its message was deleted; 0 before the first message. */
  newestInAccount: read(async (db, accountId: string) => (await placesOf(db, accountId))?.last ?? 0),

  /** Returns an `accountOrder`. All messages with `receivedAt > time` and all later commits come after it. */
  placeInAccount: read(async (db, accountId: string, time: number): Promise<number> => {
    // Read the largest `accountOrder` first, so that later commits come after the result.
    const account = await placesOf(db, accountId);
    if (!account) return 0;
    const { seq, last: newest } = account;
    const place = await placeUpTo(db, seq, newest, time);
    const first = await db.first<{ place: number }>(
      sql`select account_order as place from messages
        where account_seq = ${seq} and account_order > ${place} and received_at > ${time}
        order by account_order limit 1`,
    );
    return first ? first.place - 1 : newest;
  }),
};
