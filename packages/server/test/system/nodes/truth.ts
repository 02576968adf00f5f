import { expect } from 'vitest';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { bytesOf } from '../durability/ledger.ts';
import { belowReceivedLine } from '../durability/readback.ts';
import type { MailQueue } from './mail-queue.ts';

const PAGE = 200;
/** Requests under way at once. */
const WIDTH = 8;

interface Summary {
  id: string;
  subject: string;
  receivedAt: string;
}

/** All messages of an inbox, oldest first. */
export async function allMessages(node: ServerProcess, inbox: Pick<Inbox, 'id'>): Promise<Summary[]> {
  const messages: Summary[] = [];
  for (let before = ''; ; before = `&before=${messages.at(-1)?.id}`) {
    const page = await node.getJson<{ messages: Summary[]; hasMore: boolean }>(
      `/v1/inboxes/${inbox.id}/messages?limit=${PAGE}${before}`,
    );
    messages.push(...page.messages);
    if (!page.hasMore) return messages.reverse();
  }
}

/** @throws Error unless the stored bytes are those that were sent */
async function assertUnaltered(node: ServerProcess, inbox: Inbox, { id, subject }: Summary): Promise<void> {
  const raw = await node.getBytes(`/v1/inboxes/${inbox.id}/messages/${id}/raw`);
  if (!belowReceivedLine(raw).equals(bytesOf({ id: subject }))) throw new Error(`${subject} was altered`);
}

export interface Truth {
  stored: number;
  /** Copies of mails whose earlier attempt had no answer: the sender could not know that it was stored. */
  repeated: number;
}

/**
 * Every acknowledged mail is in each of its inboxes, unaltered, in strictly increasing order; more than one
 * copy only where an attempt before had an unknown outcome, and nothing else is there.
 */
export async function assertTruth(node: ServerProcess, inboxes: Inbox[], queue: MailQueue): Promise<Truth> {
  let stored = 0;
  let repeated = 0;
  const counts = new Map<string, Map<string, number>>();
  for (const inbox of inboxes) {
    const messages = await allMessages(node, inbox);
    for (const [index, { id, receivedAt }] of messages.entries()) {
      const older = messages[index - 1];
      if (older && !(older.id < id && older.receivedAt < receivedAt))
        throw new Error(`${older.id} is before ${id}`);
    }
    const waiting = [...messages];
    const check = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) await assertUnaltered(node, inbox, next);
    };
    await Promise.all(Array.from({ length: WIDTH }, check));
    const bySubject = new Map<string, number>();
    for (const { subject } of messages) bySubject.set(subject, (bySubject.get(subject) ?? 0) + 1);
    counts.set(inbox.address, bySubject);
    stored += messages.length;
    for (const subject of bySubject.keys()) {
      expect(queue.acknowledged.has(subject), `${subject} is stored and was never sent to its end`).toBe(
        true,
      );
    }
  }
  const lost: string[] = [];
  for (const [id, { mail, before }] of queue.acknowledged) {
    for (const address of mail.to) {
      const copies = counts.get(address)?.get(id) ?? 0;
      if (copies === 0) lost.push(`${id} in ${address}`);
      expect(copies, `copies of ${id}`).toBeLessThanOrEqual(1 + before.unknown);
      repeated += Math.max(0, copies - 1);
    }
  }
  expect(lost, 'acknowledged and not there').toEqual([]);
  expect(queue.permanent, 'refused for good').toEqual([]);
  return { stored, repeated };
}
