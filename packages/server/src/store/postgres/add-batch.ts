import type { PoolClient } from 'pg';
import { ConflictError, together } from '../../database/postgres/errors.ts';
import { newId } from '../../ids.ts';
import type { NewMail, Placed } from '../contract/index.ts';
import { RAW_PIECE_BYTES } from '../contract/messages.ts';
import { type BatchInbox, type BatchPlan, type PlannedMail, planBatch } from '../sql/messages/plan-batch.ts';
import { envelopeJson } from '../sql/messages/rows.ts';

/*
 * `addBatch` on PostgreSQL, in two flights of statements that are sent without waiting for each other's results.
 * The first writes the bytes, without locks, and then locks the rows of account orders, inboxes and webhooks, each
 * in one order, so that no two batches wait for each other. The second writes what is small; the COMMIT follows it.
 */

/** Rows of one INSERT. Few sizes, so that each connection plans few statements. */
const SIZES = [64, 16, 4, 1] as const;

/** Inserts rows; returns what the statement returns, in the order of the rows. */
async function insertRows(
  client: PoolClient,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  returning = '',
): Promise<Record<string, unknown>[]> {
  const queries = [];
  for (let at = 0; at < rows.length; ) {
    const size = SIZES.find((one) => one <= rows.length - at) ?? 1;
    const places = Array.from({ length: size }, (_, row) => {
      return `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join(', ')})`;
    });
    queries.push(
      client.query({
        name: `insert ${table} ${size}`,
        text: `insert into ${table} (${columns.join(', ')}) values ${places.join(', ')} ${returning}`,
        values: rows.slice(at, at + size).flat(),
      }),
    );
    at += size;
  }
  return (await Promise.all(queries)).flatMap((result) => result.rows);
}

/** Writes the sources of all mails; returns their row numbers. */
async function addSources(client: PoolClient, mails: readonly NewMail[]): Promise<number[]> {
  const columns = ['size', 'parse_error', 'summary', 'envelope', 'content', 'raw'];
  const rows = mails.map((mail) => {
    const { raw, summary, content, parseError } = mail;
    const error = parseError === null ? null : JSON.stringify(parseError);
    return [raw.length, error, summary, envelopeJson(mail), content, raw.subarray(0, RAW_PIECE_BYTES)];
  });
  const inserted = await insertRows(client, 'sources', columns, rows, 'returning seq');
  const seqs = inserted.map(({ seq }) => Number(seq));
  const pieces = mails.flatMap(({ raw }, index) => {
    const count = Math.max(0, Math.ceil(raw.length / RAW_PIECE_BYTES) - 1);
    return Array.from({ length: count }, (_, n) => {
      const bytes = raw.subarray((n + 1) * RAW_PIECE_BYTES, (n + 2) * RAW_PIECE_BYTES);
      return [seqs[index], n + 1, bytes];
    });
  });
  // One by one, because a row may have 256 KiB.
  for (const piece of pieces) {
    await insertRows(client, 'source_pieces', ['source_seq', 'piece', 'bytes'], [piece]);
  }
  return seqs;
}

/** `MessageStore.stage` in the open transaction of a connection. */
export async function stageSource(
  client: PoolClient,
  mail: NewMail,
  stage: string,
): Promise<{ result: number; written: Promise<unknown> }> {
  const [seq = Number.NaN] = await addSources(client, [mail]);
  return {
    result: seq,
    written: insertRows(client, 'parked_sources', ['source_seq', 'stage'], [[seq, stage]]),
  };
}

interface AccountPlace {
  account: number;
  order: number;
}

interface Webhook {
  id: string;
  account_id: string;
  inbox_id: string | null;
}

/** What a batch locks and reads: places for all recipients, also those that will not get the mail. */
interface Locked {
  places: Map<string, AccountPlace>;
  inboxes: Map<string, BatchInbox>;
  webhooks: Webhook[];
}

/**
 * Keeps the rows of accounts until the transaction ends: their deletion finds the orders that the transaction adds.
 * @throws an error after which the transaction is run again, if one was deleted meanwhile
 */
async function keepAccounts(client: PoolClient, seqs: readonly number[]): Promise<void> {
  const { rows } = await client.query({
    name: 'keep accounts',
    text: 'select seq from accounts where seq = any($1) order by seq for key share',
    values: [seqs],
  });
  if (rows.length < seqs.length) throw new ConflictError('An account was deleted meanwhile.');
}

async function lock(client: PoolClient, mails: readonly NewMail[], now: number): Promise<Locked> {
  const recipients = mails.flatMap((mail) => mail.recipients);
  const counts = new Map<string, number>();
  for (const { accountId } of recipients) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  const accountIds = [...counts.keys()];
  const owners = new Map(recipients.map(({ inboxId, accountId }) => [inboxId, accountId]));
  const [orders, inboxes, webhooks] = await Promise.all([
    client.query({
      name: 'take places',
      text: `with taken as (
          insert into account_orders (account_seq, last)
          select a.seq, wanted.count from unnest($1::text[], $2::bigint[]) as wanted(id, count)
          join accounts a on a.id = wanted.id and a.deleted_at is null order by a.seq
          on conflict (account_seq) do update set last = account_orders.last + excluded.last
          returning account_seq, last, xmax = 0 as is_new)
        select a.id, taken.account_seq, taken.last, taken.is_new from taken join accounts a on a.seq = taken.account_seq`,
      values: [accountIds, [...counts.values()]],
    }),
    client.query({
      name: 'lock inboxes',
      text: `select id, account_id, seq, message_count, last_received_at, has_webhook from inboxes
        where id = any($1) and expires_at > $2 and freed = 0 order by id for no key update`,
      values: [[...owners.keys()], now],
    }),
    client.query({
      name: 'keep webhooks',
      // Only removing a row waits for this lock: its deliveries are written later in this transaction.
      text: `select id, account_id, inbox_id from webhooks
        where account_id = any($1) and enabled = 1 and ends_at > $2 and (inbox_id is null or inbox_id = any($3))
        order by id for key share`,
      values: [accountIds, now, [...owners.keys()]],
    }),
  ]);
  const first = orders.rows.filter((row) => row.is_new).map(({ account_seq }) => account_seq);
  if (first.length > 0) await keepAccounts(client, first);
  const places = new Map<string, AccountPlace>(
    orders.rows.map(({ id, account_seq, last }) => [
      id,
      { account: account_seq, order: last - (counts.get(id) ?? 0) },
    ]),
  );
  return {
    places,
    inboxes: new Map(
      inboxes.rows
        .filter((row) => owners.get(row.id) === row.account_id && places.has(row.account_id))
        .map((row) => [
          row.id,
          {
            seq: row.seq,
            messageCount: row.message_count,
            lastReceivedAt: row.last_received_at,
            hasWebhook: row.has_webhook === 1,
          },
        ]),
    ),
    webhooks: webhooks.rows,
  };
}

/** Rows of the messages of a batch, in the order of their accounts. */
function messageRows(
  mails: readonly PlannedMail[],
  sources: readonly number[],
  places: Locked['places'],
): unknown[][] {
  return mails.flatMap(({ messages }, index) =>
    messages.map(({ id, receivedAt, inbox, recipient }) => {
      const place = places.get(recipient.accountId);
      if (!place) throw new Error('An inbox has no account.');
      place.order += 1;
      const rcptTo = JSON.stringify(recipient.rcptTo);
      return [inbox.seq, receivedAt, id, sources[index], rcptTo, place.account, place.order];
    }),
  );
}

/** Rows of the deliveries of a batch; notes their number in its results. */
function deliveryRows(mails: readonly PlannedMail[], webhooks: readonly Webhook[], now: number): unknown[][] {
  const rows: unknown[][] = [];
  for (const { id: messageId, recipient, placed } of mails.flatMap(({ messages }) => messages)) {
    const { accountId, inboxId } = recipient;
    const due = webhooks.filter(
      (webhook) =>
        webhook.account_id === accountId && (webhook.inbox_id === null || webhook.inbox_id === inboxId),
    );
    if (due.length === 0) continue;
    const event = newId('evt', now);
    for (const { id } of due) {
      rows.push([newId('dlv', now), id, event, inboxId, messageId, 'pending', now, now, 0, 0]);
    }
    placed.deliveries = due.length;
  }
  return rows;
}

async function addDeliveries(client: PoolClient, rows: unknown[][], now: number): Promise<void> {
  if (rows.length === 0) return;
  const counts = new Map<unknown, number>();
  for (const [, webhook] of rows) counts.set(webhook, (counts.get(webhook) ?? 0) + 1);
  const columns = ['id', 'webhook_id', 'event_id', 'inbox_id', 'message_id', 'state', 'created_at', 'due_at'];
  await Promise.all([
    insertRows(client, 'deliveries', [...columns, 'round', 'attempts'], rows),
    insertRows(
      client,
      'wakes',
      ['webhook_id', 'at', 'added'],
      [...counts].map(([webhook, count]) => [webhook, now, count]),
    ),
  ]);
}

async function moveInboxes(client: PoolClient, changed: BatchPlan['changed'], now: number): Promise<void> {
  const inboxes = [...changed.keys()];
  await client.query({
    name: 'move inboxes',
    text: `update inboxes i
      set message_count = moved.messages, last_received_at = moved.last, version = version + moved.added,
        received_messages = received_messages + moved.added,
        first_received_at = case first_received_at when 0 then $5 else first_received_at end
      from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) as moved(seq, messages, last, added)
      where i.seq = moved.seq`,
    values: [
      inboxes.map(({ seq }) => seq),
      inboxes.map(({ messageCount }) => messageCount),
      inboxes.map(({ lastReceivedAt }) => lastReceivedAt),
      [...changed.values()],
      now,
    ],
  });
}

/** What a batch becomes, and the statements of it that are still under way. */
export interface SentBatch {
  placed: Placed[][];
  overfull: BatchPlan['overfull'];
  /** Resolves when all statements have succeeded; rejects when one fails. */
  written: Promise<unknown>;
}

/** Writes a batch of mails in the open transaction of a connection. */
export async function addBatch(
  client: PoolClient,
  mails: readonly NewMail[],
  now: number,
): Promise<SentBatch> {
  const adding = addSources(client, mails);
  // Large mails are written in many statements: no row is locked before they are there.
  if (mails.some(({ raw }) => raw.length > RAW_PIECE_BYTES)) await adding;
  const [sources, { places, inboxes, webhooks }] = await together([adding, lock(client, mails, now)]);
  const plan = planBatch(mails, inboxes, now);
  const shared = plan.mails
    .map(({ messages }, index) => [sources[index], messages.length])
    .filter(([, count]) => count !== undefined && count > 1);
  const unused = sources.filter((_, index) => plan.mails[index]?.messages.length === 0);
  const columns = ['inbox_seq', 'received_at', 'id', 'source_seq', 'rcpt_to', 'account_seq', 'account_order'];
  const written = together([
    insertRows(client, 'messages', columns, messageRows(plan.mails, sources, places)),
    insertRows(client, 'shared_sources', ['source_seq', 'messages'], shared),
    addDeliveries(client, deliveryRows(plan.mails, webhooks, now), now),
    moveInboxes(client, plan.changed, now),
    removeSources(client, unused),
  ]);
  return { placed: plan.placed, overfull: plan.overfull, written };
}

/** Removes the sources of mails that were refused for all recipients. */
async function removeSources(client: PoolClient, unused: readonly number[]): Promise<void> {
  if (unused.length === 0) return;
  await client.query('delete from source_pieces where source_seq = any($1)', [unused]);
  await client.query('delete from sources where seq = any($1)', [unused]);
}
