import { expect } from 'vitest';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { bytesOf, type Ledger } from './ledger.ts';

interface Summary {
  id: string;
  subject: string;
  receivedAt: string;
  size: number;
}
interface Page {
  messages: Summary[];
  cursor: string;
  hasMore: boolean;
}

const PAGE = 200;
/** Requests under way at once. */
const WIDTH = 8;

/** The first lines of a raw source: the Received line that we put there, folded as we fold it. */
const RECEIVED_LINE = /^Received: from [^\r\n]*\r\n\tby [^\r\n]*\r\n\t[^\r\n]*\r\n/;

/** What came over the wire: the raw source without our own Received line. @throws Error without one */
export function belowReceivedLine(raw: Buffer): Buffer {
  const line = RECEIVED_LINE.exec(raw.toString('latin1', 0, 1000))?.[0];
  if (line === undefined) throw new Error(`no Received line: ${raw.toString('latin1', 0, 200)}`);
  return raw.subarray(line.length);
}

/** All that is newer than a cursor, oldest first, and the cursor that stands for it. */
async function newerThan(server: ServerProcess, inbox: Inbox, since: string, wait: number) {
  const path = `/v1/inboxes/${inbox.id}/messages?limit=${PAGE}&since=${since}`;
  const first = await server.getJson<Page>(wait > 0 ? `${path}&wait=${wait}` : path);
  const messages = [...first.messages];
  for (let page = first; page.hasMore; messages.push(...page.messages)) {
    page = await server.getJson<Page>(`${path}&before=${messages.at(-1)?.id}`);
  }
  return { messages: messages.reverse(), cursor: first.cursor };
}

/** Follows an inbox by its cursor through all the lives of a server. */
export class Follower {
  /** Subjects in the order in which they were seen. */
  readonly seen: string[] = [];
  readonly #inbox: Inbox;
  #cursor: string;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
    this.#cursor = inbox.cursor;
  }

  /** Follows until this life of the server ends; each message is read whole as soon as it is seen. */
  async follow(server: ServerProcess): Promise<void> {
    const gone = () => server.process.exitCode !== null || server.process.signalCode !== null;
    while (!gone() && !server.process.killed) {
      try {
        await this.step(server, 20);
      } catch (error) {
        if (!server.process.killed) throw error;
      }
    }
  }

  /** Everything new since the last step. */
  async step(server: ServerProcess, wait: number): Promise<void> {
    const { messages, cursor } = await newerThan(server, this.#inbox, this.#cursor, wait);
    const newest = messages.at(-1);
    if (newest) await assertWhole(server, this.#inbox, newest);
    this.seen.push(...messages.map(({ subject }) => subject));
    this.#cursor = cursor;
  }
}

async function assertWhole(
  server: ServerProcess,
  inbox: Inbox,
  { id, subject, size }: Summary,
): Promise<void> {
  const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
  const [message, raw] = await Promise.all([
    server.getJson<{ subject: string; text: string; parseError: string | null }>(path),
    server.getBytes(`${path}/raw`),
  ]);
  if (!belowReceivedLine(raw).equals(bytesOf({ id: subject }))) throw new Error(`${subject} was altered`);
  if (raw.length !== size) throw new Error(`${subject}: size ${size}, and ${raw.length} bytes`);
  if (message.subject !== subject || message.parseError !== null || !message.text.includes(subject)) {
    throw new Error(`${subject} is not readable in full: ${JSON.stringify(message)}`);
  }
}

/** All messages of an inbox, oldest first. */
export const allMessages = async (server: ServerProcess, inbox: Inbox): Promise<Summary[]> =>
  (await newerThan(server, inbox, inbox.cursor, 0)).messages;

/**
 * Reads each message of an inbox in full and compares it with what was sent.
 * @returns them, oldest first
 * @throws Error for one that was altered, and unless numbers and times strictly increase
 */
export async function readAll(server: ServerProcess, inbox: Inbox): Promise<Summary[]> {
  const messages = await allMessages(server, inbox);
  for (const [index, { id, receivedAt }] of messages.entries()) {
    const older = messages[index - 1];
    if (older && !(older.id < id && older.receivedAt < receivedAt)) {
      throw new Error(`${older.id} (${older.receivedAt}) is listed before ${id} (${receivedAt})`);
    }
  }
  const queue = [...messages];
  const read = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await assertWhole(server, inbox, next);
  };
  await Promise.all(Array.from({ length: WIDTH }, read));
  return messages;
}

export interface Figures {
  acknowledged: number;
  /** Mails that are stored although their sender did not get the 250. */
  extra: number;
}

/**
 * The promise itself: every acknowledged mail is in each of its inboxes once, unaltered and whole;
 * what else is there had been sent to its end without an answer, and is in all of its inboxes or none.
 */
export async function assertNothingLost(
  server: ServerProcess,
  inboxes: Inbox[],
  ledger: Ledger,
): Promise<Figures> {
  const extra = new Set<string>();
  const there = new Map<string, Set<string>>();
  for (const inbox of inboxes) {
    const subjects = (await readAll(server, inbox)).map(({ subject }) => subject);
    expect(subjects.length, `doubled mails in ${inbox.address}`).toBe(new Set(subjects).size);
    there.set(inbox.address, new Set(subjects));
    for (const subject of subjects) if (!ledger.acknowledged.has(subject)) extra.add(subject);
  }
  const lost = [...ledger.acknowledged.values()].filter(({ id, to }) =>
    to.some((address) => !there.get(address)?.has(id)),
  );
  expect(
    lost.map(({ id }) => id),
    'acknowledged and not there',
  ).toEqual([]);
  for (const id of extra) {
    const mail = ledger.unanswered.get(id);
    expect(mail, `${id} is there, and its end was never sent`).toBeDefined();
    expect(
      mail?.to.every((address) => there.get(address)?.has(id)),
      `${id} is in all of its inboxes`,
    ).toBe(true);
  }
  return { acknowledged: ledger.acknowledged.size, extra: extra.size };
}
