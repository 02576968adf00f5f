import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { REFUSAL_KEPT_MS } from '../../../refusals/sql.ts';
import {
  type InboxRefusals,
  MAX_RUN_INBOXES,
  type ReportStore,
  type RunInbox,
  type RunTotals,
} from '../../contract/reports.ts';
import { TOMBSTONE_MS } from '../../contract/retention.ts';
import type { Db, Engine } from '../engine.ts';
import { inboxesByLabels } from '../inboxes/live-inboxes.ts';
import type { Tables } from '../tables/index.ts';
import { waitsOf } from './waits.ts';

/** Inboxes that are read at a time; between two pages other searches have their turn. */
const PAGE = 1_000;
/** Behind all ids of inboxes. */
const NEWEST = 'inb`';
/** Addresses that one statement names; SQLite allows 32,766 parameters, and PostgreSQL plans each number anew. */
const ADDRESSES_PER_STATEMENT = 200;

type Labels = Record<string, string>;
/** A refusal without its details. */
interface RefusalAt {
  seq: number;
  at: number;
}
type Listed = Omit<RunInbox, 'refusals'>;
/** Inboxes of a run with an id before another. */
interface Page {
  accountId: string;
  labels: Labels;
  now: number;
  before: string;
}

type ListedRow = Omit<Tables['deleted_inboxes'], 'account_id' | 'deleted_at'>;

const toListed = (row: ListedRow, state: RunInbox['state'], endedAt: number | null): Listed => ({
  ...{ id: row.id, address: row.address, labels: JSON.parse(row.labels), createdAt: row.created_at },
  ...{ state, endedAt, received: row.received_messages, firstReceivedAt: row.first_received_at || null },
  waits: waitsOf(row.waits),
});

/** Live inboxes, and those that expired within the last 24 hours. */
async function selectKnown(db: Db, { accountId, labels, now, before }: Page): Promise<Listed[]> {
  const rows = await inboxesByLabels(db, accountId, labels)
    .leftJoin('inbox_waits as w', 'w.inbox_seq', 'i.seq')
    .where('i.expires_at', '>', now - TOMBSTONE_MS)
    .where('i.id', '<', before)
    .select(['i.id', 'i.address', 'i.labels', 'i.created_at', 'i.expires_at', 'i.freed'])
    .select(['i.received_messages', 'i.first_received_at', 'w.waits'])
    .limit(PAGE)
    .execute();
  return rows.map((row) => {
    // A swept inbox has ended, also when the clock runs back before its end.
    const isLive = row.expires_at > now && row.freed === 0;
    return isLive ? toListed(row, 'live', null) : toListed(row, 'expired', Math.min(row.expires_at, now));
  });
}

/** Inboxes that were deleted within the last 24 hours, and have the labels or a text that contains theirs. */
async function selectDeleted(db: Db, { accountId, labels, now, before }: Page): Promise<Listed[]> {
  let query = db
    .selectFrom('deleted_inboxes')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('deleted_at', '>', now - TOMBSTONE_MS)
    .where('id', '<', before);
  for (const [name, value] of Object.entries(labels)) {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    query = query.where(({ eb, ref }) =>
      eb(sql`replace(${ref('labels')}, ${pair}, '')`, '!=', ref('labels')),
    );
  }
  const rows = await query.orderBy('id', 'desc').limit(PAGE).execute();
  return rows.map((row) => toListed(row, 'deleted', row.deleted_at));
}

/** All inboxes of a run, newest first, page by page. */
async function* pagesOf(db: Db, run: Omit<Page, 'before'>): AsyncGenerator<Listed[]> {
  for (let before = NEWEST; ; await setImmediate()) {
    const known = await selectKnown(db, { ...run, before });
    // Read after those: an inbox that is deleted between the two queries is in both.
    const deleted = await selectDeleted(db, { ...run, before });
    const isDeleted = new Set(deleted.map(({ id }) => id));
    const all = [...deleted, ...known.filter(({ id }) => !isDeleted.has(id))];
    const page = all.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, PAGE);
    yield page.filter((inbox) =>
      Object.entries(run.labels).every(([name, value]) => inbox.labels[name] === value),
    );
    const last = page.at(-1);
    if (!last || (known.length < PAGE && deleted.length < PAGE && all.length <= PAGE)) return;
    before = last.id;
  }
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

/**
 * Adds the refusals of each inbox. Of inboxes with one address, each has those since its creation.
 * @param left of refused addresses, what newer inboxes have left; later pages continue with it
 */
async function withRefusals(
  db: Db,
  inboxes: readonly Listed[],
  left: Map<string, RefusalAt[]>,
  now: number,
): Promise<RunInbox[]> {
  const keyOf = ({ address }: Listed) => JSON.stringify(address);
  const unknown = [...new Set(inboxes.map(keyOf))].filter((key) => !left.has(key));
  for (const [key, refusals] of await selectRefusals(db, unknown, now)) left.set(key, refusals);
  const filled: RunInbox[] = [];
  for (const inbox of inboxes) {
    const ofAddress = left.get(keyOf(inbox)) ?? [];
    const own = ofAddress.filter(({ at }) => at >= inbox.createdAt);
    if (own.length > 0) left.set(keyOf(inbox), ofAddress.slice(0, ofAddress.length - own.length));
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

const noTotals = (): RunTotals => ({
  ...{ inboxes: 0, inboxesWithoutMail: 0, messages: 0, waitsSucceeded: 0, waitsFailed: 0, refusals: 0 },
  ...{ lists: { withMessages: 0, empty: 0 }, streams: { withMessages: 0, empty: 0 } },
});

function addTo(totals: RunTotals, { received, waits, refusals }: RunInbox): void {
  totals.inboxes += 1;
  totals.inboxesWithoutMail += received === 0 ? 1 : 0;
  totals.messages += received;
  totals.waitsSucceeded += waits.succeeded;
  totals.waitsFailed += waits.failed;
  totals.refusals += refusals.count;
  for (const kind of ['lists', 'streams'] as const) {
    totals[kind].withMessages += waits[kind].withMessages;
    totals[kind].empty += waits[kind].empty;
  }
}

/** True where a report may have something to say about the inbox. */
const mayHaveProblem = ({ waits, refusals }: RunInbox): boolean =>
  waits.failed + waits.lists.empty + waits.streams.empty + refusals.count > 0;

/** `ReportStore.listRun`. */
export function createListRun({ db }: Engine): ReportStore['listRun'] {
  return async (accountId, labels, now) => {
    if (Object.keys(labels).length === 0) throw new RangeError('listRun needs at least one label.');
    const totals = noTotals();
    const troubled: RunInbox[] = [];
    const others: RunInbox[] = [];
    const left = new Map<string, RefusalAt[]>();
    for await (const page of pagesOf(db, { accountId, labels, now })) {
      for (const inbox of await withRefusals(db, page, left, now)) {
        addTo(totals, inbox);
        const shown = mayHaveProblem(inbox) ? troubled : others;
        if (shown.length < MAX_RUN_INBOXES) shown.push(inbox);
      }
    }
    const inboxes = [...troubled, ...others.slice(0, MAX_RUN_INBOXES - troubled.length)];
    return { totals, inboxes: inboxes.sort((a, b) => (a.id < b.id ? 1 : -1)) };
  };
}

/** `ReportStore.listLabels`. */
export function createListLabels({ db }: Engine): ReportStore['listLabels'] {
  return async (accountId, name, limit, now) => {
    let query = db
      .selectFrom('inbox_labels as l')
      .innerJoin('inboxes as i', 'i.seq', 'l.inbox_seq')
      .select((row) => [
        'l.pair',
        row.fn.countAll<number>().as('inboxes'),
        row.fn.max('i.created_at').as('newest'),
      ])
      .where('l.account_id', '=', accountId)
      .where('i.expires_at', '>', now)
      .where('i.freed', '=', 0);
    if (name !== null) {
      const begin = JSON.stringify([name]).slice(0, -1);
      query = query.where('l.pair', '>=', `${begin},`).where('l.pair', '<', `${begin}-`);
    }
    const rows = await query
      .groupBy('l.pair')
      .orderBy('newest', 'desc')
      .orderBy('l.pair')
      .limit(limit)
      .execute();
    return rows.map(({ pair, inboxes, newest }) => {
      const [label = '', value = ''] = JSON.parse(pair) as string[];
      return { name: label, value, inboxes: Number(inboxes), newestAt: Number(newest) };
    });
  };
}
