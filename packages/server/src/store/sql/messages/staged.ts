import { sql } from 'kysely';
import { unavailable } from '../../../database/failures.ts';
import { AppError } from '../../../errors.ts';
import { newId } from '../../../ids.ts';
import type { InboxRecord, MessageStore, StagedMails } from '../../contract/index.ts';
import type { Dialect, Engine, Tx } from '../engine.ts';

/*
 * The mails of a recording are stored one by one, parked under a name: no message has them, so they cannot be read.
 * The transaction that creates their inbox makes messages of all of them and removes the name.
 */

/** Rows of one INSERT: SQLite takes 32,766 values. */
const ROWS = 1_000;

/**
 * Deliveries of one import. Other writes wait for its transaction, which takes a third of a second with as many
 * messages, and most of a minute with twenty times more deliveries.
 */
const MAX_DELIVERIES = 10_000;

function chunks<T>(rows: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, n) =>
    rows.slice(n * ROWS, (n + 1) * ROWS),
  );
}

/** Leaves staged sources to the sweeper: those under a name, or under all earlier ones. @returns how many */
export async function giveUpStaged(tx: Tx, comparison: '=' | '<', stage: string): Promise<number> {
  const given = tx.updateTable('parked_sources').set({ stage: null }).where('stage', comparison, stage);
  return (await given.returning('source_seq').execute()).length;
}

export function createUnstage({ transaction }: Engine): MessageStore['unstage'] {
  return async (stage) => {
    await transaction((tx) => giveUpStaged(tx, '=', stage));
  };
}

/** @throws AppError `unavailable` unless exactly these sources were under the name */
async function takeOver(tx: Tx, { stage, mails }: StagedMails): Promise<void> {
  const taken = await tx
    .deleteFrom('parked_sources')
    .where('stage', '=', stage)
    .returning('source_seq')
    .execute();
  const there = new Set(taken.map(({ source_seq }) => source_seq));
  if (there.size === mails.length && mails.every(({ source }) => there.has(source))) return;
  throw unavailable('too slow for this import, whose messages were deleted after an hour');
}

/** Takes places in the order of the account, which the transaction has locked. */
async function takePlaces(
  tx: Tx,
  accountId: string,
  count: number,
): Promise<{ account: number; before: number }> {
  const { account_seq, last } = await tx
    .insertInto('account_orders')
    .columns(['account_seq', 'last'])
    .expression((row) =>
      row
        .selectFrom('accounts')
        .select(['seq', sql<number>`cast(${count} as bigint)`.as('last')])
        .where('id', '=', accountId),
    )
    .onConflict((conflict) =>
      conflict.column('account_seq').doUpdateSet({ last: sql`account_orders.last + excluded.last` }),
    )
    .returning(['account_seq', 'last'])
    .executeTakeFirstOrThrow();
  return { account: account_seq, before: last - count };
}

/** Adds the deliveries of messages, and wakes their webhooks. @throws AppError `limit_reached` for too many */
async function addDeliveries(
  tx: Tx,
  { keepRows }: Dialect,
  { id: inboxId, accountId }: InboxRecord,
  messageIds: readonly string[],
  now: number,
): Promise<void> {
  const webhooks = await keepRows(
    tx
      .selectFrom('webhooks')
      .select('id')
      .where('account_id', '=', accountId)
      .where('enabled', '=', 1)
      .where('ends_at', '>', now)
      .where((row) => row.or([row('inbox_id', 'is', null), row('inbox_id', '=', inboxId)]))
      .orderBy('id'),
  ).execute();
  if (webhooks.length * messageIds.length > MAX_DELIVERIES) {
    throw new AppError(
      'limit_reached',
      `The ${messageIds.length} messages of this recording would be sent to ${webhooks.length} webhooks. An import may cause ${MAX_DELIVERIES} deliveries: disable some webhooks, or import fewer messages, or import with "speed".`,
    );
  }
  const rows = messageIds.flatMap((messageId) => {
    const event = newId('evt', now);
    return webhooks.map(({ id }) => ({
      id: newId('dlv', now),
      webhook_id: id,
      event_id: event,
      inbox_id: inboxId,
      message_id: messageId,
      state: 'pending' as const,
      ...{ created_at: now, due_at: now, round: 0, attempts: 0 },
    }));
  });
  for (const some of chunks(rows)) await tx.insertInto('deliveries').values(some).execute();
  for (const { id } of webhooks) {
    await tx.insertInto('wakes').values({ webhook_id: id, at: now, added: messageIds.length }).execute();
  }
}

/**
 * Makes staged mails the first messages of an inbox, in the transaction that creates it. They have the last
 * milliseconds before.
 * @param seq the number of the inbox
 * @returns the inbox with them
 */
export async function placeStaged(
  tx: Tx,
  dialect: Dialect,
  { inbox, seq }: { inbox: InboxRecord; seq: number },
  staged: StagedMails,
): Promise<InboxRecord> {
  const { mails, now } = staged;
  await takeOver(tx, staged);
  if (mails.length === 0) return inbox;
  const { account, before } = await takePlaces(tx, inbox.accountId, mails.length);
  const first = Math.max(inbox.createdAt, now - mails.length) + 1;
  const messages = mails.map(({ source, rcptTo }, n) => ({
    inbox_seq: seq,
    received_at: first + n,
    id: newId('msg', first + n),
    source_seq: source,
    rcpt_to: JSON.stringify(rcptTo.length === 0 ? [inbox.address] : rcptTo),
    account_seq: account,
    account_order: before + 1 + n,
  }));
  for (const some of chunks(messages)) await tx.insertInto('messages').values(some).execute();
  const ids = messages.map(({ id }) => id);
  await addDeliveries(tx, dialect, inbox, ids, now);
  const lastReceivedAt = first + mails.length - 1;
  await tx
    .updateTable('inboxes')
    .set({
      message_count: mails.length,
      last_received_at: lastReceivedAt,
      received_messages: mails.length,
      first_received_at: first,
    })
    .where('seq', '=', seq)
    .execute();
  return { ...inbox, messageCount: mails.length, receivedCount: mails.length, lastReceivedAt };
}
