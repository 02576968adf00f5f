import { setImmediate } from 'node:timers/promises';
import type { ReportedInbox, ReportedRefusal, RunReport } from '@mayfly/client/contract';
import { anyOf, type Db, EMPTY, join, type Sql, search, sql, type Tx } from '../database/sql.ts';
import { TOMBSTONE_MS } from '../inboxes/records.ts';
import { hasLabels } from '../inboxes/sql/finding.ts';
import { REFUSAL_KEPT_MS } from '../refusals/sql.ts';
import { type InboxWaits, waitsOf } from '../waits/sql.ts';

/** A report lists at most this many inboxes. Its totals include all inboxes. */
export const MAX_RUN_INBOXES = 1_000;
/** Inboxes per query. Between two queries, other searches can run. */
const PAGE = 1_000;
const NEWEST = 'inb`';

/** All times are in epoch milliseconds. */
export interface RunInbox extends Pick<ReportedInbox, 'id' | 'address' | 'labels' | 'state'> {
  createdAt: number;
  endedAt: number | null;
  /** Count of all messages, including deleted ones. */
  received: number;
  firstReceivedAt: number | null;
  waits: InboxWaits;
  /** Refusals for `address` from this inbox's creation until the run's next inbox for it. No fault rules. */
  refusals: { count: number; last: (Omit<ReportedRefusal, 'at'> & { at: number }) | null };
}

type Labels = Record<string, string>;
type Listed = Omit<RunInbox, 'refusals'>;

interface ListedRow extends Pick<Listed, 'id' | 'address' | 'state' | 'createdAt' | 'received'> {
  labels: string;
  firstReceivedAt: number;
  waits: string | null;
  endsAt: number;
}

interface Run {
  accountId: string;
  labels: Labels;
  now: number;
}

/** Inboxes that are live or expired in the last 24 hours. `freed` is 1 if the sweeper found it expired. */
const known = ({ accountId, labels, now }: Run, before: string): Sql =>
  sql`select i.id, i.address, i.labels, case when i.expires_at > ${now} and i.freed = 0 then 'live' else 'expired' end as state,
      i.created_at as "createdAt", i.expires_at as "endsAt", i.received_messages as received,
      i.first_received_at as "firstReceivedAt", w.waits
    from inboxes i left join inbox_waits w on w.inbox_seq = i.seq
    where ${hasLabels(accountId, labels)} and i.expires_at > ${now - TOMBSTONE_MS} and i.id < ${before}
    order by i.id desc limit ${PAGE}`;

/** Inboxes deleted within the last 24 hours whose labels contain `labels`, compared as JSON text. */
function deleted({ accountId, labels, now }: Run, before: string): Sql {
  const conditions = Object.entries(labels).map(([name, value]) => {
    const pair = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    return sql`and replace(labels, ${pair}, '') <> labels`;
  });
  return sql`select id, address, labels, 'deleted' as state, created_at as "createdAt", deleted_at as "endsAt",
      received_messages as received, first_received_at as "firstReceivedAt", waits
    from deleted_inboxes
    where account_id = ${accountId} and deleted_at > ${now - TOMBSTONE_MS} and id < ${before} ${join(conditions, ' ')}
    order by id desc limit ${PAGE}`;
}

async function* pagesOf(db: Db, run: Run): AsyncGenerator<Listed[]> {
  for (let before = NEWEST; ; await setImmediate()) {
    // One statement for both, because an inbox may be deleted between two statements.
    const rows = await db.all<ListedRow>(
      sql`select * from (${known(run, before)}) as known union all select * from (${deleted(run, before)}) as deleted
        order by id desc limit ${PAGE}`,
    );
    const page = rows.map(
      ({ endsAt, ...row }): Listed => ({
        ...row,
        labels: JSON.parse(row.labels),
        endedAt: row.state === 'live' ? null : Math.min(endsAt, run.now),
        firstReceivedAt: row.firstReceivedAt || null,
        waits: waitsOf(row.waits),
      }),
    );
    yield page.filter(({ labels }) =>
      Object.entries(run.labels).every(([name, value]) => labels[name] === value),
    );
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    before = last.id;
  }
}

interface RefusalAt {
  seq: number;
  at: number;
}

const keyOf = ({ address }: Listed): string => JSON.stringify(address);

/** @param inboxes newest first. Each counts refusals since its creation, and removes them from `left`. */
async function withRefusals(db: Db, inboxes: readonly Listed[], left: Map<string, RefusalAt[]>, now: number) {
  const unknown = [...new Set(inboxes.map(keyOf))].filter((key) => !left.has(key));
  const refusals = await db.all<RefusalAt & { address: string }>(
    sql`select seq, address, at from refusals
      where address ${anyOf(unknown)} and at > ${now - REFUSAL_KEPT_MS} and details not like '%"fault":%'
      order by at, seq`,
  );
  for (const [key, some] of Map.groupBy(refusals, ({ address }) => address)) left.set(key, some);
  const counted = inboxes.map((inbox) => {
    const ofAddress = left.get(keyOf(inbox)) ?? [];
    const count = ofAddress.filter(({ at }) => at >= inbox.createdAt).length;
    if (count > 0) left.set(keyOf(inbox), ofAddress.slice(0, -count));
    return { inbox, count, lastSeq: count > 0 ? ofAddress.at(-1)?.seq : undefined };
  });
  const lastSeqs = counted.flatMap(({ lastSeq }) => lastSeq ?? []);
  const details = await db.all<{ seq: number; at: number; details: string }>(
    sql`select seq, at, details from refusals where seq ${anyOf(lastSeqs)}`,
  );
  const shown = new Map(details.map((row) => [row.seq, toShown(row)]));
  return counted.map(({ inbox, count, lastSeq = 0 }) => ({
    ...inbox,
    refusals: { count, last: shown.get(lastSeq) ?? null },
  }));
}

function toShown({ at, details }: { at: number; details: string }): RunInbox['refusals']['last'] {
  const { reply, mailFrom, remoteAddress } = JSON.parse(details);
  return { at, reply, mailFrom, remoteAddress };
}

function addTo(totals: RunReport['totals'], { received, waits, refusals }: RunInbox): void {
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

const mayHaveProblem = ({ waits, refusals }: RunInbox): boolean =>
  waits.failed + waits.lists.empty + waits.streams.empty + refusals.count > 0;

export const reports = {
  /** Lists inboxes that were live in the last 24 hours. Above the limit, prefers those with problems. */
  listRun: search(async (db, accountId: string, labels: Labels, now: number) => {
    if (Object.keys(labels).length === 0) throw new RangeError('listRun needs at least one label.');
    const totals: RunReport['totals'] = {
      ...{ inboxes: 0, inboxesWithoutMail: 0, messages: 0, waitsSucceeded: 0, waitsFailed: 0, refusals: 0 },
      ...{ lists: { withMessages: 0, empty: 0 }, streams: { withMessages: 0, empty: 0 } },
    };
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
  }),

  /** Lists labels of live inboxes. Labels of the newest inboxes come first. @param name null for all names */
  listLabels: search(async (db, accountId: string, name: string | null, limit: number, now: number) => {
    const begin = JSON.stringify([name]).slice(0, -1);
    const rows = await db.all<{ pair: string; inboxes: number; newestAt: number }>(
      sql`select l.pair, count(*) as inboxes, max(i.created_at) as "newestAt"
          from inbox_labels l join inboxes i on i.seq = l.inbox_seq
          where l.account_id = ${accountId} and i.expires_at > ${now} and i.freed = 0
            ${name === null ? EMPTY : sql`and l.pair >= ${`${begin},`} and l.pair < ${`${begin}-`}`}
          group by l.pair order by "newestAt" desc, l.pair limit ${limit}`,
    );
    return rows.map(({ pair, ...counts }) => {
      const [label = '', value = ''] = JSON.parse(pair) as string[];
      return { name: label, value, ...counts };
    });
  }),
};

/** Copies the data that reports show about inboxes with labels. Call this before deleting the inboxes. */
export async function keepForReports(tx: Tx, inboxIds: readonly string[], now: number): Promise<void> {
  await tx.run(
    sql`insert into deleted_inboxes (id, account_id, address, labels, created_at, deleted_at, received_messages,
        first_received_at, waits)
      select i.id, i.account_id, i.address, i.labels, i.created_at, cast(${now} as bigint), i.received_messages,
        i.first_received_at, w.waits
      from inboxes i left join inbox_waits w on w.inbox_seq = i.seq
      where i.id ${anyOf(inboxIds)} and i.labels <> '{}'`,
  );
}
