import type { AccountRecord, KeyRecord } from '../../src/accounts/sql.ts';
import { newId } from '../../src/ids.ts';
import type { NewInbox } from '../../src/inboxes/records.ts';
import {
  type MailAuthentication,
  type MailContent,
  type MailSummary,
  NO_CONTENT,
} from '../../src/mail/mail.ts';
import type { Condition } from '../../src/mail/matching/conditions.ts';
import type { NewMail, NewMailRecipient, Placed } from '../../src/messages/records.ts';
import type { Reading } from '../../src/reading/sql.ts';
import type { Refusal } from '../../src/refusals/sql.ts';
import type { Store } from '../../src/store.ts';
import type { NewWebhook } from '../../src/webhooks/sql/webhooks.ts';
import { SILENT_SUMMARY } from '../support/mail/silent-mail.ts';
import type { ReadMail } from '../support/store-on.ts';

/** The time at which these tests begin, epoch milliseconds. */
export const T = 1_800_000_000_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** Conditions of a search for texts, anywhere in a message. */
export const saying = (...texts: string[]): Condition[] => texts.map((text) => ({ field: 'any', text }));

export const everything = { after: 0, before: Number.POSITIVE_INFINITY, limit: 1000 };

export const ttl = (minutes: number) => ({ ttlMinutes: minutes, expiresAt: T + minutes * 60_000 });

/** A new account. */
export const accountAt = (createdAt = T): AccountRecord => ({
  id: newId('acc', createdAt),
  ...{ name: 'Test', plan: 'developer', createdAt },
});

/** Creates an account. @returns its id */
export async function accountOn(store: Store): Promise<string> {
  const account = accountAt();
  await store.accounts.create(account, null);
  return account.id;
}

/** A new key, by default without an end, with a hash of its own. */
export function keyOf(accountId: string, changes: Partial<KeyRecord & { hash: string }> = {}) {
  const id = newId('key', changes.createdAt ?? T);
  const rest = { name: 'ci', scope: 'full' as const, prefix: 'mfk_ab', createdAt: T, expiresAt: null };
  return { id, accountId, ...rest, hash: `hash of ${id}`, ...changes };
}

/** A new webhook, by default of the account. Tests of the store send nothing. */
export const webhookAt = (changes: Partial<NewWebhook> = {}): NewWebhook => ({
  id: newId('whk', changes.createdAt ?? T),
  ...{ inboxId: null, url: 'http://127.0.0.1:9/', description: '', secret: 'whsec_one', createdAt: T },
  ...changes,
});

/** A rejected recipient. */
export const refusalOf = (address: string, changes: Partial<Refusal> = {}): Refusal => ({
  ...{ at: T, address, reply: '550 5.1.1 no' },
  ...{ mailFrom: 'a@b.c', helo: 'NUL \0', remoteAddress: '127.0.0.1' },
  ...changes,
});

/** A new inbox with an address, id and token of its own. */
export function inboxAt(changes: Partial<NewInbox> = {}): NewInbox {
  const createdAt = changes.createdAt ?? T;
  const id = changes.id ?? newId('inb', createdAt);
  const address = changes.address ?? `${id.slice(4)}@mayfly.test`;
  const [localPart = '', domain = ''] = address.split('@');
  return {
    ...{ id, kind: 'address', address, localPart, domain, labels: {} },
    tokenHash: `hash of the token of ${id}`,
    ttlMinutes: 60,
    createdAt,
    expiresAt: createdAt + HOUR,
    maxExpiresAt: createdAt + DAY,
    ...changes,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
export const json = (bytes: Uint8Array): unknown => JSON.parse(decoder.decode(bytes));

interface MailChanges {
  raw?: Uint8Array;
  subject?: string;
  parseError?: string;
  maxMessages?: number;
  authentication?: MailAuthentication;
}

/** The same mail with other bytes of its reading. */
export const reread = (mail: ReadMail, changes: Partial<Reading>): ReadMail => ({
  ...mail,
  reading: { ...mail.reading, ...changes },
});

const bytesOf = (value: object): Uint8Array => encoder.encode(JSON.stringify(value));

/** The same mail with other values of fields of its summary and its content. */
export function withFields(mail: ReadMail, fields: Partial<MailSummary & MailContent>): ReadMail {
  const changed = (bytes: Uint8Array) => {
    const all = json(bytes) as object;
    return bytesOf({ ...all, ...Object.fromEntries(Object.entries(fields).filter(([name]) => name in all)) });
  };
  const { summary, content } = mail.reading;
  return reread(mail, { summary: changed(summary), content: changed(content) });
}

/** A mail to those inboxes. */
export function mailTo(
  inboxes: { id: string; accountId: string; address: string }[],
  { raw = encoder.encode('Subject: x\r\n\r\nHello\r\n'), ...changes }: MailChanges = {},
): ReadMail {
  const summary: MailSummary = {
    ...SILENT_SUMMARY,
    from: { address: 'sender@example.com', name: 'Sender' },
    subject: changes.subject ?? 'x',
    preview: 'Hello',
    codes: [{ value: '123456', context: 'your code is 123456' }],
  };
  const content: MailContent = {
    ...NO_CONTENT,
    headers: [{ name: 'Subject', value: summary.subject }],
    text: 'Hello',
  };
  const maxMessages = changes.maxMessages ?? 1000;
  const recipients: NewMailRecipient[] = inboxes.map(({ id, accountId, address }) => ({
    ...{ inboxId: id, accountId, rcptTo: [`Tag+${address}`], maxMessages },
  }));
  return {
    raw,
    envelope: { mailFrom: '', helo: 'NUL \0', remoteAddress: '127.0.0.1', tls: true },
    checks: false,
    reading: {
      summary: bytesOf(summary),
      content: bytesOf(content),
      parseError: changes.parseError ?? null,
      authentication: changes.authentication ?? null,
      trail: '',
    },
    recipients,
  };
}

/** Makes so many calls at once. */
export const atOnce = <T>(count: number, call: (n: number) => T) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(n)));

/** So many mails alike. */
export const mailsTo = (count: number, ...of: Parameters<typeof mailTo>): ReadMail[] =>
  Array.from({ length: count }, () => mailTo(...of));

/** Numbers of rows, with so many more in some tables. */
export const withMore = (counts: Record<string, number>, more: Record<string, number>) => ({
  ...counts,
  ...Object.fromEntries(Object.entries(more).map(([table, rows]) => [table, (counts[table] ?? 0) + rows])),
});

/** The message that a recipient got; fails when it was refused. */
export function placedIn(placed: Placed | undefined): Extract<Placed, { messageId: string }> {
  if (!placed || 'refused' in placed) throw new Error(`refused: ${JSON.stringify(placed)}`);
  return placed;
}

/** Commits one mail to one inbox. */
export async function onlyPlaced(store: Store, mail: NewMail, now: number) {
  const [batch] = await store.messages.addBatch([mail], now);
  return placedIn(batch?.[0]);
}

/** The whole raw source, read piece by piece; all but the last must have one size. */
export async function rawOf(store: Store, inboxId: string, messageId: string, now: number) {
  const pieces: Uint8Array[] = [];
  for (let piece = 0; ; piece++) {
    const bytes = await store.messages.readRaw(inboxId, messageId, piece, now);
    if (!bytes) break;
    pieces.push(bytes);
  }
  const sizes = new Set(pieces.slice(0, -1).map(({ length }) => length));
  if (sizes.size > 1) throw new Error(`pieces of several sizes: ${[...sizes]}`);
  return new Uint8Array(Buffer.concat(pieces));
}

/** Stores a mail and its reading for an inbox that is created later. */
export async function staged(
  store: Pick<Store, 'messages' | 'readings'>,
  mail: ReadMail,
  accountId: string,
  stage: string,
): Promise<number> {
  const size = mail.raw.length;
  const source = await store.messages.stage(mail, accountId, stage);
  await store.readings.keep([{ ...mail.reading, source, size }]);
  return source;
}

/** Sweeps as the sweeper does, in steps. @returns what each step freed */
export async function sweepAll(store: Store, now: number, limit = 200): Promise<number[]> {
  const freed: number[] = [];
  do freed.push(await store.upkeep.sweep(now, limit));
  while ((freed.at(-1) ?? 0) >= limit);
  return freed;
}
