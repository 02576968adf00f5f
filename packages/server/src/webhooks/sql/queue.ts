import { read, type Tx, write } from '../../database/operations.ts';
import { NEVER } from '../../database/schema.ts';
import { anyOf, eachOf, FOR_UPDATE_SKIP_LOCKED, perEngine, type Sql, sql } from '../../database/sql.ts';
import { cancelPending, INBOX_ENDED } from './removal.ts';
import { signingSecrets } from './webhooks.ts';

/*
 * The queue of each webhook. The row of the webhook is its head: `next_at` is when a delivery may be claimed
 * (null while none is pending), and its lock keeps the number of concurrent attempts exact on any number of nodes.
 * So the cost of a claim depends on what it finds, and not on how many deliveries wait.
 *
 * The intake never takes that lock, which claims and records hold until their commits: it inserts a row into
 * `wakes`, which the next claim takes.
 *
 * Times are those of the schedule (schedule-clock.ts), which steps of a wall clock do not move.
 */

/** A delivery that only its claimer may attempt until `leasedUntil`. */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  accountId: string;
  eventId: string;
  inboxId: string | null;
  messageId: string | null;
  createdAt: number;
  url: string;
  /** Secrets that sign now, newest first. */
  secrets: string[];
  /** Of the attempt to make, from 1 in each round; a replay begins a new round. */
  attemptNumber: number;
  /** The claim's proof. */
  leasedUntil: number;
  /** Which of the two limits of the claim it counts against. */
  prompt: boolean;
}

/** How many deliveries a claim may take. A webhook is prompt after a 2xx response within `PROMPT_MS`. */
export interface ClaimLimits {
  /** Deliveries of prompt webhooks. */
  prompt: number;
  /** Deliveries of all others: new, slow, failing. */
  other: number;
  /** How long the claim holds, milliseconds. */
  leaseMs: number;
}

/** Attempts in progress at once for a prompt webhook: enough to hide its latency. All others have one. */
export const CONCURRENCY = 4;
/** Webhooks in one claim: some milliseconds. The next claim continues. */
const WEBHOOKS_PER_CLAIM = 50;
/** Deliveries cancelled in one claim and webhook: about a millisecond; the next claim continues. */
const CANCELLED_PER_CLAIM = 100;
/** Wakes taken in one transaction: some milliseconds. The next one takes more. */
const WAKES_PER_TRANSACTION = 1_000;

const LEAST = perEngine({ sqlite: 'min', postgres: 'least' });
const GREATEST = perEngine({ sqlite: 'max', postgres: 'greatest' });

/**
 * Sets when webhooks are claimed next, after anything changed in their queues. A webhook with all its attempts in
 * progress is blocked until the first lease ends.
 * @param pauseMs for so long nothing is claimed; may use the columns of `webhooks`
 */
export async function reschedule(
  tx: Tx,
  ids: readonly string[],
  now: number,
  pauseMs: Sql = sql`0`,
): Promise<void> {
  const ofWebhook = sql`from deliveries d where d.webhook_id = w.id`;
  await tx.run(
    sql`with queues as (
        select id, cast(${now} as bigint) + ${pauseMs} as pauses_until,
          case prompt when 1 then ${CONCURRENCY} else 1 end as concurrency,
          (select count(*) ${ofWebhook} and leased_until is not null) as under_way,
          (select min(leased_until) ${ofWebhook} and leased_until is not null) as lease_ends,
          (select min(due_at) ${ofWebhook} and due_at is not null) as first_due
        from webhooks w where id ${anyOf(ids)}
      ), times as (
        select id,
          ${GREATEST}(pauses_until, case when under_way >= concurrency then lease_ends else 0 end) as blocked,
          ${LEAST}(coalesce(lease_ends, ${NEVER}), coalesce(first_due, ${NEVER})) as first
        from queues
      )
      update webhooks
      set blocked_until = times.blocked,
        next_at = case when times.first < ${NEVER} then ${GREATEST}(times.blocked, times.first) end
      from times where webhooks.id = times.id`,
  );
}

/**
 * Takes the wakes made up to `until`: their webhooks become due unless they are blocked. Webhooks that another
 * transaction has locked keep theirs.
 * @returns how many were taken
 */
export async function takeWakes(tx: Tx, until: number, now: number): Promise<number> {
  const oldest = sql`select seq, webhook_id from wakes where at <= ${until} order by seq limit ${WAKES_PER_TRANSACTION}`;
  const woken = await tx.all<{ id: string }>(
    sql`select id from webhooks where id in (select webhook_id from (${oldest}) as w) ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  if (woken.length === 0) return 0;
  const ids = woken.map(({ id }) => id);
  const taken = await tx.all<{ id: string; at: number; added: number }>(
    sql`delete from wakes
      where seq in (select seq from (${oldest}) as w where webhook_id ${anyOf(ids)})
      returning webhook_id as id, at, added`,
  );
  const wakes = [...Map.groupBy(taken, ({ id }) => id)].map(([id, of]) => ({
    id,
    added: of.reduce((sum, { added }) => sum + added, 0),
    at: Math.max(...of.map(({ at }) => at)),
  }));
  const ofClockAhead = wakes.filter(({ at }) => at > now);
  // The first attempt is due at once, whatever the clock of the node that added it said.
  if (ofClockAhead.length > 0)
    await tx.run(
      sql`update deliveries set due_at = ${now}
        from (select r.value ->> 'id' as webhook, cast(r.value ->> 'at' as bigint) as at
          from ${eachOf(ofClockAhead)} as r) as wake
        where webhook_id = wake.webhook and due_at > ${now} and due_at <= wake.at and round = 0`,
    );
  await tx.run(
    sql`update webhooks
      set kept = kept + wake.added,
        next_at = case when next_at < ${now} then next_at else ${GREATEST}(blocked_until, cast(${now} as bigint)) end
      from (select r.value ->> 'id' as webhook, cast(r.value ->> 'added' as bigint) as added
        from ${eachOf(wakes)} as r) as wake
      where id = wake.webhook`,
  );
  return taken.length;
}

/** The wall clock, for data, and the time of schedules and leases. */
interface Times {
  wall: number;
  schedule: number;
}

/** The head of a queue, as a claim reads it. */
interface DueWebhook {
  id: string;
  accountId: string;
  url: string;
  secrets: string;
  enabled: number;
  disabledReason: string | null;
  endsAt: number;
}

/** Cancels the pending deliveries of a webhook that was disabled or has ended. */
async function endQueue(tx: Tx, webhook: DueWebhook, { wall, schedule }: Times): Promise<void> {
  const { id, endsAt, disabledReason } = webhook;
  const disabled = ['The webhook was disabled.', disabledReason ?? ''].join(' ').trimEnd();
  const pending = sql`select id from deliveries where webhook_id = ${id} and due_at is not null
    union all select id from deliveries where webhook_id = ${id} and leased_until is not null`;
  const reason = endsAt <= wall ? INBOX_ENDED : disabled;
  await cancelPending(tx, sql`${pending} limit ${CANCELLED_PER_CLAIM}`, reason, wall);
  await tx.run(
    sql`update webhooks set next_at = case when exists (${pending}) then cast(${schedule} as bigint) end where id = ${id}`,
  );
}

/** The columns of a leased delivery. */
type LeasedRow = Pick<ClaimedDelivery, 'id' | 'eventId' | 'inboxId' | 'messageId' | 'createdAt'> & {
  round: number;
};

/** Leases up to `limit` due deliveries of a webhook that the transaction has locked, the longest due first. */
const lease = (tx: Tx, webhookId: string, now: number, leasedUntil: number, limit: number) =>
  tx.all<LeasedRow>(
    sql`update deliveries set due_at = null, leased_until = ${leasedUntil}
      where id in (select id from deliveries where webhook_id = ${webhookId} and due_at <= ${now}
          order by due_at, id limit ${limit})
        -- Another transaction may have cancelled it since the subquery read it.
        and due_at <= ${now}
      returning id, event_id as "eventId", inbox_id as "inboxId", message_id as "messageId",
        created_at as "createdAt", round`,
  );

/** Claims at due webhooks that are prompt, or at all others, those that wait longest first. */
async function claimSome(
  tx: Tx,
  { prompt, limit, leaseMs }: { prompt: boolean; limit: number; leaseMs: number },
  times: Times,
): Promise<ClaimedDelivery[]> {
  const { wall, schedule } = times;
  if (limit === 0) return [];
  const due = await tx.all<DueWebhook>(
    sql`select id, account_id as "accountId", url, secrets, enabled, disabled_reason as "disabledReason",
        ends_at as "endsAt"
      from webhooks where prompt = ${prompt ? 1 : 0} and next_at <= ${schedule}
      order by next_at limit ${Math.min(limit, WEBHOOKS_PER_CLAIM)} ${FOR_UPDATE_SKIP_LOCKED}`,
  );
  const hasEnded = ({ enabled, endsAt }: DueWebhook) => enabled !== 1 || endsAt <= wall;
  for (const webhook of due.filter(hasEnded)) await endQueue(tx, webhook, times);
  const live = due.filter((webhook) => !hasEnded(webhook));
  if (live.length === 0) return [];
  const ids = live.map(({ id }) => id);
  // Deliveries whose claimer died are due again.
  await tx.run(
    sql`update deliveries set due_at = leased_until, leased_until = null
      where webhook_id ${anyOf(ids)} and leased_until <= ${schedule}`,
  );
  const inProgress = await tx.all<{ id: string; attempts: number }>(
    sql`select webhook_id as id, count(*) as attempts from deliveries
      where webhook_id ${anyOf(ids)} and leased_until is not null group by webhook_id`,
  );
  const attemptsOf = new Map(inProgress.map(({ id, attempts }) => [id, attempts]));
  const leasedUntil = schedule + leaseMs;
  const claimed: ClaimedDelivery[] = [];
  for (const { id: webhookId, accountId, url, secrets } of live) {
    const free = (prompt ? CONCURRENCY : 1) - (attemptsOf.get(webhookId) ?? 0);
    const room = Math.min(free, limit - claimed.length);
    if (room <= 0) continue;
    const rows = await lease(tx, webhookId, schedule, leasedUntil, room);
    const of = { webhookId, accountId, url, secrets: signingSecrets(secrets, wall), leasedUntil, prompt };
    for (const { round, ...row } of rows.sort((a, b) => (a.id < b.id ? -1 : 1)))
      claimed.push({ ...row, ...of, attemptNumber: round + 1 });
  }
  await reschedule(tx, ids, schedule);
  return claimed;
}

export const queue = {
  /**
   * Leases due deliveries, the longest due first: at most {@link CONCURRENCY} at once of a prompt webhook and
   * one of any other. A delivery whose lease ran out is due again. It also cancels pending deliveries of
   * webhooks that are disabled or ended. Webhooks that another node has locked are left to it.
   */
  claim: write(
    async (
      tx,
      { prompt, other, leaseMs }: ClaimLimits,
      now: number,
      schedule: number = now,
    ): Promise<ClaimedDelivery[]> => {
      const times = { wall: now, schedule };
      await takeWakes(tx, Number.MAX_SAFE_INTEGER, schedule);
      return [
        ...(await claimSome(tx, { prompt: true, limit: prompt, leaseMs }, times)),
        ...(await claimSome(tx, { prompt: false, limit: other, leaseMs }, times)),
      ];
    },
    { keepsInboxes: true },
  ),

  /** The earliest time at which a claim may find something, or earlier; null when nothing is pending. */
  nextAt: read(async (db, schedule: number): Promise<number | null> => {
    // One search for each value of `prompt`, because the index begins with it.
    const first = await db.first<{ woken: number | null; prompt: number | null; other: number | null }>(
      sql`select (select 1 from wakes limit 1) as woken,
        (select min(next_at) from webhooks where prompt = 1 and next_at is not null) as prompt,
        (select min(next_at) from webhooks where prompt = 0 and next_at is not null) as other`,
    );
    if (!first || first.woken !== null) return schedule;
    const times = [first.prompt, first.other].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }),

  /**
   * Ends all leases and pauses, for a storage with one server: at its start, nobody holds them any more. First
   * attempts are due at once, also if the clock was set back.
   */
  releaseAll: write(
    async (tx, schedule: number): Promise<void> => {
      await tx.run(
        sql`update deliveries set due_at = ${schedule}, leased_until = null where leased_until is not null`,
      );
      await tx.run(sql`update deliveries set due_at = ${schedule} where due_at > ${schedule} and round = 0`);
      await tx.run(
        sql`update webhooks set next_at = ${schedule}, blocked_until = 0 where next_at is not null`,
      );
    },
    { mayUseReserve: true },
  ),
};
