import { DAY_MS } from '../clock.ts';
import { read, type Tx, write } from '../database/operations.ts';
import { DELETED } from '../database/schema.ts';
import { anyOf, eachOf, FOR_UPDATE, FOR_UPDATE_SKIP_LOCKED, sql } from '../database/sql.ts';

/** Failed waits that are kept of an inbox: the first ones, because the later ones often follow from them. */
export const MAX_FAILED_WAITS = 10;
/** Failed waits of an inbox whose explanations are kept, the newest: more are those of a loop. */
const MAX_EXPLAINED_WAITS = 20;

/** How long the explanation of a failed wait is stored: as long as what is known of an inbox that has ended. */
export const EXPLAINED_KEPT_MS = DAY_MS;

/** A wait that failed. It has nothing of a message's content, so that it can outlive the messages. */
export interface FailedWait {
  /** Of its explanation. */
  waitId: string;
  /** When it ended, epoch milliseconds. */
  at: number;
  waitedMs: number;
  /** How many messages were wanted; 0 for silence. */
  count: number;
  /** The wait's conditions as texts, cut where they are long. */
  match: Record<string, string>;
  reason: 'timeout' | 'unexpected_message';
  /** How many messages arrived that did not match. */
  seenCount: number;
  /** One or more sentences for a person. */
  summary: string;
}

/** What a failed wait has explained. */
export interface ExplainedWait {
  id: string;
  accountId: string;
  inboxId: string;
  /** Epoch milliseconds. */
  endedAt: number;
  /** JSON of what can outlive the messages. */
  plain: string;
  /** JSON of what replaces parts of it while the inbox is live. */
  content: string;
}

/** What of an inbox with labels was held and has ended: a wait (`failed` is null if it succeeded), a list, a stream. */
export type EndedWait = { accountId: string; inboxId: string } & (
  | { kind: 'wait'; failed: FailedWait | null }
  | { kind: 'list' | 'stream'; hadMessages: boolean }
);

/** How many lists or streams ended, by whether they returned a message. */
export interface HeldCounts {
  withMessages: number;
  empty: number;
}

/** The waits of an inbox. */
export interface InboxWaits {
  succeeded: number;
  failed: number;
  lists: HeldCounts;
  streams: HeldCounts;
  /** The first {@link MAX_FAILED_WAITS}, oldest first. */
  failures: FailedWait[];
}

const NONE: HeldCounts = { withMessages: 0, empty: 0 };
const NO_WAITS: InboxWaits = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };

/** Stored waits. @param stored JSON text; null without any */
export const waitsOf = (stored: string | null): InboxWaits =>
  stored === null ? NO_WAITS : JSON.parse(stored);

/** Stored waits, with some more. */
function withMore(stored: string | null, ended: readonly EndedWait[]): string {
  const { succeeded, failed, failures, lists, streams } = waitsOf(stored);
  const waits = ended.flatMap((one) => (one.kind === 'wait' ? one.failed : []));
  const inVain = waits.filter((wait) => wait !== null);
  const heldOf = (kind: 'list' | 'stream', { withMessages, empty }: HeldCounts): HeldCounts => {
    const more = ended.flatMap((one) => (one.kind === kind ? one.hadMessages : []));
    const found = more.filter(Boolean).length;
    return { withMessages: withMessages + found, empty: empty + more.length - found };
  };
  return JSON.stringify({
    succeeded: succeeded + waits.length - inVain.length,
    failed: failed + inVain.length,
    ...{ lists: heldOf('list', lists), streams: heldOf('stream', streams) },
    failures: [...failures, ...inVain].slice(0, MAX_FAILED_WAITS),
  } satisfies InboxWaits);
}

/** @returns false when the inbox is deleted */
async function addToInbox(tx: Tx, inboxId: string, ended: readonly EndedWait[]): Promise<boolean> {
  // Locked, so that a deletion copies the waits after this transaction.
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

/** How waits ended: sums for the reports of test runs, and the explanations of those that failed. */
export const waits = {
  /**
   * Adds ended waits, lists and streams to what is kept of their inboxes, also of inboxes that were deleted
   * meanwhile.
   */
  add: write(
    async (tx, ended: EndedWait[]): Promise<void> => {
      // In the order in which batches of mails lock inboxes, so that the two never wait for each other.
      const byInbox = [...Map.groupBy(ended, ({ inboxId }) => inboxId)].sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [inboxId, some] of byInbox)
        if (!(await addToInbox(tx, inboxId, some))) await addToDeleted(tx, inboxId, some);
    },
    { keepsInboxes: true },
  ),

  /**
   * Stores what failed waits have explained; of an inbox the newest {@link MAX_EXPLAINED_WAITS}. Nothing for an
   * account that is being deleted, and no content for an inbox that is.
   */
  addExplained: write(
    async (tx, explained: ExplainedWait[]): Promise<void> => {
      await tx.run(
        sql`insert into failed_waits (id, account_id, inbox_id, ended_at, plain, content)
          select r.value ->> 'id', a.id, r.value ->> 'inboxId', cast(r.value ->> 'endedAt' as bigint),
            r.value ->> 'plain', case when i.id is not null then r.value ->> 'content' end
          from ${eachOf(explained)} as r
            join accounts a on a.id = r.value ->> 'accountId' and a.deleted_at is null
            left join inboxes i on i.id = r.value ->> 'inboxId' and i.expires_at > ${DELETED} and i.freed = 0`,
      );
      // Those that another transaction is deleting are left to it: two that wait for each other could deadlock.
      await tx.run(
        sql`delete from failed_waits where id in (select id from failed_waits where id in (
            select id from (select id, row_number() over (partition by inbox_id order by id desc) as place
              from failed_waits where inbox_id ${anyOf(explained.map(({ inboxId }) => inboxId))}) as w
            where place > ${MAX_EXPLAINED_WAITS}) ${FOR_UPDATE_SKIP_LOCKED})`,
      );
    },
    { keepsInboxes: true },
  ),

  /** What a failed wait has explained, for 24 hours; without `content` once the inbox has ended. */
  find: read(
    (
      db,
      accountId: string,
      inboxId: string,
      waitId: string,
      now: number,
    ): Promise<{ plain: string; content: string | null } | undefined> =>
      db.first(
        sql`select w.plain, case when i.id is not null then w.content end as content
          from failed_waits w left join inboxes i on i.id = w.inbox_id and i.expires_at > ${now}
          where w.id = ${waitId} and w.inbox_id = ${inboxId} and w.account_id = ${accountId}
            and w.ended_at > ${now - EXPLAINED_KEPT_MS}`,
      ),
  ),
};

/** Removes what messages said from the explanations of inboxes that have ended. */
export async function removeContentOf(tx: Tx, inboxIds: readonly string[]): Promise<void> {
  await tx.run(sql`update failed_waits set content = null where inbox_id ${anyOf(inboxIds)}`);
}

/** Removes up to `limit` rows of an account. @returns how many */
export const removeFailedWaitsOf = (tx: Tx, accountId: string, limit: number): Promise<number> =>
  tx.run(
    sql`delete from failed_waits where id in (select id from failed_waits where account_id = ${accountId} limit ${limit})`,
  );
