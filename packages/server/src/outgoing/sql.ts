import type { OutcomeState, ProviderName, SentRecord } from '@mayfly/client/contract';
import { requireAccount } from '../accounts/sql.ts';
import {
  anyOf,
  EMPTY,
  FOR_UPDATE,
  FOR_UPDATE_SKIP_LOCKED,
  type Page,
  parseOr,
  read,
  type Sql,
  sql,
  type Tx,
  write,
} from '../database/sql.ts';

// The queue of scheduled mail, events, reports and replies. A row with `due_at` is pending; a claim sets a
// lease. The transaction that stores a mail in an inbox also completes its row (messages/sql/adding.ts), so
// each mail arrives exactly once. Requests to other programs are sent at least once, always with the same id.

const MAX_PENDING = 1_000;
/** A claim takes scheduled mail of at most this many inboxes, this many rows of each, and this many other rows. */
const CLAIMED = 20;
/** Limit of concurrent attempts per account, except for scheduled mail. Nodes that claim at once may exceed it. */
const ATTEMPTS_PER_ACCOUNT = 8;

export type OutgoingKind = SentRecord['type'] | 'scheduled' | 'handshake';

export interface OutgoingDetails {
  outcome?: OutcomeState['outcome'];
  via?: ProviderName;
  mailFrom?: string;
  to?: string[];
  /** The fields from here to `begunAt` are only for scheduled mail. */
  providerId?: string;
  given?: Readonly<Record<string, unknown>>;
  remoteAddress?: string;
  requestId?: string;
  begunAt?: number;
  /** The fields from here on are only for replies. */
  subject?: string;
  text?: string;
  rfcMessageId?: string;
}

export interface NewOutgoing {
  id: string;
  accountId: string;
  /** Absent for a `handshake`, which is a request that confirms a URL. */
  inboxId?: string;
  kind: OutgoingKind;
  messageId?: string;
  /** The id by which the application changes or cancels a scheduled mail. */
  ref?: string;
  details: OutgoingDetails;
  raw?: Uint8Array;
  dueAt: number;
}

interface StoredOutgoing {
  id: string;
  kind: OutgoingKind;
  messageId: string | null;
  details: OutgoingDetails;
  attempts: number;
  createdAt: number;
}

export interface ClaimedOutgoing extends StoredOutgoing {
  accountId: string;
  /** Null for a `handshake`, and if the inbox has ended; `address` is then empty. */
  inboxId: string | null;
  address: string;
  /** When the lease ends. A result is stored only if the row still has this value. */
  leasedUntil: number;
}

export interface OutgoingRecord extends StoredOutgoing {
  state: SentRecord['state'];
  error: string | null;
  dueAt: number | null;
}

export type OutgoingResult = Pick<OutgoingRecord, 'state' | 'error' | 'dueAt'> & { to: string[] };

type Stored<T> = Omit<T, 'details'> & { details: string };
const decoded = <Row extends { details: string }>(row: Row) => ({
  ...row,
  details: parseOr<OutgoingDetails>(row.details, {}),
});

const IS_DUE = (now: number): Sql =>
  sql`o.due_at <= ${now} and (o.leased_until is null or o.leased_until <= ${now})`;

async function lease(tx: Tx, which: Sql, leasedUntil: number): Promise<ClaimedOutgoing[]> {
  const rows = await tx.all<{ id: string }>(
    sql`update outgoing set leased_until = ${leasedUntil} where id in (${which}) returning id`,
  );
  if (rows.length === 0) return [];
  const found = await tx.all<Stored<ClaimedOutgoing>>(
    sql`select o.id, o.account_id as "accountId", o.kind, o.message_id as "messageId", o.details, o.attempts,
        o.created_at as "createdAt", o.leased_until as "leasedUntil", i.id as "inboxId", coalesce(i.address, '') as address
      from outgoing o left join inboxes i on i.seq = o.inbox_seq
      where o.id ${anyOf(rows.map(({ id }) => id))} order by o.due_at, o.id`,
  );
  return found.map(decoded);
}

/** Leases due scheduled mail, oldest first. Skips inboxes with leased mail, so that each gets its mail in order. */
async function claimScheduled(tx: Tx, now: number, leasedUntil: number): Promise<ClaimedOutgoing[]> {
  const due = await tx.all<{ seq: number }>(
    sql`select distinct inbox_seq as seq from outgoing o where kind = 'scheduled' and ${IS_DUE(now)} limit ${CLAIMED}`,
  );
  // Lock the inboxes, so that other nodes skip them.
  const locked = await tx.all<{ seq: number }>(
    sql`select seq from inboxes where seq ${anyOf(due.map(({ seq }) => seq))} order by seq ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  const claimed: ClaimedOutgoing[] = [];
  for (const { seq } of locked) {
    const busy = await tx.first(
      sql`select 1 from outgoing where inbox_seq = ${seq} and kind = 'scheduled' and leased_until > ${now} and due_at is not null`,
    );
    if (busy) continue;
    const which = sql`select o.id from outgoing o where o.inbox_seq = ${seq} and o.kind = 'scheduled' and ${IS_DUE(now)}
      order by o.due_at, o.id limit ${CLAIMED}`;
    claimed.push(...(await lease(tx, which, leasedUntil)));
  }
  return claimed;
}

async function liveSeq(tx: Tx, accountId: string, inboxId: string, now: number): Promise<number | undefined> {
  const inbox = await tx.first<{ seq: number }>(
    sql`select seq from inboxes where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now}
      and freed = 0 ${FOR_UPDATE}`,
  );
  return inbox?.seq;
}

export const outgoing = {
  /** Skips rows of inboxes that ended or have {@link MAX_PENDING} pending rows. @returns how many it added */
  add: write({ keepsInboxes: true }, async (tx, rows: NewOutgoing[], now: number): Promise<number> => {
    let added = 0;
    for (const row of rows) {
      const { id, accountId, inboxId, kind, messageId = null, ref = null, details, raw = null, dueAt } = row;
      if (inboxId === undefined) await requireAccount(tx, accountId);
      const seq = inboxId === undefined ? null : await liveSeq(tx, accountId, inboxId, now);
      if (seq === undefined) continue;
      const pending = await tx.first<{ count: number }>(
        sql`select count(*) as count from outgoing where inbox_seq = ${seq} and due_at is not null`,
      );
      if ((pending?.count ?? 0) >= MAX_PENDING) continue;
      added += await tx.run(
        sql`insert into outgoing (id, account_id, inbox_seq, kind, state, message_id, ref, details, raw, created_at,
              due_at, attempts)
            values (${id}, ${accountId}, ${seq}, ${kind}, 'pending', ${messageId}, ${ref}, ${JSON.stringify(details)},
              ${raw}, ${now}, ${dueAt}, 0)`,
      );
    }
    return added;
  }),

  nextAt: read(async (db): Promise<number | null> => {
    const first = await db.first<{ at: number | null }>(
      sql`select min(at) as at from (
        select min(due_at) as at from outgoing where due_at is not null and leased_until is null
        union all select min(leased_until) from outgoing where due_at is not null and leased_until is not null) as t`,
    );
    return first?.at ?? null;
  }),

  claim: write(
    { keepsInboxes: true },
    async (tx, { limit, leaseMs }: { limit: number; leaseMs: number }, wall: number, now: number) => {
      await tx.run(
        sql`update outgoing set state = 'cancelled', due_at = null, raw = null, ended_at = ${wall},
            error = 'The inbox ended.'
          where due_at <= ${now} and exists (select 1 from inboxes i where i.seq = outgoing.inbox_seq and i.expires_at <= ${wall})`,
      );
      const others = sql`select o.id from outgoing o where o.id in (
          select id from (select o.id, o.account_id,
              row_number() over (partition by o.account_id order by o.due_at, o.id) as place
            from outgoing o where o.kind <> 'scheduled' and ${IS_DUE(now)}) as due
          where place <= ${ATTEMPTS_PER_ACCOUNT} - (select count(*) from outgoing b where b.account_id = due.account_id
              and b.kind <> 'scheduled' and b.due_at is not null and b.leased_until > ${now}))
        and ${IS_DUE(now)} order by o.due_at, o.id limit ${Math.min(limit, CLAIMED)} ${FOR_UPDATE_SKIP_LOCKED}`;
      return [...(await claimScheduled(tx, now, now + leaseMs)), ...(await lease(tx, others, now + leaseMs))];
    },
  ),

  /** Releases all leases. Only for the start of the only server, when no process can hold a lease. */
  releaseAll: write({ mayUseReserve: true }, (tx) =>
    tx.run(sql`update outgoing set leased_until = null where leased_until is not null`),
  ),

  record: write(
    { keepsInboxes: true },
    (
      tx,
      { id, leasedUntil, details }: ClaimedOutgoing,
      { state, error, dueAt, to }: OutgoingResult,
      now: number,
    ) =>
      tx.run(
        sql`update outgoing set state = ${state}, due_at = ${dueAt}, leased_until = null, error = ${error},
            attempts = attempts + 1, details = ${JSON.stringify({ ...details, to })},
            ended_at = ${dueAt === null ? now : null}, raw = ${dueAt === null ? sql`null` : sql`raw`}
          where id = ${id} and leased_until = ${leasedUntil}`,
      ),
  ),

  rawOf: read(async (db, id: string) => {
    const row = await db.first<{ raw: Uint8Array | null }>(
      sql`select raw from outgoing where id = ${id} and due_at is not null`,
    );
    return row?.raw ?? undefined;
  }),

  /** Makes pending items due `ms` earlier. @returns how many became due; undefined if the inbox is not live */
  advance: write(
    { keepsInboxes: true },
    async (tx, accountId: string, inboxId: string, ms: number, wall: number, now: number) => {
      const seq = await liveSeq(tx, accountId, inboxId, wall);
      if (seq === undefined) return undefined;
      const moved = await tx.all<{ dueAt: number }>(
        sql`update outgoing set due_at = due_at - ${ms} where inbox_seq = ${seq} and due_at is not null
          returning due_at as "dueAt"`,
      );
      return moved.filter(({ dueAt }) => dueAt <= now && dueAt + ms > now).length;
    },
  ),

  /** Changes `dueAt` of a scheduled mail; null cancels it. @returns false unless pending and not leased */
  reschedule: write(
    { keepsInboxes: true },
    async (
      tx,
      { accountId, inboxId }: { accountId: string; inboxId: string | null },
      ref: string,
      dueAt: number | null,
      now: number,
    ): Promise<boolean> => {
      const which = sql`account_id = ${accountId} and ref = ${ref} and due_at is not null
        and (leased_until is null or leased_until <= ${now})
        ${inboxId === null ? EMPTY : sql`and inbox_seq = (select seq from inboxes where id = ${inboxId})`}`;
      const changed = await tx.run(
        dueAt === null
          ? sql`update outgoing set state = 'cancelled', due_at = null, raw = null, ended_at = ${now} where ${which}`
          : sql`update outgoing set due_at = ${dueAt} where ${which}`,
      );
      return changed > 0;
    },
  ),

  list: read(
    async (db, inboxId: string, { limit, before, messageId }: Page & { messageId?: string }, now: number) => {
      const rows = await db.all<Stored<OutgoingRecord>>(
        sql`select o.id, o.kind, o.state, o.message_id as "messageId", o.details, o.attempts, o.error,
            o.created_at as "createdAt", o.due_at as "dueAt"
          from outgoing o join inboxes i on i.seq = o.inbox_seq
          where i.id = ${inboxId} and i.expires_at > ${now} and o.kind in ('event', 'report', 'reply')
            ${before === null ? EMPTY : sql`and o.id < ${before}`}
            ${messageId === undefined ? EMPTY : sql`and o.message_id = ${messageId}`}
          order by o.id desc limit ${limit}`,
      );
      return rows.map(decoded);
    },
  ),

  held: read(async (db, inboxId: string, now: number) => {
    const row = await db.first<{ count: number; firstAt: number | null }>(
      sql`select count(*) as count, min(o.due_at) as "firstAt" from outgoing o join inboxes i on i.seq = o.inbox_seq
        where i.id = ${inboxId} and i.expires_at > ${now} and o.kind = 'scheduled' and o.due_at is not null`,
    );
    return row ?? { count: 0, firstAt: null };
  }),

  /** Replaces the outcome rules of an inbox. @returns false if it is not live */
  setOutcomes: write(
    async (tx, accountId: string, inboxId: string, rules: OutcomeState[], now: number): Promise<boolean> => {
      const text = rules.some(({ left }) => left > 0) ? JSON.stringify(rules) : null;
      const live = sql`id = ${inboxId} and account_id = ${accountId} and expires_at > ${now} and freed = 0`;
      return (await tx.run(sql`update inboxes set outcomes = ${text} where ${live}`)) > 0;
    },
  ),

  readOutcomes: read(async (db, accountId: string, inboxId: string, now: number) => {
    const row = await db.first<{ outcomes: string | null }>(
      sql`select outcomes from inboxes where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now}`,
    );
    return row && parseOr<OutcomeState[]>(row.outcomes ?? '[]', []);
  }),
};

/** Completes rows whose mail this transaction stores. @returns the ids of those that were still pending */
export async function endDelivered(tx: Tx, ids: readonly string[], now: number): Promise<string[]> {
  const rows = await tx.all<{ id: string }>(
    sql`update outgoing set state = 'delivered', due_at = null, leased_until = null, raw = null, error = null,
        ended_at = ${now}, attempts = attempts + 1
      where id ${anyOf(ids)} and state = 'pending' returning id`,
  );
  return rows.map(({ id }) => id);
}

export async function failDelivered(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.run(
    sql`update outgoing set state = 'failed', error = 'The inbox is full, or has ended.' where id ${anyOf(ids)}`,
  );
}
