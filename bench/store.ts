import { join } from 'node:path';
import { openSqlite } from '../packages/server/src/database/sqlite/open.ts';
import { newId } from '../packages/server/src/ids.ts';
import type { InboxRecord } from '../packages/server/src/inboxes/records.ts';
import { parseMail } from '../packages/server/src/mail/parse.ts';
import { contentJson } from '../packages/server/src/mail/stored-content.ts';
import type { NewMail } from '../packages/server/src/messages/records.ts';
import type { Store } from '../packages/server/src/store.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { alone, type Row } from './support/rows.ts';

const ROUNDS = 5;
const INBOXES = 20;
/** Calls that wait at the same time, each with one mail, as the senders of the bench `intake` cause them. */
const CALLS = 20;
const MAILS_PER_ROUND = 6000;
const INBOXES_PER_ROUND = 1000;
const HOUR = 3_600_000;
const NO_LIMIT = 1e9;

const encoder = new TextEncoder();

/** The store alone, without SMTP, HTTP and parsing: CPU of the whole process, and creations a second. */
export async function store(): Promise<Row[]> {
  const folder = makeFolder();
  const path = join(folder, 'mayfly.db');
  const opened = await openSqlite({ path });
  try {
    const accountId = newId('acc', Date.now());
    await opened.accounts.create({ id: accountId, name: 'bench', plan: 'free', createdAt: Date.now() }, null);
    const inboxes: InboxRecord[] = [];
    while (inboxes.length < INBOXES) inboxes.push(await create(opened, accountId));
    const mail = await storedMail();
    const adding: { cpu: number; rate: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) adding.push(await addMails(opened, inboxes, mail));
    const creating: number[] = [];
    for (let round = 0; round < ROUNDS; round++) creating.push(await createAndDelete(opened, accountId));
    const warm = adding.slice(1);
    return [
      alone(
        `addBatch of one mail, ${CALLS} at once: CPU of all threads a mail`,
        'µs',
        warm.map(({ cpu }) => cpu),
      ),
      alone(
        `the same, durable mails a second`,
        '',
        warm.map(({ rate }) => rate),
      ),
      alone(`inboxes created and deleted a second, ${CALLS} at once`, '', creating),
    ];
  } finally {
    await opened.close();
    removeFolder(folder);
  }
}

/** Creates an inbox for an hour. */
export async function create(on: Store, accountId: string): Promise<InboxRecord> {
  const createdAt = Date.now();
  const id = newId('inb', createdAt);
  const [localPart, domain] = [id.slice(4).toLowerCase(), 'mayfly.test'];
  const times = { createdAt, expiresAt: createdAt + HOUR, maxExpiresAt: createdAt + HOUR, ttlMinutes: 60 };
  const address = `${localPart}@${domain}`;
  const inbox = {
    id,
    kind: 'address' as const,
    address,
    localPart,
    domain,
    labels: {},
    tokenHash: id,
    ...times,
  };
  return (await on.inboxes.create(accountId, inbox, NO_LIMIT, null)).inbox;
}

/** What the store gets of a realistic mail. */
export async function storedMail(): Promise<(inbox: InboxRecord) => NewMail> {
  const source = await realisticMail();
  const parsed = await parseMail(source);
  const summary = encoder.encode(JSON.stringify(parsed.summary));
  const content = encoder.encode(contentJson(parsed, source.length));
  const envelope = {
    mailFrom: 'a@example.com',
    helo: 'client.example',
    remoteAddress: '127.0.0.1',
    tls: false,
  };
  return ({ id: inboxId, accountId, address }) => {
    const raw = new Uint8Array(new ArrayBuffer(source.length, { maxByteLength: source.length }));
    raw.set(source);
    const recipients = [{ inboxId, accountId, rcptTo: [address], maxMessages: NO_LIMIT }];
    const reading = { summary, content, parseError: null, authentication: null, trail: '' };
    return { raw, envelope, checks: false, reading, recipients };
  };
}

async function addMails(on: Store, inboxes: InboxRecord[], mail: (inbox: InboxRecord) => NewMail) {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  let sent = 0;
  const sender = async (inbox: InboxRecord): Promise<void> => {
    while (sent++ < MAILS_PER_ROUND) await on.messages.addBatch([mail(inbox)], Date.now());
  };
  await Promise.all(Array.from({ length: CALLS }, (_, n) => sender(inboxes[n % INBOXES] as InboxRecord)));
  const { user, system } = process.cpuUsage(cpu);
  return {
    cpu: (user + system) / MAILS_PER_ROUND,
    rate: (MAILS_PER_ROUND * 1000) / (performance.now() - begun),
  };
}

async function createAndDelete(on: Store, accountId: string): Promise<number> {
  const begun = performance.now();
  let made = 0;
  const client = async (): Promise<void> => {
    while (made++ < INBOXES_PER_ROUND) {
      const { id } = await create(on, accountId);
      await on.inboxes.delete(accountId, id, Date.now());
    }
  };
  await Promise.all(Array.from({ length: CALLS }, client));
  return (INBOXES_PER_ROUND * 1000) / (performance.now() - begun);
}
