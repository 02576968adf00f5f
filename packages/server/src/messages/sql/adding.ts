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
import { endDelivered, failDelivered } from '../../outgoing/sql.ts';
import {
  addSources,
  insertRows,
  RAW_PIECE_BYTES,
  removeSources,
  type StoredSource,
} from '../../reading/sql.ts';
import type { NewMail, NewMailRecipient, Placed } from '../records.ts';
import { evict } from './ending.ts';

/** A locked inbox. {@link planMessage} changes its counters for each message, before the messages are inserted. */
interface BatchInbox {
  id: string;
  accountId: string;
  seq: number;
  messageCount: number;
  lastReceivedAt: number;
  emptiedUpTo: number;
  outcomes: OutcomeState[];
  webhooks: Webhook[];
  /** Row number of the account, and the last used `accountOrder`. An account's inboxes share the object. */
  place: { account: number; order: number };
  /** How many messages the batch adds, and how many of the oldest ones it deletes. */
  added: number;
  excess: number;
}

interface PlannedMessage {
  inbox: BatchInbox;
  rcptTo: string[];
  placed: Extract<Placed, { messageId: string }>;
  deliveries: NewDelivery[];
}

interface PlannedMail {
  mail: StoredSource<NewMail>;
  messages: PlannedMessage[];
}

interface BatchPlan {
  mails: PlannedMail[];
  placed: Placed[][];
  /** `refused`: sources of mails that no inbox accepts. `undelivered`: ids of outgoing mails among them. */
  refused: number[];
  undelivered: string[];
}

function planMessage(
  inbox: BatchInbox,
  { rcptTo, maxMessages, evictsOldest }: NewMailRecipient,
  source: number,
  now: number,
): PlannedMessage {
  inbox.added += 1;
  inbox.messageCount += 1;
  inbox.lastReceivedAt = Math.max(now, inbox.lastReceivedAt + 1);
  if (evictsOldest && inbox.messageCount > maxMessages) {
    inbox.excess += inbox.messageCount - maxMessages;
    inbox.messageCount = maxMessages;
  }
  const { id: inboxId, accountId, webhooks, lastReceivedAt: receivedAt } = inbox;
  const messageId = newId('msg', receivedAt);
  const deliveries = deliveriesOf({ inboxId, messageId }, webhooks, now);
  const placed = { inboxId, accountId, messageId, receivedAt, source };
  if (deliveries.length === 0) return { inbox, rcptTo, placed, deliveries };
  return { inbox, rcptTo, placed: { ...placed, deliveries: deliveries.length }, deliveries };
}

/** Decides which messages to store. An outgoing mail that is not in `ended` was stored or cancelled. */
function planBatch(
  mails: readonly StoredSource<NewMail>[],
  { inboxes, ended }: Locked,
  now: number,
): BatchPlan {
  const plan: BatchPlan = { mails: [], placed: [], refused: [], undelivered: [] };
  const toStore = new Set(ended);
  const isFull = ({ inboxId, evictsOldest, maxMessages }: NewMailRecipient): boolean =>
    !evictsOldest && (inboxes.get(inboxId)?.messageCount ?? -1) >= maxMessages;
  for (const mail of mails) {
    const { source, recipients, outgoing } = mail;
    const refused = recipients.some(isFull) ? 'full' : 'gone';
    const wasStored = outgoing !== undefined && !toStore.delete(outgoing);
    const messages: PlannedMessage[] = [];
    const place = (recipient: NewMailRecipient): Placed => {
      const { inboxId, accountId } = recipient;
      const inbox = refused === 'full' || wasStored ? undefined : inboxes.get(inboxId);
      if (!inbox) return { inboxId, accountId, refused };
      const message = planMessage(inbox, recipient, source, now);
      messages.push(message);
      return message.placed;
    };
    plan.placed.push(recipients.map(place));
    if (messages.length > 0) plan.mails.push({ mail, messages });
    else {
      plan.refused.push(source);
      if (outgoing !== undefined && !wasStored) plan.undelivered.push(outgoing);
    }
  }
  return plan;
}

interface Locked {
  inboxes: ReadonlyMap<string, BatchInbox>;
  /** Ids of outgoing mail that this transaction completes. */
  ended: string[];
}

interface Taken {
  id: string;
  account: number;
  last: number;
}

/** Reserves `accountOrder` numbers; locks `account_orders`. @param counts how many numbers, by account id */
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
  const taken: Taken[] = [];
  for (const [id, count] of counts) {
    taken.push(
      ...(await tx.all<Taken>(
        sql`update account_orders set last = last + ${count}
          where account_seq = (select seq from accounts where id = ${id} and deleted_at is null)
          returning ${id} as id, account_seq as account, last`,
      )),
    );
  }
  return taken;
}

interface Webhook {
  id: string;
  accountId: string;
  inboxId: string | null;
}

/** Skips `freed` inboxes: they expired, but their expiry is in the future again if a clock was set back. */
async function lockInboxes(tx: Tx, ids: readonly string[], now: number) {
  type Row = Omit<BatchInbox, 'outcomes'> & { outcomes: string | null };
  // On SQLite, one query per inbox takes half the time of a query with a list.
  const lists = tx.engine === 'postgres' ? [ids] : ids.map((id) => [id]);
  const found = lists.map((list) =>
    tx.all<Row>(
      sql`select id, account_id as "accountId", seq, message_count as "messageCount",
          last_received_at as "lastReceivedAt", emptied_up_to as "emptiedUpTo", outcomes
        from inboxes where id ${anyOf(list)} and expires_at > ${now} and freed = 0 order by id ${FOR_UPDATE}`,
    ),
  );
  return (await Promise.all(found)).flat();
}

/** Selects and locks webhooks, so that none is deleted before this transaction has written its deliveries. */
const webhooksOf = (tx: Tx, accountIds: readonly string[], inboxIds: readonly string[], now: number) =>
  // Both sides of `or` name the account, because SQLite searches the index for each side separately.
  tx.all<Webhook>(
    sql`select id, account_id as "accountId", inbox_id as "inboxId" from webhooks
      where (account_id ${anyOf(accountIds)} and inbox_id is null
          or account_id ${anyOf(accountIds)} and inbox_id ${anyOf(inboxIds)})
        and enabled = 1 and ends_at > ${now} order by id ${KEEP}`,
  );

/** Every batch locks the rows of a table in the same order, to prevent deadlocks. */
async function lock(tx: Tx, mails: readonly NewMail[], now: number): Promise<Locked> {
  const recipients = mails.flatMap((mail) => mail.recipients);
  const counts = new Map<string, number>();
  for (const { accountId } of recipients) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  const owners = new Map(recipients.map(({ inboxId, accountId }) => [inboxId, accountId]));
  const inboxIds = [...owners.keys()];
  const accountIds = [...counts.keys()];
  const outgoing = mails.flatMap((mail) => mail.outgoing ?? []);
  const [taken, found, webhooks, ended] = await together([
    takePlaces(tx, counts),
    lockInboxes(tx, inboxIds, now),
    webhooksOf(tx, accountIds, inboxIds, now),
    outgoing.length === 0 ? Promise.resolve([]) : endDelivered(tx, outgoing, now),
  ]);
  // Every recipient has reserved an `accountOrder`, even one for whom no message is stored.
  const places = new Map(
    taken.map(({ id, account, last }) => [id, { account, order: last - (counts.get(id) ?? 0) }]),
  );
  const inboxes = new Map<string, BatchInbox>();
  for (const { outcomes, ...row } of found) {
    const place = places.get(row.accountId);
    if (owners.get(row.id) !== row.accountId || !place) continue;
    inboxes.set(row.id, {
      ...row,
      ...{ place, added: 0, excess: 0 },
      outcomes: outcomes === null ? [] : parseOr<OutcomeState[]>(outcomes, []),
      webhooks: webhooks.filter(
        ({ accountId, inboxId }) => accountId === row.accountId && (inboxId ?? row.id) === row.id,
      ),
    });
  }
  return { inboxes, ended };
}

async function addMessages(tx: Tx, mails: readonly PlannedMail[]): Promise<void> {
  const shared: [number, number][] = [];
  const rows = mails.flatMap(({ mail: { source }, messages }) => {
    if (messages.length > 1) shared.push([source, messages.length]);
    return messages.map(({ inbox: { seq, place }, rcptTo, placed: { messageId, receivedAt } }) => {
      place.order += 1;
      return [seq, receivedAt, messageId, source, JSON.stringify(rcptTo), place.account, place.order];
    });
  });
  await together([
    insertRows(tx, MESSAGES, rows),
    insertRows(tx, 'shared_sources (source_seq, messages)', shared),
  ]);
}

/** Table and columns for new messages. The other columns have defaults. */
export const MESSAGES =
  'messages (inbox_seq, received_at, id, source_seq, rcpt_to, account_seq, account_order)';

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

function addUnread(tx: Tx, mails: readonly PlannedMail[]) {
  const rows = mails.map(({ mail: { source, recipients, checks }, messages }) => {
    const ids = messages.flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
    const waiting = ids.length > 0 ? JSON.stringify(ids) : null;
    return [source, recipients[0]?.accountId ?? '', checks ? 1 : 0, waiting];
  });
  return insertRows(tx, 'unread (source_seq, account_id, checks, deliveries)', rows);
}

async function moveInboxes(tx: Tx, { inboxes }: Locked, now: number): Promise<void> {
  const rows = [...inboxes.values()].flatMap(
    ({ seq, messageCount: messages, lastReceivedAt: last, added, excess }) =>
      added > 0 ? { seq, messages, last, added, changes: added + excess } : [],
  );
  if (tx.engine === 'sqlite') {
    await Promise.all(
      rows.map(({ seq, messages, last, added, changes }) =>
        tx.run(
          sql`update inboxes set message_count = ${messages}, last_received_at = ${last}, version = version + ${changes},
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
        version = version + moved.changes, received_messages = received_messages + moved.added,
        first_received_at = case first_received_at when 0 then ${now} else first_received_at end
      from (select cast(r.value ->> 'seq' as bigint) as seq, cast(r.value ->> 'messages' as bigint) as messages,
          cast(r.value ->> 'last' as bigint) as last, cast(r.value ->> 'added' as bigint) as added,
          cast(r.value ->> 'changes' as bigint) as changes
        from ${eachOf(rows)} as r) moved
      where inboxes.seq = moved.seq`,
  );
}

/** Uses the next rule once. @returns undefined if no rule is left */
function takeOutcome(rules: OutcomeState[]): OutcomeState['outcome'] | undefined {
  const rule = rules.find(({ left }) => left > 0);
  if (rule) rule.left -= 1;
  return rule?.outcome;
}

/** Takes the next simulated outcome (such as a bounce) of each message's inbox, and queues it for sending. */
async function addOutcomes(tx: Tx, mails: readonly PlannedMail[], now: number): Promise<void> {
  const rows: Value[][] = [];
  const changed = new Set<BatchInbox>();
  for (const { mail, messages } of mails) {
    const { via, mailFrom } = mail.envelope;
    // A mail without a sender is a bounce, so an outcome could not be sent to anyone.
    if (mailFrom === '') continue;
    for (const { inbox, placed } of messages) {
      const outcome = takeOutcome(inbox.outcomes);
      if (outcome === undefined) continue;
      changed.add(inbox);
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
    ...[...changed].map(({ seq, outcomes }) =>
      tx.run(sql`update inboxes set outcomes = ${JSON.stringify(outcomes)} where seq = ${seq}`),
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
    // Sources are sent together with the statements that lock rows, which saves PostgreSQL a round trip.
    // Large sources are stored before any row is locked. Sources of refused mails are deleted below.
    const adding = addSources(tx, mails);
    if (mails.some(({ raw }) => raw.length > RAW_PIECE_BYTES)) await adding;
    const [stored, locked] = await together([adding, lock(tx, mails, now)]);
    const plan = planBatch(stored, locked, now);
    const { mails: kept, placed, refused, undelivered } = plan;
    const deliveries = kept.flatMap(({ messages }) => messages.flatMap((message) => message.deliveries));
    const overfull = [...locked.inboxes.values()].filter(({ excess }) => excess > 0);
    // COMMIT is sent next, so all statements must be sent in this turn of the event loop.
    const others = together([
      addMessages(tx, kept),
      addDeliveries(tx, deliveries, now, null),
      addUnread(tx, kept),
      moveInboxes(tx, locked, now),
      addOutcomes(tx, kept, now),
      removeSources(tx, refused),
      ...(undelivered.length > 0 ? [failDelivered(tx, undelivered)] : []),
    ]);
    for (const place of placed.flat())
      if ('messageId' in place)
        tx.hint({ kind: 'message', accountId: place.accountId, inboxId: place.inboxId });
    await (overfull.length === 0 ? tx.finish(others) : others.then(() => evict(tx, overfull)));
    return placed;
  },
);
