import { join } from 'node:path';
import { fillDatabase } from './support/fill.ts';
import { realisticMail } from './support/mails.ts';
import { type Inbox, type Mayfly, startMayfly, withFilled, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { median } from './support/stats.ts';

const ROUNDS = 5;
const INBOXES = 100;
/** Messages of each inbox: 14,000 and 200,000 in all. */
const MESSAGES_EACH = { small: 140, large: 2000 };
/** Pages in a row whose times are one figure. */
const PAGES = 50;
/** A page costs the same however many messages the account has. */
const PAGE_BUDGET = { atMost: 1.3 };
/** Requests of others wait no longer than this while somebody searches. */
const DELAY_BUDGET = { atMost: 20 };

interface Page {
  messages: unknown[];
  hasMore: boolean;
  before: string | null;
  searchedTo?: string;
}

/** The list and the search over all inboxes of an account, with 200,000 messages against 14,000. */
export async function search(): Promise<Row[]> {
  return withFilled(MESSAGES_EACH, filled, async ({ mayfly: large }, { mayfly: small }) => [
    await pages(small, large),
    ...(await kinds(small)),
    ...(await searches(large)),
  ]);
}

/** A server whose database was filled while it stood still. */
async function filled(dataDir: string, each: number): Promise<{ mayfly: Mayfly }> {
  const inboxes = await withMayfly({ dataDir }, async (mayfly) => {
    const sample = await mayfly.createInbox();
    const client = await SmtpClient.open(mayfly.smtpPort);
    await client.send(sample.address, onTheWire(await realisticMail()));
    client.close();
    // Until it is parsed.
    await mayfly.get(`/v1/inboxes/${sample.id}/messages`);
    const all: Inbox[] = [];
    while (all.length < INBOXES) all.push(await mayfly.createInbox());
    return all;
  });
  fillDatabase(join(dataDir, 'mayfly.db'), inboxes, each, { withContent: true });
  return { mayfly: await startMayfly({ dataDir }) };
}

/** Milliseconds of a page, as one pages down from the newest message. */
async function pageTime(mayfly: Mayfly): Promise<number> {
  const times: number[] = [];
  let before = '';
  for (let page = 0; page < PAGES; page++) {
    const begun = performance.now();
    const answer = await mayfly.get<Page>(`/v1/messages?limit=50${before}`);
    times.push(performance.now() - begun);
    if (answer.messages.length !== 50) throw new Error(`a page of ${answer.messages.length} messages`);
    before = `&before=${answer.before}`;
  }
  return median(times);
}

async function pages(small: Mayfly, large: Mayfly): Promise<Row> {
  const rounds: { ours: number; baseline: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const one = { baseline: await pageTime(small), ours: await pageTime(large) };
    // The first one warms up.
    if (round > 0) rounds.push(one);
  }
  return compared('page of 50 of 200,000 messages; baseline of 14,000', 'ms', rounds, PAGE_BUDGET);
}

/** Kinds of searches that find nothing, each with what decides it. */
const IN_VAIN: Record<string, string> = {
  'a word': 'nowhere-to-be-found',
  'a word of two letters, which needs each text': '注文',
  'an excluded word, which needs each text': '-order -larger:1',
  'a subject': 'subject:nowhere',
  'a tag': 'tag:nowhere',
};

/** One request through 14,000 messages. */
async function kinds(mayfly: Mayfly): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, q] of Object.entries(IN_VAIN)) {
    const times: number[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const begun = performance.now();
      // Another limit each time, so that no answer is used again.
      const page = await mayfly.get<Page>(`/v1/messages?q=${encodeURIComponent(q)}&limit=${50 + round}`);
      const ms = performance.now() - begun;
      if (page.messages.length > 0) throw new Error('found what is not there');
      if (round > 0) times.push(page.searchedTo === undefined ? ms : Number.POSITIVE_INFINITY);
    }
    rows.push(alone(`search in vain through 14,000 messages, one request: ${name}`, 'ms', times));
  }
  return rows;
}

/** Searches for a word that no message contains, down to the oldest message. */
async function searches(mayfly: Mayfly): Promise<Row[]> {
  const all: number[] = [];
  const delays: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    await mayfly.resetDelay();
    const begun = performance.now();
    let page: Page = { messages: [], hasMore: true, before: null };
    while (page.hasMore) {
      const before = page.before === null ? '' : `&before=${page.before}`;
      page = await mayfly.get<Page>(`/v1/messages?q=nowhere-to-be-found${before}`);
      if (page.messages.length > 0) throw new Error('found what is not there');
    }
    if (round === 0) continue;
    all.push(performance.now() - begun);
    delays.push((await mayfly.delay()).p99);
  }
  return [
    alone('search in vain through 200,000 messages, all requests', 'ms', all),
    alone('main thread late meanwhile, p99', 'ms', delays, DELAY_BUDGET),
  ];
}
