import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { bytesOf, type MailQueue } from './mail-queue.ts';
import type { Site } from './nodes.ts';

type Summary = { id: string; subject: string; receivedAt: string; size: number };

const PAGE = 200;
/** Concurrent requests. */
const AT_ONCE = 8;

/** The Received line that the server adds to a raw source. */
const RECEIVED_LINE = /^Received: from [^\r\n]*\r\n\tby [^\r\n]*\r\n\t[^\r\n]*\r\n/;

/** @returns all messages of an inbox, oldest first */
export async function allMessages(server: ServerProcess, { id }: Inbox): Promise<Summary[]> {
  const messages: Summary[] = [];
  for (let before = '', hasMore = true; hasMore; before = `&before=${messages.at(-1)?.id}`) {
    const page = await server.api('GET', `/v1/inboxes/${id}/messages?limit=${PAGE}${before}`);
    messages.push(...page.body.messages);
    hasMore = page.body.hasMore;
  }
  return messages.reverse();
}

/** Asserts that a message can be read in full and equals the mail that was sent. */
async function assertWhole(server: ServerProcess, inbox: Inbox, summary: Summary): Promise<void> {
  const { id, subject, size } = summary;
  const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
  const [message, raw] = await Promise.all([server.api('GET', path), server.api('GET', `${path}/raw`)]);
  const bytes = Buffer.from(raw.bytes);
  const line = RECEIVED_LINE.exec(bytes.toString('latin1', 0, 1000))?.[0] ?? '';
  const isSame = line !== '' && bytes.subarray(line.length).equals(bytesOf(subject));
  expect({ subject, isSame, size: bytes.length }).toEqual({ subject, isSame: true, size });
  expect(message.body).toMatchObject({ subject, parseError: null, text: expect.stringContaining(subject) });
}

/** Asserts that all messages of an inbox are whole and in order. @returns them, oldest first */
async function readAll(server: ServerProcess, inbox: Inbox): Promise<Summary[]> {
  const messages = await allMessages(server, inbox);
  for (const [index, { id, receivedAt }] of messages.slice(1).entries()) {
    const older = messages[index] as Summary;
    expect([older.id < id, older.receivedAt < receivedAt], `${older.id} before ${id}`).toEqual([true, true]);
  }
  const queue = [...messages];
  const read = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await assertWhole(server, inbox, next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, read));
  return messages;
}

/**
 * Asserts that every acknowledged mail is unaltered and in order in each of its inboxes, with the same number of copies
 * in each: one, and at most one more for each earlier attempt with an unknown outcome. There are no other messages.
 * @returns the number of stored messages, and how many of them are additional copies
 */
export async function assertTruth(
  node: ServerProcess,
  inboxes: Inbox[],
  { acknowledged, permanent }: Pick<MailQueue, 'acknowledged' | 'permanent'>,
): Promise<{ stored: number; repeated: number }> {
  /** Number of copies by address and id. */
  const copies = new Map<string, number>();
  let stored = 0;
  for (const inbox of inboxes) {
    for (const { subject } of await readAll(node, inbox)) {
      expect(acknowledged.has(subject), `${subject} is stored and was never sent to its end`).toBe(true);
      const key = `${inbox.address} ${subject}`;
      copies.set(key, (copies.get(key) ?? 0) + 1);
      stored += 1;
    }
  }
  const lost: string[] = [];
  let expected = 0;
  for (const [id, { mail, unknown }] of acknowledged) {
    const counts = mail.to.map((address) => copies.get(`${address} ${id}`) ?? 0);
    expected += counts.length;
    if (counts.includes(0)) lost.push(id);
    expect(new Set(counts).size, `${id} has as many copies in all of its inboxes: ${counts}`).toBe(1);
    expect(counts[0], `copies of ${id}`).toBeLessThanOrEqual(1 + unknown);
  }
  expect(lost, 'acknowledged and not there').toEqual([]);
  expect(permanent, 'rejected with 5xx').toEqual([]);
  return { stored, repeated: stored - expected };
}

/**
 * Follows an inbox by its cursor on the nodes in turn, beginning at the place `first`, until `isEnough` returns true.
 * @returns ids of messages, oldest first
 */
export async function follow(
  site: Pick<Site, 'node'>,
  inbox: Inbox,
  first: number,
  isEnough: () => boolean,
): Promise<string[]> {
  const seen: string[] = [];
  let { cursor } = inbox;
  for (let turn = first; ; turn++) {
    const isLast = isEnough();
    const path = `/v1/inboxes/${inbox.id}/messages?since=${cursor}&limit=${PAGE}&wait=1`;
    // Rejects when the node has ended; 503 when it has no database.
    const response = await site
      .node(turn)
      .api('GET', path)
      .catch(() => ({ status: 503, body: {} }));
    if (response.status !== 200) {
      expect(response.status).toBe(503);
      await pause(50);
      continue;
    }
    const messages: Summary[] = response.body.messages;
    cursor = response.body.cursor;
    seen.push(...messages.map(({ id }) => id).reverse());
    if (isLast) return seen;
  }
}
