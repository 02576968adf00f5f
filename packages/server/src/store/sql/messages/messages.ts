import { newId } from '../../../ids.ts';
import type { MessageStore, NewMail, NewMailRecipient, Placed } from '../../contract/index.ts';
import type { FreeMessages } from '../delete-in-steps.ts';
import type { Db, Dialect } from '../dialect.ts';
import { onConnection, prepare, type Runner, type Slots } from '../prepared.ts';
import { createEnqueue, type Enqueuing } from '../webhooks/queue.ts';
import { createAccountPages } from './account-pages.ts';
import { createFollowing, createNumbering, type Numbering } from './account-sequence.ts';
import { createDeletion } from './deletion.ts';
import { createEvict } from './eviction.ts';
import { createReads } from './reads.ts';
import { createSearch } from './search.ts';
import type { Sources } from './sources.ts';

/** A place in an inbox, taken for one message. */
interface Place {
  inboxSeq: number;
  receivedAt: number;
  /** Whether the inbox ever had a webhook of its own. */
  hasWebhook: boolean;
}

interface Wish {
  recipient: NewMailRecipient;
  place: Place | undefined;
  refused: 'gone' | 'full';
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Committing mails: the product's hot path, three statements a mail and one more for each webhook. */
function createAddBatch(db: Db, sources: Sources): MessageStore['addBatch'] {
  const takePlace = prepare(
    (value: Slots<{ inboxId: string; accountId: string; maxMessages: number; now: number }>) =>
      db
        .updateTable('inboxes')
        .set((row) => ({
          message_count: row('message_count', '+', 1),
          version: row('version', '+', 1),
          last_received_at: row
            .case()
            .when('last_received_at', '<', value.now)
            .then(value.now)
            .else(row('last_received_at', '+', 1))
            .end(),
        }))
        .where('id', '=', value.inboxId)
        .where('account_id', '=', value.accountId)
        .where('expires_at', '>', value.now)
        // The sweeper may have freed it already when the clock was set back since.
        .where('freed', '=', 0)
        .where('message_count', '<', value.maxMessages)
        .returning(['seq', 'last_received_at', 'has_webhook']),
  );
  const giveBackPlace = prepare((value: Slots<{ inboxSeq: number }>) =>
    db
      .updateTable('inboxes')
      .set((row) => ({ message_count: row('message_count', '-', 1) }))
      .where('seq', '=', value.inboxSeq),
  );
  const isLive = prepare((value: Slots<{ inboxId: string; accountId: string; now: number }>) =>
    db
      .selectFrom('inboxes')
      .select('seq')
      .where('id', '=', value.inboxId)
      .where('account_id', '=', value.accountId)
      .where('expires_at', '>', value.now)
      .where('freed', '=', 0),
  );
  const insertMessage = prepare(
    (
      value: Slots<{
        inbox: number;
        receivedAt: number;
        id: string;
        source: number;
        rcptTo: string;
        account: number;
        accountOrder: number;
      }>,
    ) =>
      db.insertInto('messages').values({
        inbox_seq: value.inbox,
        received_at: value.receivedAt,
        id: value.id,
        source_seq: value.source,
        rcpt_to: value.rcptTo,
        account_seq: value.account,
        account_order: value.accountOrder,
      }),
  );

  const enqueue = createEnqueue(db);

  const takeNumbers = createNumbering(db);

  const evict = createEvict(db, sources);

  async function takePlaces(on: Runner, mails: NewMail[], now: number): Promise<Wish[][]> {
    const wishes = mails.map((mail) =>
      mail.recipients.map((recipient): Wish => ({ recipient, place: undefined, refused: 'gone' })),
    );
    // Every transaction locks inboxes in the order of their ids, so that no two wait for each other;
    // the sort is stable, so mails to one inbox keep their order.
    const ordered = wishes
      .flat()
      .sort(
        (a, b) =>
          Number(a.recipient.inboxId > b.recipient.inboxId) -
          Number(a.recipient.inboxId < b.recipient.inboxId),
      );
    for (const wish of ordered) {
      const { inboxId, accountId } = wish.recipient;
      const maxMessages = wish.recipient.evictsOldest ? NO_LIMIT : wish.recipient.maxMessages;
      const [row] = await takePlace(on, { inboxId, accountId, maxMessages, now });
      if (row) {
        const hasWebhook = row.has_webhook === 1;
        wish.place = { inboxSeq: row.seq, receivedAt: row.last_received_at, hasWebhook };
      } else if ((await isLive(on, { inboxId, accountId, now })).length > 0) wish.refused = 'full';
    }
    for (const ofMail of wishes)
      if (ofMail.some(({ refused }) => refused === 'full')) await refuseAll(on, ofMail);
    return wishes;
  }

  /** The sender tries the whole mail again, so nobody may have it already. */
  async function refuseAll(on: Runner, wishes: Wish[]): Promise<void> {
    for (const wish of wishes) {
      if (wish.place) await giveBackPlace(on, { inboxSeq: wish.place.inboxSeq });
      wish.place = undefined;
      wish.refused = 'full';
    }
  }

  async function publish(
    on: Runner,
    mail: NewMail,
    wishes: Wish[],
    { next, enqueuing }: { next: Numbering; enqueuing: Enqueuing },
  ): Promise<Placed[]> {
    const messages = wishes.filter(({ place }) => place).length;
    const source = messages > 0 ? await sources.add(on, mail, messages) : 0;
    const placed: Placed[] = [];
    for (const { recipient, place, refused } of wishes) {
      const { inboxId, accountId, rcptTo } = recipient;
      if (!place) {
        placed.push({ inboxId, accountId, refused });
        continue;
      }
      const { inboxSeq: inbox, receivedAt, hasWebhook } = place;
      const messageId = newId('msg', receivedAt);
      await insertMessage(on, {
        ...{ inbox, receivedAt, id: messageId, source, rcptTo: JSON.stringify(rcptTo) },
        ...next(accountId),
      });
      const deliveries = await enqueuing.add({ accountId, inboxId, messageId, hasWebhook });
      placed.push({ inboxId, accountId, messageId, receivedAt, ...(deliveries > 0 && { deliveries }) });
    }
    return placed;
  }

  /** Once an inbox, however many messages it got. */
  async function evictFrom(on: Runner, wishes: Wish[]): Promise<void> {
    const limits = new Map<number, number>();
    for (const { recipient, place } of wishes) {
      if (place && recipient.evictsOldest) limits.set(place.inboxSeq, recipient.maxMessages);
    }
    for (const [inboxSeq, maxMessages] of limits) await evict(on, inboxSeq, maxMessages);
  }

  async function commit(on: Runner, mails: NewMail[], now: number): Promise<Placed[][]> {
    const next = await takeNumbers(on, mails);
    const wishes = await takePlaces(on, mails, now);
    const enqueuing = enqueue(on, now);
    const placed: Placed[][] = [];
    for (const [index, mail] of mails.entries())
      placed.push(await publish(on, mail, wishes[index] ?? [], { next, enqueuing }));
    await enqueuing.finish();
    await evictFrom(on, wishes.flat());
    return placed;
  }

  return (mails, now) =>
    db.transaction().execute((tx) => onConnection(tx, (connection) => commit(connection, mails, now)));
}

/** The part of the store that keeps messages. */
export function createMessages(
  db: Db,
  dialect: Dialect,
  sources: Sources,
  freeMessages: FreeMessages,
): MessageStore {
  return {
    ...createReads(db),
    ...createFollowing(db),
    ...createAccountPages(db),
    search: createSearch(db, dialect),
    ...createDeletion(db, dialect, sources, freeMessages),
    addBatch: createAddBatch(db, sources),
  };
}
