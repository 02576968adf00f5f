import type { DeliveryAttempt, WebhookDelivery } from '@mayfly/client/contract';
import {
  anyOf,
  type Db,
  EMPTY,
  type Page,
  read,
  type Sql,
  search,
  sql,
  type Tx,
  write,
} from '../../database/sql.ts';
import { firstIdAt } from '../../ids.ts';
import { TOMBSTONE_MS } from '../../inboxes/records.ts';

export type DeliveryState = WebhookDelivery['state'];

export type AttemptRecord = Omit<DeliveryAttempt, 'at'> & { at: number };

export type DeliveryRecord = Omit<WebhookDelivery, 'createdAt' | 'nextAttemptAt' | 'attempts'> & {
  webhookId: string;
  createdAt: number;
  nextAttemptAt: number | null;
  attempts: AttemptRecord[];
};

export interface ReplayStep {
  state: Exclude<DeliveryState, 'pending'>;
  /** Replays deliveries with ids between `after` and `before`. `after` is `last` of the previous step. */
  after: string;
  before: string;
  limit: number;
}

type TestIds = Record<'deliveryId' | 'eventId', string>;

interface DeliveredMessage {
  inboxId: string;
  messageId: string;
  /** The message was stored between `from` and `to`, epoch milliseconds. */
  from: number;
  to: number;
}

/** The time in a delivery's id may differ this much from `receivedAt`, because clocks of nodes differ. */
const MARGIN_MS = 1_000;

/** @param which conditions, order and limit; `d` is the delivery, `w` its webhook */
async function readDeliveries(db: Db, which: Sql): Promise<DeliveryRecord[]> {
  const rows = await db.all<Omit<DeliveryRecord, 'attempts'> & { attempts: string }>(
    sql`select d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.inbox_id as "inboxId",
        d.message_id as "messageId", d.state, d.reason, d.created_at as "createdAt", d.due_at as "nextAttemptAt",
        d.attempts
      from webhooks w join deliveries d on d.webhook_id = w.id where ${which}`,
  );
  return rows.map((row) => ({ ...row, attempts: JSON.parse(row.attempts) }));
}

const ofWebhook = (accountId: string, webhookId: string, now: number): Sql =>
  sql`w.id = ${webhookId} and w.account_id = ${accountId} and w.ends_at > ${now - TOMBSTONE_MS}`;

async function findOn(db: Db, accountId: string, webhookId: string, id: string, now: number) {
  const [found] = await readDeliveries(db, sql`${ofWebhook(accountId, webhookId, now)} and d.id = ${id}`);
  return found;
}

/** Locks a live webhook and makes it due at once, even during a pause. @returns false if there is none */
async function wakeOwn(tx: Tx, accountId: string, webhookId: string, now: number): Promise<boolean> {
  const woken = await tx.run(
    sql`update webhooks set blocked_until = 0
      where id = ${webhookId} and account_id = ${accountId} and ends_at > ${now}`,
  );
  if (woken === 0) return false;
  await tx.run(sql`insert into wakes (webhook_id) values (${webhookId})`);
  tx.hint({ kind: 'deliveries' });
  return true;
}

const newRound = (now: number): Sql =>
  sql`state = 'pending', reason = null, due_at = ${now}, ended_at = null, round = 0`;

export const log = {
  /** A `search`, which never delays short reads: a filter by state may read the whole log. */
  list: search(
    async (
      db,
      accountId: string,
      webhookId: string,
      { limit, before, state }: Page & { state?: DeliveryState | undefined },
      now: number,
    ) => {
      const found = await readDeliveries(
        db,
        sql`${ofWebhook(accountId, webhookId, now)} ${before === null ? EMPTY : sql`and d.id < ${before}`}
          ${state === undefined ? EMPTY : sql`and d.state = ${state}`} order by d.id desc limit ${limit + 1}`,
      );
      return { deliveries: found.slice(0, limit), hasMore: found.length > limit };
    },
  ),

  /** Finds deliveries by the time in their ids, because an index by message would cost a write per delivery. */
  listOfMessage: read(
    (db, accountId: string, { inboxId, messageId, from, to }: DeliveredMessage, now: number) =>
      readDeliveries(
        db,
        sql`w.account_id = ${accountId} and exists (select 1 from inboxes i
              where i.id = d.inbox_id and i.account_id = ${accountId} and i.expires_at > ${now})
            and d.id >= ${firstIdAt('dlv', Math.max(0, from - MARGIN_MS))} and d.id < ${firstIdAt('dlv', to + MARGIN_MS)}
            and d.inbox_id = ${inboxId} and d.message_id = ${messageId} order by d.id desc`,
      ),
  ),

  addTest: write(
    async (tx, accountId: string, webhookId: string, { deliveryId, eventId }: TestIds, now: number) => {
      if (!(await wakeOwn(tx, accountId, webhookId, now))) return undefined;
      await tx.run(
        sql`insert into deliveries (id, webhook_id, event_id, state, created_at, due_at, round)
          values (${deliveryId}, ${webhookId}, ${eventId}, 'pending', ${now}, ${now}, 0)`,
      );
      return findOn(tx, accountId, webhookId, deliveryId, now);
    },
  ),

  /** Repeats a delivery with the same event id, unless it is in progress. @returns undefined if not found */
  replay: write(async (tx, accountId: string, webhookId: string, deliveryId: string, now: number) => {
    if (!(await wakeOwn(tx, accountId, webhookId, now))) return undefined;
    await tx.run(
      sql`update deliveries set ${newRound(now)}
          where id = ${deliveryId} and webhook_id = ${webhookId} and leased_until is null`,
    );
    return findOn(tx, accountId, webhookId, deliveryId, now);
  }),

  /** Replays up to `limit` deliveries, except those of ended inboxes. `last` is null after the last step. */
  replaySome: write(async (tx, accountId: string, webhookId: string, step: ReplayStep, now: number) => {
    const { state, after, before, limit } = step;
    if (!(await wakeOwn(tx, accountId, webhookId, now))) return undefined;
    const rows = await tx.all<{ id: string }>(
      sql`select id from deliveries where webhook_id = ${webhookId} and id > ${after} and id < ${before}
          and state = ${state} order by id limit ${limit}`,
    );
    const replayed = await tx.run(
      sql`update deliveries set ${newRound(now)}
          where id ${anyOf(rows.map(({ id }) => id))} and state = ${state} and (inbox_id is null or exists (
            select 1 from inboxes i where i.id = deliveries.inbox_id and i.expires_at > ${now} and i.freed = 0))`,
    );
    return { replayed, last: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
  }),
};
