import { expect } from 'vitest';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { readAll } from '../durability/readback.ts';
import type { MailQueue } from './mail-queue.ts';

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
    const messages = await readAll(node, inbox);
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
