import type { OutcomeState } from '@mayfly/client/contract';
import {
  anyOf,
  eachOf,
  FOR_UPDATE,
  KEEP,
  parseOr,
  sql,
  type Tx,
  together,
  type Value,
  write,
} from '../../database/sql.ts';
import { newId } from '../../ids.ts';
import { endDelivered, failDelivered, takeOutcome } from '../../outgoing/sql.ts';
import { addSources, insertRows, RAW_PIECE_BYTES, removeSources } from '../../reading/sql.ts';
import type { NewMail, NewMailRecipient, Placed } from '../records.ts';
import { evict } from './ending.ts';

interface BatchInbox {
  id: string;
  accountId: string;
  seq: number;
  messageCount: number;
  lastReceivedAt: number;
  emptiedUpTo: number;
  outcomes: string | null;
}

interface PlannedMessage {
  inbox: BatchInbox;
  recipient: NewMailRecipient;
  placed: Extract<Placed, { messageId: string }>;
}

interface BatchPlan {
  mails: { mail: NewMail; messages: PlannedMessage[] }[];
  placed: Placed[][];
  /** For each inbox: the number of added messages, which the counters of the inbox already include. */
  changed: Map<BatchInbox, number>;
  /** For each full inbox that deletes its oldest messages: how many messages to delete. */
  overfull: Map<BatchInbox, number>;
}

/**
 * Decides which messages to store, and updates the counters of inboxes. `ended` has the ids of outgoing mail that
 * this transaction completed. Mail with another `outgoing` id is skipped, because it was stored or cancelled before.
 */
function planBatch(mails: readonly NewMail[], { inboxes, ended }: Locked, now: number): BatchPlan {
  const plan: BatchPlan = { mails: [], placed: [], changed: new Map(), overfull: new Map() };
  const toStore = new Set(ended);
  for (const mail of mails) {
    const { source, recipients, outgoing } = mail;
    const isRefused = recipients.some(({ inboxId, evictsOldest, maxMessages }) => {
      const inbox = inboxes.get(inboxId);
      return inbox !== undefined && !evictsOldest && inbox.messageCount >= maxMessages;
    });
    const wasStored = outgoing !== undefined && !toStore.delete(outgoing);
    const messages: PlannedMessage[] = [];
    const place = (recipient: NewMailRecipient): Placed => {
      const { inboxId, accountId, maxMessages, evictsOldest } = recipient;
      const inbox = wasStored ? undefined : inboxes.get(inboxId);
      if (isRefused || !inbox) return { inboxId, accountId, refused: isRefused ? 'full' : 'gone' };
      inbox.messageCount += 1;
      inbox.lastReceivedAt = Math.max(now, inbox.lastReceivedAt + 1);
      plan.changed.set(inbox, (plan.changed.get(inbox) ?? 0) + 1);
      const excess = evictsOldest ? inbox.messageCount - maxMessages : 0;
      if (excess > 0) {
        plan.overfull.set(inbox, (plan.overfull.get(inbox) ?? 0) + excess);
        inbox.messageCount = maxMessages;
      }
      const receivedAt = inbox.lastReceivedAt;
      const placed = { inboxId, accountId, messageId: newId('msg', receivedAt), receivedAt, source };
      messages.push({ inbox, recipient, placed });
      return placed;
    };
    plan.placed.push(recipients.map(place));
    if (messages.length > 0) plan.mails.push({ mail, messages });
  }
  return plan;
}

/** Rows that a batch has locked. Even recipients that will get no message have an `accountOrder` reserved. */
interface Locked {
  places: Map<string, { account: number; order: number }>;
  inboxes: Map<string, BatchInbox>;
  webhooks: Webhook[];
  ended: string[];
}

interface Taken {
  id: string;
  account: number;
  last: number;
}

/** Reserves `accountOrder` numbers, and locks the rows of accounts. @param counts how many, by account id */
export async function takePlaces(tx: Tx, counts: ReadonlyMap<string, number>): Promise<Taken[]> {
  if (tx.engine === 'postgres') {
    // Lock rows in the order of `seq`, to prevent deadlocks between batches.
    return tx.all<Taken>(
      sql`with wanted as (
          select a.id, a.seq, w.count
          from unnest(${`{${[...counts.keys()]}}`}::text[], ${`{${[...counts.values()]}}`}::bigint[]) as w(id, count)
            join accounts a on a.id = w.id and a.deleted_at is null join account_orders o on o.account_seq = a.seq
          order by a.seq for no key update of o)
        update account_orders o set last = o.last + wanted.count from wanted where o.account_seq = wanted.seq
        returning wanted.id, wanted.seq as account, o.last`,
    );
  }
  const taken: (Taken | undefined)[] = [];
  for (const [id, count] of counts)
    taken.push(
      await tx.first<Taken>(
        sql`update account_orders set last = last + ${count}
          where account_seq = (select seq from accounts where id = ${id} and deleted_at is null)
          returning ${id} as id, account_seq as account, last`,
      ),
    );
  return taken.filter((one) => one !== undefined);
}

interface Webhook {
  id: string;
  accountId: string;
  inboxId: string | null;
}

/** A freed inbox has ended, even if its expiry is in the future again because a clock was set back. */
async function lockInboxes(tx: Tx, ids: readonly string[], now: number): Promise<BatchInbox[]> {
  // On SQLite, one query per inbox takes half the time of a query with a list.
  const lists = tx.engine === 'postgres' ? [ids] : ids.map((id) => [id]);
  const found = lists.map((list) =>
    tx.all<BatchInbox>(
      sql`select id, account_id as "accountId", seq, message_count as "messageCount",
          last_received_at as "lastReceivedAt", emptied_up_to as "emptiedUpTo", outcomes
        from inboxes where id ${anyOf(list)} and expires_at > ${now} and freed = 0 order by id ${FOR_UPDATE}`,
    ),
  );
  return (await Promise.all(found)).flat();
}

/** Selects webhooks, which cannot be deleted until this transaction has written their deliveries. */
const webhooksOf = (tx: Tx, accountIds: readonly string[], inboxIds: readonly string[], now: number) =>
  // Both sides of `or` name the account, because SQLite searches the index for each side separately.
  tx.all<Webhook>(
    sql`select id, account_id as "accountId", inbox_id as "inboxId" from webhooks
      where (account_id ${anyOf(accountIds)} and inbox_id is null
          or account_id ${anyOf(accountIds)} and inbox_id ${anyOf(inboxIds)})
        and enabled = 1 and ends_at > ${now} order by id ${KEEP}`,
  );

const NONE_ENDED: Promise<string[]> = Promise.resolve([]);

/** Every batch locks the rows of a table in the same order, to prevent deadlocks. */
async function lock(tx: Tx, mails: readonly NewMail[], now: number): Promise<Locked> {
  const recipients = mails.flatMap((mail) => mail.recipients);
  const counts = new Map<string, number>();
  for (const { accountId } of recipients) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  const owners = new Map(recipients.map(({ inboxId, accountId }) => [inboxId, accountId]));
  const inboxIds = [...owners.keys()];
  const accountIds = [...counts.keys()];
  const outgoing = mails.flatMap((mail) => mail.outgoing ?? []);
  const [taken, inboxes, webhooks, ended] = await together([
    takePlaces(tx, counts),
    lockInboxes(tx, inboxIds, now),
    webhooksOf(tx, accountIds, inboxIds, now),
    outgoing.length === 0 ? NONE_ENDED : endDelivered(tx, outgoing, now),
  ]);
  const places = new Map(
    taken.map(({ id, account, last }) => [id, { account, order: last - (counts.get(id) ?? 0) }]),
  );
  const live = inboxes.filter(({ id, accountId }) => owners.get(id) === accountId && places.has(accountId));
  return {
    places,
    inboxes: new Map(live.map((inbox) => [inbox.id, inbox])),
    ...{ webhooks, ended },
  };
}

async function addMessages(tx: Tx, { mails }: BatchPlan, places: Locked['places']): Promise<void> {
  const shared: [number, number][] = [];
  const rows = mails.flatMap(({ mail: { source }, messages }) => {
    if (messages.length > 1) shared.push([source, messages.length]);
    return messages.map(({ inbox, recipient, placed: { messageId, receivedAt } }) => {
      const place = places.get(recipient.accountId);
      if (!place) throw new Error('An inbox has no account.');
      place.order += 1;
      const rcptTo = JSON.stringify(recipient.rcptTo);
      return [inbox.seq, receivedAt, messageId, source, rcptTo, place.account, place.order];
    });
  });
  const columns = 'inbox_seq, received_at, id, source_seq, rcpt_to, account_seq, account_order';
  await together([
    insertRows(tx, `messages (${columns})`, rows),
    insertRows(tx, 'shared_sources (source_seq, messages)', shared),
  ]);
}

interface NewDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  inboxId: string;
  messageId: string;
}

export function deliveriesOf(
  message: Pick<NewDelivery, 'inboxId' | 'messageId'>,
  webhooks: readonly Pick<Webhook, 'id'>[],
  now: number,
): NewDelivery[] {
  if (webhooks.length === 0) return [];
  const eventId = newId('evt', now);
  return webhooks.map(({ id: webhookId }) => ({ ...message, id: newId('dlv', now), webhookId, eventId }));
}

/** @param dueAt null if the deliveries become due later, when the parsed content of the message is stored */
export async function addDeliveries(
  tx: Tx,
  deliveries: readonly NewDelivery[],
  now: number,
  dueAt: number | null,
): Promise<void> {
  const rows = deliveries.map(({ id, webhookId, eventId, inboxId, messageId }) => [
    ...[id, webhookId, eventId, inboxId, messageId, 'pending', now, dueAt, 0],
  ]);
  const columns = 'id, webhook_id, event_id, inbox_id, message_id, state, created_at, due_at, round';
  await insertRows(tx, `deliveries (${columns})`, rows);
}

const planDeliveries = ({ mails }: BatchPlan, webhooks: readonly Webhook[], now: number): NewDelivery[][] =>
  mails.map(({ messages }) =>
    messages.flatMap(({ placed }) => {
      const { accountId, inboxId, messageId } = placed;
      const ofMessage = webhooks.filter(
        (webhook) =>
          webhook.accountId === accountId && (webhook.inboxId === null || webhook.inboxId === inboxId),
      );
      const deliveries = deliveriesOf({ inboxId, messageId }, ofMessage, now);
      if (deliveries.length > 0) placed.deliveries = deliveries.length;
      return deliveries;
    }),
  );

function addUnread(tx: Tx, { mails }: BatchPlan, deliveries: readonly (readonly NewDelivery[])[]) {
  const rows = mails.map(({ mail: { source, recipients, checks } }, index) => {
    const ids = deliveries[index]?.map(({ id }) => id) ?? [];
    const waiting = ids.length > 0 ? JSON.stringify(ids) : null;
    return [source, recipients[0]?.accountId ?? '', checks ? 1 : 0, waiting];
  });
  return insertRows(tx, 'unread (source_seq, account_id, checks, deliveries)', rows);
}

async function moveInboxes(tx: Tx, { changed }: BatchPlan, now: number): Promise<void> {
  const rows = [...changed].map(([{ seq, messageCount: messages, lastReceivedAt: last }, added]) => ({
    ...{ seq, messages, last, added },
  }));
  if (tx.engine === 'sqlite') {
    await Promise.all(
      rows.map(({ seq, messages, last, added }) =>
        tx.run(
          sql`update inboxes set message_count = ${messages}, last_received_at = ${last}, version = version + ${added},
            received_messages = received_messages + ${added},
            first_received_at = case first_received_at when 0 then ${now} else first_received_at end
          where seq = ${seq}`,
        ),
      ),
    );
    return;
  }
  if (rows.length === 0) return;
  await tx.run(
    sql`update inboxes set message_count = moved.messages, last_received_at = moved.last,
        version = version + moved.added, received_messages = received_messages + moved.added,
        first_received_at = case first_received_at when 0 then ${now} else first_received_at end
      from (select cast(r.value ->> 'seq' as bigint) as seq, cast(r.value ->> 'messages' as bigint) as messages,
          cast(r.value ->> 'last' as bigint) as last, cast(r.value ->> 'added' as bigint) as added
        from ${eachOf(rows)} as r) moved
      where inboxes.seq = moved.seq`,
  );
}

/** Takes the next simulated outcome (such as a bounce) of each inbox, so that no other mail uses it. */
async function addOutcomes(tx: Tx, { mails }: BatchPlan, now: number): Promise<void> {
  const rows: Value[][] = [];
  const rulesOf = new Map<BatchInbox, OutcomeState[]>();
  for (const { mail, messages } of mails) {
    const { via, mailFrom } = mail.envelope;
    for (const { inbox, placed } of messages) {
      // A bounce has no sender to which an outcome could be sent.
      if (inbox.outcomes === null || mailFrom === '') continue;
      const rules = rulesOf.get(inbox) ?? parseOr<OutcomeState[]>(inbox.outcomes, []);
      const outcome = takeOutcome(rules);
      if (outcome === undefined) continue;
      rulesOf.set(inbox, rules);
      placed.hasOutcome = true;
      const kind = via === undefined ? 'report' : 'event';
      const isMailed = kind === 'report' && outcome !== 'unsubscribe';
      const details = JSON.stringify({ outcome, via, ...(isMailed && { to: [mailFrom] }) });
      rows.push([
        ...[newId('out', now), inbox.accountId, inbox.seq, kind, 'pending'],
        ...[placed.messageId, details, now, now, 0],
      ]);
    }
  }
  const columns = 'id, account_id, inbox_seq, kind, state, message_id, details, created_at, due_at, attempts';
  await together([
    insertRows(tx, `outgoing (${columns})`, rows),
    ...[...rulesOf].map(([{ seq }, rules]) =>
      tx.run(sql`update inboxes set outcomes = ${JSON.stringify(rules)} where seq = ${seq}`),
    ),
  ]);
}

/**
 * Stores a batch in one transaction. If one inbox is full, the mail is refused for all recipients, because
 * the sender can only resend it to all of them (RFC 5321 section 4.2.5). An inbox that deletes its oldest
 * messages never holds more than `maxMessages` after the commit.
 * Each message gets `receivedAt = max(now, the inbox's newest + 1)` and an id that contains it.
 */
export const addBatch = write(
  { keepsInboxes: true, commit: 'pipelined' },
  async (tx, mails: NewMail[], now: number): Promise<Placed[][]> => {
    // On PostgreSQL, sources are sent together with the statements that lock rows, to save a round trip.
    // Large sources are stored before any row is locked. Sources of rejected mails are deleted below.
    const early = tx.engine === 'postgres' ? addSources(tx, mails) : undefined;
    if (mails.some(({ raw }) => raw.length > RAW_PIECE_BYTES)) await early;
    const [, locked] = await together([Promise.resolve(early), lock(tx, mails, now)]);
    const plan = planBatch(mails, locked, now);
    const kept = plan.mails.map(({ mail }) => mail);
    if (!early) await addSources(tx, kept);
    const unstored = locked.ended.filter((id) => !kept.some(({ outgoing }) => outgoing === id));
    const refused = early && kept.length < mails.length ? mails.filter((mail) => !kept.includes(mail)) : [];
    const deliveries = planDeliveries(plan, locked.webhooks, now);
    // COMMIT is sent next, so all statements must be sent in this turn of the event loop.
    const others = together([
      addMessages(tx, plan, locked.places),
      addDeliveries(tx, deliveries.flat(), now, null),
      addUnread(tx, plan, deliveries),
      moveInboxes(tx, plan, now),
      addOutcomes(tx, plan, now),
      unstored.length === 0 ? NONE_ENDED : failDelivered(tx, unstored),
      removeSources(
        tx,
        refused.map(({ source }) => source),
      ),
    ]);
    await (plan.overfull.size === 0 ? tx.finish(others) : others);
    await evict(tx, plan.overfull);
    return plan.placed;
  },
);
