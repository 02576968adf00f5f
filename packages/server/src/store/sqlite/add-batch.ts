import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { newId } from '../../ids.ts';
import type { NewMail, Placed } from '../contract/index.ts';
import { type BatchInbox, type BatchPlan, type PlannedMail, planBatch } from '../sql/messages/plan-batch.ts';
import type { SourceWriter, Staged } from './staging.ts';

/*
 * `addBatch` on SQLite: statements without a network between them, so each row is written by itself, and what
 * concerns an inbox, an account or a webhook is written once a batch.
 */

/** Where a message stands in its account. */
interface AccountPlace {
  account: number;
  order: number;
}

interface Statements {
  inbox: StatementSync;
  moveInbox: StatementSync;
  takeOrders: StatementSync;
  share: StatementSync;
  message: StatementSync;
  accountWebhooks: StatementSync;
  inboxWebhooks: StatementSync;
  delivery: StatementSync;
  wake: StatementSync;
}

function prepareStatements(database: DatabaseSync): Statements {
  return {
    inbox: database.prepare(
      // The sweeper may have freed an inbox whose expiry lies ahead again because the clock was set back.
      `select seq, message_count, last_received_at, has_webhook from inboxes
       where id = ? and account_id = ? and expires_at > ? and freed = 0`,
    ),
    moveInbox: database.prepare(
      `update inboxes set message_count = ?, last_received_at = ?, version = version + ?3,
         received_messages = received_messages + ?3,
         first_received_at = case first_received_at when 0 then ?4 else first_received_at end
       where seq = ?5`,
    ),
    takeOrders: database.prepare(
      `insert into account_orders (account_seq, last) select seq, ? from accounts where id = ?
       on conflict (account_seq) do update set last = last + excluded.last returning account_seq, last`,
    ),
    share: database.prepare(`insert into shared_sources (source_seq, messages) values (?, ?)`),
    message: database.prepare(
      `insert into messages (inbox_seq, received_at, id, source_seq, rcpt_to, account_seq, account_order)
       values (?, ?, ?, ?, ?, ?, ?)`,
    ),
    accountWebhooks: database.prepare(
      `select id from webhooks where account_id = ? and inbox_id is null and enabled = 1 and ends_at > ?`,
    ),
    inboxWebhooks: database.prepare(
      `select id from webhooks where account_id = ? and inbox_id = ? and enabled = 1 and ends_at > ?`,
    ),
    delivery: database.prepare(
      `insert into deliveries
         (id, webhook_id, event_id, inbox_id, message_id, state, created_at, due_at, round, attempts)
       values (?, ?, ?, ?, ?, 'pending', ?, ?, 0, 0)`,
    ),
    wake: database.prepare(`insert into wakes (webhook_id, at, added) values (?, ?, ?)`),
  };
}

/**
 * Writes a batch of mails in the transaction that is open.
 * @param staged the sources that were written before
 */
export type AddBatchNow = (
  mails: readonly NewMail[],
  now: number,
  staged: Staged,
) => { placed: Placed[][]; overfull: BatchPlan['overfull'] };

export function createAddBatch(database: DatabaseSync, sources: Pick<SourceWriter, 'add'>): AddBatchNow {
  let prepared: Statements | undefined;

  return (mails, now, staged) => {
    // The tables are there when the first batch arrives.
    prepared ??= prepareStatements(database);
    const plan = planBatch(mails, readInboxes(prepared, mails, now), now);
    const nextPlace = takePlaces(prepared, plan.mails);
    for (const planned of plan.mails) {
      const { mail, messages } = planned;
      if (messages.length === 0) continue;
      addMessages(prepared, sources.add(mail, staged.get(mail)), planned, nextPlace);
    }
    addDeliveries(prepared, plan.mails, now);
    for (const [inbox, added] of plan.changed) {
      prepared.moveInbox.run(inbox.messageCount, inbox.lastReceivedAt, added, now, inbox.seq);
    }
    return plan;
  };
}

/** The live inboxes of a batch by id. */
function readInboxes({ inbox }: Statements, mails: readonly NewMail[], now: number): Map<string, BatchInbox> {
  const owners = new Map(
    mails.flatMap(({ recipients }) => recipients.map(({ inboxId, accountId }) => [inboxId, accountId])),
  );
  const inboxes = new Map<string, BatchInbox>();
  for (const [inboxId, accountId] of owners as Map<string, string>) {
    const row = inbox.get(inboxId, accountId, now);
    if (!row) continue;
    inboxes.set(inboxId, {
      seq: Number(row.seq),
      messageCount: Number(row.message_count),
      lastReceivedAt: Number(row.last_received_at),
      hasWebhook: row.has_webhook === 1,
    });
  }
  return inboxes;
}

/** Takes the next places in the accounts' orders; each call of the result returns one. */
function takePlaces(
  { takeOrders }: Statements,
  mails: readonly PlannedMail[],
): (accountId: string) => AccountPlace {
  const counts = new Map<string, number>();
  for (const { messages } of mails) {
    for (const { recipient } of messages) {
      counts.set(recipient.accountId, (counts.get(recipient.accountId) ?? 0) + 1);
    }
  }
  const places = new Map<string, AccountPlace>();
  for (const [accountId, count] of counts) {
    const row = takeOrders.get(count, accountId);
    if (row) places.set(accountId, { account: Number(row.account_seq), order: Number(row.last) - count });
  }
  return (accountId) => {
    const place = places.get(accountId);
    if (!place) throw new Error('An inbox has no account.');
    place.order += 1;
    return place;
  };
}

function addMessages(
  { share, message }: Statements,
  source: number,
  { messages }: PlannedMail,
  nextPlace: (accountId: string) => AccountPlace,
): void {
  if (messages.length > 1) share.run(source, messages.length);
  for (const { id, receivedAt, inbox, recipient } of messages) {
    const { account, order } = nextPlace(recipient.accountId);
    message.run(inbox.seq, receivedAt, id, source, JSON.stringify(recipient.rcptTo), account, order);
  }
}

/** Adds the deliveries of new messages, and wakes their webhooks. */
function addDeliveries(statements: Statements, mails: readonly PlannedMail[], now: number): void {
  const { accountWebhooks, inboxWebhooks, delivery, wake } = statements;
  const ofAccounts = new Map<string, unknown[]>();
  const added = new Map<string, number>();
  for (const { id: messageId, inbox, recipient, placed } of mails.flatMap(({ messages }) => messages)) {
    const { accountId, inboxId } = recipient;
    const ofAccount = ofAccounts.get(accountId) ?? accountWebhooks.all(accountId, now);
    ofAccounts.set(accountId, ofAccount);
    const ofInbox = inbox.hasWebhook ? inboxWebhooks.all(accountId, inboxId, now) : [];
    const webhooks = [...ofAccount, ...ofInbox] as { id: string }[];
    if (webhooks.length === 0) continue;
    const event = newId('evt', now);
    for (const { id: webhook } of webhooks) {
      delivery.run(newId('dlv', now), webhook, event, inboxId, messageId, now, now);
      added.set(webhook, (added.get(webhook) ?? 0) + 1);
    }
    placed.deliveries = webhooks.length;
  }
  for (const [webhook, count] of added) wake.run(webhook, now, count);
}
