import type { HeldCounts, ReportedInbox, ReportedWait } from '@mayfly/client/contract';
import { DAY_MS } from '../clock.ts';
import { DELETED } from '../database/schema.ts';
import {
  anyOf,
  eachOf,
  FOR_UPDATE,
  FOR_UPDATE_SKIP_LOCKED,
  perEngine,
  read,
  sql,
  type Tx,
  write,
} from '../database/sql.ts';

/** A report lists at most this many failed waits per inbox: the first, which often cause the later ones. */
export const MAX_FAILED_WAITS = 10;
const MAX_EXPLAINED_WAITS = 20;

export const EXPLAINED_KEPT_MS = DAY_MS;

/** A wait that failed at `at`. Has no message content, because it is kept longer than the messages. */
export type FailedWait = Omit<ReportedWait, 'endedAt'> & { at: number };

export interface ExplainedWait {
  id: string;
  accountId: string;
  inboxId: string;
  endedAt: number;
  /** JSON without contents of messages. */
  plain: string;
  /** JSON with message contents, which replaces parts of `plain` as long as the inbox is live. */
  content: string;
}

/** `failed`: null after success. `continues`: a client repeated this wait; its earlier failure is removed. */
export type EndedWait = { accountId: string; inboxId: string } & (
  | { kind: 'wait'; failed: FailedWait | null; continues?: Pick<FailedWait, 'match' | 'count'> | undefined }
  | { kind: 'list' | 'stream'; hadMessages: boolean }
);

export type InboxWaits = Omit<ReportedInbox['waits'], 'failures'> & { failures: FailedWait[] };

const NONE: HeldCounts = { withMessages: 0, empty: 0 };
const NO_WAITS: InboxWaits = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };

export const waitsOf = (stored: string | null): InboxWaits =>
  stored === null ? NO_WAITS : JSON.parse(stored);

const keyOf = ({ match, count }: Pick<FailedWait, 'match' | 'count'>): string =>
  JSON.stringify([match, count]);

function withMore(stored: string | null, ended: readonly EndedWait[]): string {
  const { lists, streams, ...before } = waitsOf(stored);
  let { succeeded, failed } = before;
  const failures = [...before.failures];
  for (const one of ended) {
    if (one.kind !== 'wait') continue;
    const { continues } = one;
    if (continues && failed > 0) {
      failed--;
      const at = failures.findLastIndex((other) => keyOf(other) === keyOf(continues));
      if (at >= 0) failures.splice(at, 1);
    }
    if (one.failed) {
      failed++;
      failures.push(one.failed);
    } else succeeded++;
  }
  const heldOf = (kind: 'list' | 'stream', { withMessages, empty }: HeldCounts): HeldCounts => {
    const more = ended.flatMap((one) => (one.kind === kind ? one.hadMessages : []));
    const found = more.filter(Boolean).length;
    return { withMessages: withMessages + found, empty: empty + more.length - found };
  };
  return JSON.stringify({
    ...{ succeeded, failed, lists: heldOf('list', lists), streams: heldOf('stream', streams) },
    failures: failures.slice(0, MAX_FAILED_WAITS),
  } satisfies InboxWaits);
}

async function addToInbox(tx: Tx, inboxId: string, ended: readonly EndedWait[]): Promise<boolean> {
  // Lock the inbox: a deletion at the same time copies the stored waits for reports, and could miss `ended`.
  const inbox = await tx.first<{ seq: number }>(
    sql`select seq from inboxes where id = ${inboxId} and expires_at > ${DELETED} ${FOR_UPDATE}`,
  );
  if (!inbox) return false;
  const stored = await tx.first<{ waits: string }>(
    sql`select waits from inbox_waits where inbox_seq = ${inbox.seq}`,
  );
  await tx.run(
    sql`insert into inbox_waits (inbox_seq, waits) values (${inbox.seq}, ${withMore(stored?.waits ?? null, ended)})
      on conflict (inbox_seq) do update set waits = excluded.waits`,
  );
  return true;
}

async function addToDeleted(tx: Tx, inboxId: string, ended: readonly EndedWait[]): Promise<void> {
  const stored = await tx.first<{ waits: string | null }>(
    sql`select waits from deleted_inboxes where id = ${inboxId} ${FOR_UPDATE}`,
  );
  if (stored)
    await tx.run(
      sql`update deleted_inboxes set waits = ${withMore(stored.waits, ended)} where id = ${inboxId}`,
    );
}

export const waits = {
  add: write({ keepsInboxes: true }, async (tx, ended: EndedWait[]) => {
    // Lock inboxes in the same order as the transactions that store mail, to prevent deadlocks.
    const byInbox = [...Map.groupBy(ended, ({ inboxId }) => inboxId)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [inboxId, some] of byInbox)
      if (!(await addToInbox(tx, inboxId, some))) await addToDeleted(tx, inboxId, some);
  }),

  /** Keeps MAX_EXPLAINED_WAITS per inbox: the newest. Locks accounts, so that their deletion misses no row. */
  addExplained: write({ keepsInboxes: true }, async (tx, explained: ExplainedWait[]) => {
    await tx.run(
      sql`insert into failed_waits (id, account_id, inbox_id, ended_at, plain, content)
          select r.value ->> 'id', a.id, r.value ->> 'inboxId', cast(r.value ->> 'endedAt' as bigint),
            r.value ->> 'plain', case when i.id is not null then r.value ->> 'content' end
          from ${eachOf(explained)} as r
            join accounts a on a.id = r.value ->> 'accountId' and a.deleted_at is null
            left join inboxes i on i.id = r.value ->> 'inboxId' and i.expires_at > ${DELETED} and i.freed = 0
          ${perEngine({ sqlite: '', postgres: 'for share of a' })}`,
    );
    // Skips rows that another transaction is deleting, to prevent deadlocks.
    await tx.run(
      sql`delete from failed_waits where id in (select id from failed_waits where id in (
            select id from (select id, row_number() over (partition by inbox_id order by id desc) as place
              from failed_waits where inbox_id ${anyOf(explained.map(({ inboxId }) => inboxId))}) as w
            where place > ${MAX_EXPLAINED_WAITS}) ${FOR_UPDATE_SKIP_LOCKED})`,
    );
  }),

  /** Finds an explanation. `content` is null if the inbox was deleted or has expired. */
  find: read((db, accountId: string, inboxId: string, waitId: string, now: number) =>
    db.first<{ plain: string; content: string | null }>(
      sql`select w.plain, case when i.id is not null then w.content end as content
          from failed_waits w left join inboxes i on i.id = w.inbox_id and i.expires_at > ${now}
          where w.id = ${waitId} and w.inbox_id = ${inboxId} and w.account_id = ${accountId}
            and w.ended_at > ${now - EXPLAINED_KEPT_MS}`,
    ),
  ),
};

export async function removeContentOf(tx: Tx, inboxIds: readonly string[]): Promise<void> {
  await tx.run(sql`update failed_waits set content = null where inbox_id ${anyOf(inboxIds)}`);
}
