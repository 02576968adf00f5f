import { newId } from '../../../ids.ts';
import type { NewMail, NewMailRecipient, Placed } from '../../contract/index.ts';
import type { Overfull } from './eviction.ts';

/** A live inbox as a batch finds it; the transaction has locked its row. */
export interface BatchInbox {
  seq: number;
  messageCount: number;
  lastReceivedAt: number;
  /** Whether the inbox ever had a webhook of its own. */
  hasWebhook: boolean;
}

/** A message that a batch adds to an inbox. */
export interface PlannedMessage {
  id: string;
  receivedAt: number;
  inbox: BatchInbox;
  recipient: NewMailRecipient;
  /** The entry of the result; deliveries are added to it. */
  placed: Extract<Placed, { messageId: string }>;
}

/** A mail with the messages that it becomes; none if it is refused for all recipients. */
export interface PlannedMail {
  mail: NewMail;
  messages: PlannedMessage[];
}

/** What one transaction has to write. */
export interface BatchPlan {
  mails: PlannedMail[];
  placed: Placed[][];
  /** Inboxes that got messages, as they are after the batch, with the number of messages added. */
  changed: Map<BatchInbox, number>;
  /** Inboxes that now hold too many messages. */
  overfull: Overfull[];
}

const isFull = ({ messageCount }: BatchInbox, { evictsOldest, maxMessages }: NewMailRecipient): boolean =>
  !evictsOldest && messageCount >= maxMessages;

/**
 * Decides what becomes of each recipient of a batch, by the rules of `MessageStore.addBatch`. No I/O, so that
 * all engines decide alike.
 * @param inboxes the live inboxes of the batch by id; their counters are moved on
 */
export function planBatch(
  mails: readonly NewMail[],
  inboxes: ReadonlyMap<string, BatchInbox>,
  now: number,
): BatchPlan {
  const changed = new Map<BatchInbox, number>();
  const limits = new Map<BatchInbox, number>();
  const placed: Placed[][] = [];

  function place(recipient: NewMailRecipient): PlannedMessage | undefined {
    const inbox = inboxes.get(recipient.inboxId);
    if (!inbox) return undefined;
    inbox.messageCount += 1;
    inbox.lastReceivedAt = Math.max(now, inbox.lastReceivedAt + 1);
    changed.set(inbox, (changed.get(inbox) ?? 0) + 1);
    if (recipient.evictsOldest) limits.set(inbox, recipient.maxMessages);
    const { inboxId, accountId } = recipient;
    const receivedAt = inbox.lastReceivedAt;
    const id = newId('msg', receivedAt);
    return { id, receivedAt, inbox, recipient, placed: { inboxId, accountId, messageId: id, receivedAt } };
  }

  function planMail(mail: NewMail): PlannedMail {
    const { recipients } = mail;
    // The sender can only repeat the whole mail, so none of its recipients may have it already.
    const refused = recipients.some((recipient) => {
      const inbox = inboxes.get(recipient.inboxId);
      return inbox !== undefined && isFull(inbox, recipient);
    })
      ? 'full'
      : 'gone';
    const messages = recipients.map((recipient) => (refused === 'full' ? undefined : place(recipient)));
    placed.push(
      recipients.map(
        ({ inboxId, accountId }, index) => messages[index]?.placed ?? { inboxId, accountId, refused },
      ),
    );
    return { mail, messages: messages.filter((message) => message !== undefined) };
  }

  const planned = mails.map(planMail);
  const overfull = [...limits]
    .filter(([inbox, maxMessages]) => inbox.messageCount > maxMessages)
    .map(([{ seq: inboxSeq }, maxMessages]) => ({ inboxSeq, maxMessages }));
  return { mails: planned, placed, changed, overfull };
}
