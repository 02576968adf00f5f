import { join } from 'node:path';
import { openSqlite } from '../packages/server/src/database/sqlite/open.ts';
import { newId } from '../packages/server/src/ids.ts';
import type { InboxRecord } from '../packages/server/src/inboxes/records.ts';
import { parseMail } from '../packages/server/src/mail/parse.ts';
import { contentJson } from '../packages/server/src/mail/stored-content.ts';
import { encodeTrail } from '../packages/server/src/mail/trail.ts';
import { SessionTrail } from '../packages/server/src/smtp/reports.ts';
import type { Store } from '../packages/server/src/store.ts';
import { type ReadMail, withReadings } from '../packages/server/test/support/store-on.ts';
import { create } from './store.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { replyTimeCosts, reportColumnRounds } from './support/report-columns.ts';
import { alone, compared, type Row } from './support/rows.ts';

const ROUNDS = 16;
const INBOXES = 20;
const MAILS_PER_ROUND = 3_000;
const TRAILS_PER_ROUND = 100_000;
const NO_LIMIT = 1e9;

const encoder = new TextEncoder();

/** What a mail would be stored with, if one of its extras were not stored. */
type Variant = 'complete' | 'without trail' | 'without index' | 'without text';
const VARIANTS: readonly Variant[] = ['complete', 'without trail', 'without index', 'without text'];

/**
 * What the timeline, the index of the parts and the text for searches cost: bytes a mail, and CPU of all threads
 * to store it, each against the same mail without it.
 */
export async function costs(): Promise<Row[]> {
  const folder = makeFolder();
  const opened = withReadings(await openSqlite({ path: join(folder, 'mayfly.db') }));
  try {
    const accountId = newId('acc', Date.now());
    await opened.accounts.create({ id: accountId, name: 'bench', plan: 'free', createdAt: Date.now() }, null);
    const inboxes: InboxRecord[] = [];
    while (inboxes.length < INBOXES) inboxes.push(await create(opened, accountId));
    const mails = await variantsOf();
    const rounds: Record<Variant, number>[] = [];
    for (let round = 0; round <= ROUNDS; round++) rounds.push(await oneRound(opened, inboxes, mails, round));
    const warm = rounds.slice(1);
    const row = (what: string, variant: Variant): Row =>
      compared(
        `${what}: CPU of all threads to store a mail, against the mail without it`,
        'µs',
        warm.map((cpu) => ({ ours: cpu.complete, baseline: cpu[variant] })),
      );
    const bytes = (variant: Variant) => mails[variant].bytes;
    return [
      row('the timeline', 'without trail'),
      row('the index of the parts', 'without index'),
      row('the text that searches look through', 'without text'),
      compared(
        'the columns of run reports: CPU to update the row of an inbox, against the update without them',
        'µs',
        reportColumnRounds(ROUNDS),
      ),
      alone('the time of the 250 reply: CPU a mail', 'µs', Array.from({ length: ROUNDS }, replyTimeCosts)),
      alone('the timeline, noted and encoded: CPU a mail', 'µs', Array.from({ length: ROUNDS }, noteTrails)),
      alone('the timeline: bytes a mail', '', [bytes('complete') - bytes('without trail')]),
      alone('the index of the parts: bytes a mail', '', [bytes('complete') - bytes('without index')]),
      alone('the text that searches look through: bytes a mail', '', [
        bytes('complete') - bytes('without text'),
      ]),
    ];
  } finally {
    await opened.close();
    removeFolder(folder);
  }
}

/** Notes a session with one mail, as the SMTP server does. @returns microseconds of CPU for one */
function noteTrails(): number {
  const clock = { now: () => Date.now(), monotonic: () => performance.now(), sleep: async () => undefined };
  const before = process.cpuUsage();
  let letters = 0;
  for (let n = 0; n < TRAILS_PER_ROUND; n++) letters += trailOf(clock).length;
  const { user, system } = process.cpuUsage(before);
  if (letters === 0) throw new Error('No trail was made.');
  return (user + system) / TRAILS_PER_ROUND;
}

function trailOf(clock: ConstructorParameters<typeof SessionTrail>[0]): string {
  const session = new SessionTrail(clock, clock.now());
  for (const event of ['mail-from', 'rcpt-to', 'data'] as const) session.add(event);
  return encodeTrail([...session.endOfData([]), { event: 'parsed', at: clock.now() }]);
}

interface StoredForm {
  /** Of content and envelope. */
  bytes: number;
  to(inbox: InboxRecord): ReadMail;
}

async function variantsOf(): Promise<Record<Variant, StoredForm>> {
  const source = await realisticMail();
  const parsed = await parseMail(source);
  const summary = encoder.encode(JSON.stringify(parsed.summary));
  const whole: object = JSON.parse(contentJson(parsed, source.length));
  const trail = 'cmia2x1k3|m2|r1|d0|e3|p1';
  const envelope = {
    ...{ mailFrom: 'a@example.com', helo: 'client.example', remoteAddress: '127.0.0.1', tls: false },
  };
  const formOf = (leftOut: string): StoredForm => {
    const kept = Object.fromEntries(Object.entries(whole).filter(([name]) => name !== leftOut));
    const content = encoder.encode(JSON.stringify(kept));
    const extra = leftOut === 'trail' ? {} : { trail };
    return {
      bytes: content.length + JSON.stringify({ ...envelope, ...extra }).length,
      to({ id: inboxId, accountId, address }) {
        const raw = new Uint8Array(new ArrayBuffer(source.length, { maxByteLength: source.length }));
        raw.set(source);
        const recipients = [{ inboxId, accountId, rcptTo: [address], maxMessages: NO_LIMIT }];
        return {
          raw,
          envelope,
          checks: false,
          reading: { summary, content, parseError: null, authentication: null, trail: '' },
          ...extra,
          recipients,
        };
      },
    };
  };
  return {
    complete: formOf(''),
    'without trail': formOf('trail'),
    'without index': formOf('index'),
    'without text': formOf('text'),
  };
}

/** Each variant once, in turns. @returns microseconds of CPU of all threads a mail */
async function oneRound(
  on: Store,
  inboxes: readonly InboxRecord[],
  mails: Record<Variant, StoredForm>,
  round: number,
): Promise<Record<Variant, number>> {
  const cpu = { complete: 0, 'without trail': 0, 'without index': 0, 'without text': 0 };
  // Another one begins each round, so that none is always the first after a pause.
  const first = round % VARIANTS.length;
  for (const variant of [...VARIANTS.slice(first), ...VARIANTS.slice(0, first)]) {
    const before = process.cpuUsage();
    let sent = 0;
    const sender = async (inbox: InboxRecord): Promise<void> => {
      while (sent++ < MAILS_PER_ROUND) await on.messages.addBatch([mails[variant].to(inbox)], Date.now());
    };
    await Promise.all(inboxes.map(sender));
    const { user, system } = process.cpuUsage(before);
    cpu[variant] = (user + system) / MAILS_PER_ROUND;
  }
  return cpu;
}
