import { sql } from 'kysely';
import {
  type InboxRefusals,
  MAX_RUN_INBOXES,
  type ReportStore,
  type RunInbox,
} from '../../contract/reports.ts';
import { REFUSAL_KEPT_MS, TOMBSTONE_MS } from '../../contract/retention.ts';
import type { Db, Engine } from '../engine.ts';
import { inboxesByLabels } from '../inboxes/live-inboxes.ts';
import type { Tables } from '../tables/index.ts';
import { waitsOf } from './waits.ts';

/** Addresses that one statement names; SQLite allows 32,766 parameters, and PostgreSQL plans each number anew. */
const ADDRESSES_PER_STATEMENT = 200;

type Labels = Record<string, string>;
/** A refusal without its details. */
interface RefusalAt {
  seq: number;
  at: number;
}
type Listed = Omit<RunInbox, 'refusals'>;

type ListedRow = Omit<Tables['deleted_inboxes'], 'account_id' | 'deleted_at'>;

const toListed = (row: ListedRow, state: RunInbox['state'], endedAt: number | null): Listed => ({
  ...{ id: row.id, address: row.address, labels: JSON.parse(row.labels), createdAt: row.created_at },
  ...{ state, endedAt, received: row.received_messages, firstReceivedAt: row.first_received_at || null },
  waits: waitsOf(row.waits),
});

/** Live inboxes, and those that expired within the last 24 hours. */
async function selectKnown(db: Db, accountId: string, labels: Labels, now: number): Promise<Listed[]> {
  const rows = await inboxesByLabels(db, accountId, labels)
    .leftJoin('inbox_waits as w', 'w.inbox_seq', 'i.seq')
    .where('i.expires_at', '>', now - TOMBSTONE_MS)
    .select(['i.id', 'i.address', 'i.labels', 'i.created_at', 'i.expires_at', 'i.freed'])
    .select(['i.received_messages', 'i.first_received_at', 'w.waits'])
    .limit(MAX_RUN_INBOXES + 1)
    .execute();
  return rows.map((row) => {
    // A swept inbox has ended, also when the clock runs back before its end.
    const isLive = row.expires_at > now && row.freed === 0;
    return isLive ? toListed(row, 'live', null) : toListed(row, 'expired', Math.min(row.expires_at, now));
  });
}

/** Inboxes that were deleted within the last 24 hours. */
async function selectDeleted(db: Db, accountId: string, labels: Labels, now: number): Promise<Listed[]> {
  let query = db
    .selectFrom('deleted_inboxes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('deleted_at', '>', now - TOMBSTONE_MS);
  // The labels of a row are one text; most rows are left out by it, and exactly below.
  for (const [name, value] of Object.entries(labels)) {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    query = query.where(({ eb, ref }) =>
      eb(sql`replace(${ref('labels')}, ${pair}, '')`, '!=', ref('labels')),
    );
  }
  const rows = await query
    .orderBy('id', 'desc')
    .limit(MAX_RUN_INBOXES + 1)
    .execute();
  return rows
    .map((row) => toListed(row, 'deleted', row.deleted_at))
    .filter((inbox) => Object.entries(labels).every(([name, value]) => inbox.labels[name] === value));
}

/** Refusals by the JSON text of their address, oldest first, without those that the inbox asked for by faults. */
async function selectRefusals(db: Db, addresses: string[], now: number): Promise<Map<string, RefusalAt[]>> {
  const found = new Map<string, RefusalAt[]>();
  for (let from = 0; from < addresses.length; from += ADDRESSES_PER_STATEMENT) {
    const rows = await db
      .selectFrom('refusals')
      .select(['seq', 'address', 'at'])
      .where('address', 'in', addresses.slice(from, from + ADDRESSES_PER_STATEMENT))
      .where('at', '>', now - REFUSAL_KEPT_MS)
      .where('details', 'not like', '%"fault":%')
      .orderBy('at')
      .orderBy('seq')
      .execute();
    for (const { seq, address, at } of rows) found.set(address, [...(found.get(address) ?? []), { seq, at }]);
  }
  return found;
}

/** Adds the refusals of each inbox. Of inboxes with one address, each has those since its creation. */
async function withRefusals(db: Db, inboxes: readonly Listed[], now: number): Promise<RunInbox[]> {
  const keyOf = ({ address }: Listed) => JSON.stringify(address);
  const refusals = await selectRefusals(db, [...new Set(inboxes.map(keyOf))], now);
  const filled: RunInbox[] = [];
  // Newest first, so an earlier inbox of the same address is left with what came before.
  for (const inbox of inboxes) {
    const ofAddress = refusals.get(keyOf(inbox)) ?? [];
    const own = ofAddress.filter(({ at }) => at >= inbox.createdAt);
    refusals.set(keyOf(inbox), ofAddress.slice(0, ofAddress.length - own.length));
    const last = own.at(-1);
    filled.push({ ...inbox, refusals: { count: own.length, last: last ? await detailsOf(db, last) : null } });
  }
  return filled;
}

async function detailsOf(db: Db, { seq, at }: RefusalAt): Promise<InboxRefusals['last']> {
  const row = await db.selectFrom('refusals').select('details').where('seq', '=', seq).executeTakeFirst();
  if (!row) return null;
  const { reply, mailFrom, remoteAddress } = JSON.parse(row.details);
  return { at, reply, mailFrom, remoteAddress };
}

/** `ReportStore.listRun`. */
export function createListRun({ db }: Engine): ReportStore['listRun'] {
  return async (accountId, labels, now) => {
    if (Object.keys(labels).length === 0) throw new RangeError('listRun needs at least one label.');
    const known = await selectKnown(db, accountId, labels, now);
    // Read after those: an inbox that is deleted between the two queries is in both.
    const deleted = await selectDeleted(db, accountId, labels, now);
    const isDeleted = new Set(deleted.map(({ id }) => id));
    const all = [...deleted, ...known.filter(({ id }) => !isDeleted.has(id))];
    all.sort((a, b) => (a.id < b.id ? 1 : -1));
    const inboxes = await withRefusals(db, all.slice(0, MAX_RUN_INBOXES), now);
    return { inboxes, hasMore: all.length > MAX_RUN_INBOXES };
  };
}
