import { execFile } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { untilIdle } from './support/child.ts';
import { fillDatabase } from './support/fill.ts';
import { realisticMail } from './support/mails.ts';
import { type Inbox, MAYFLY, type Mayfly, startMayfly, withFilled, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row, skipped } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { median } from './support/stats.ts';
import { NO_WRK, wrk, wrkProgram } from './support/wrk.ts';
import { latencies } from './wait.ts';

const ROUNDS = 5;
const SECONDS = 2;
const MESSAGES = 20;
/** Inboxes that are asked, drawn from all. */
const ASKED = 500;
/** Inbox requests at a time while inboxes are made. */
const MAKERS = 50;
/** `large` is ten million messages: 6 GB with SQLite, 15 with PostgreSQL. */
export const SIZES = { small: { inboxes: 500, each: 20 }, large: { inboxes: 10_000, each: 1000 } };
const BUDGET = { atMost: 1.3 };
/** A request of a search ends after a second (docs/reading.md). */
const SEARCH_BUDGET = { atMost: 1_500 };
/** Five sweeps. */
const IDLE_MS = 10_000;
const MIB = 1024 * 1024;

/**
 * Times that differ from request to request, so that no answer is a kept one: before all messages, and
 * after all of them, where only new ones are asked for.
 */
const SINCE = { list: 1e11, poll: 3e12 };
type Kind = keyof typeof SINCE;

/** A server whose database is filled, and inboxes of it to ask. */
export interface Filled {
  mayfly: Mayfly;
  inboxes: Inbox[];
  /** Starts a server on the same data. */
  start(): Promise<Mayfly>;
}

/** What a server with ten million stored messages does, against one with ten thousand. */
export async function scale(): Promise<Row[]> {
  if (wrkProgram === undefined) return [skipped('list and poll at 10 million messages', NO_WRK)];
  return withFilled(SIZES, filled, async (large, small, folder) => {
    const what = 'at 10 million stored';
    return [
      ...(await rowsOf(what, large, small, folder)),
      compared(
        `backup of a running server ${what}`,
        'MiB/s',
        [{ ours: await backUp(large), baseline: await backUp(small) }],
        { atLeast: 0.5 },
      ),
    ];
  });
}

/** @param what says how many messages `large` has */
export async function rowsOf(what: string, large: Filled, small: Filled, folder: string): Promise<Row[]> {
  const versus = `${what}; baseline at 10 thousand`;
  const mail = onTheWire(await realisticMail());
  const rounds = async (measure: (server: Filled) => Promise<number>) => {
    const pairs: { ours: number; baseline: number }[] = [];
    while (pairs.length < ROUNDS) pairs.push({ baseline: await measure(small), ours: await measure(large) });
    return pairs;
  };
  const waits = await rounds(async ({ mayfly }) => median(await latencies(mayfly, mail)));
  const searches = await rounds(({ mayfly }) => search(mayfly));
  return [
    await against(`list 20 messages ${versus}`, 'list', large, small, folder),
    await against(`poll without news ${versus}`, 'poll', large, small, folder),
    compared(`250 to seen by a held wait ${versus}`, 'ms', waits, BUDGET),
    alone(
      `search in vain over all inboxes ${what}, one request`,
      'ms',
      searches.map(({ ours }) => ours),
      SEARCH_BUDGET,
    ),
    // Before the starts: a server collects garbage 2 s after its start.
    compared(`CPU of a second without requests ${versus}`, 'ms', [
      { ours: await idleCpu(large), baseline: await idleCpu(small) },
    ]),
    compared(`start ${versus}`, 'ms', await rounds(restart), BUDGET),
    alone(`CPU to delete a message ${what}, in inboxes of 1,000`, 'ms', [await deletion(large)]),
  ];
}

async function search({ get }: Mayfly): Promise<number> {
  const begun = performance.now();
  await get('/v1/messages?q=nowhere-to-be-found');
  return performance.now() - begun;
}

/** @returns milliseconds until it is ready again */
async function restart(server: Filled): Promise<number> {
  await server.mayfly.stop();
  const begun = performance.now();
  server.mayfly = await server.start();
  return performance.now() - begun;
}

async function idleCpu({ mayfly }: Filled): Promise<number> {
  await untilIdle(mayfly);
  const before = mayfly.cpuSeconds();
  await sleep(IDLE_MS);
  return ((mayfly.cpuSeconds() - before) * 1e6) / IDLE_MS;
}

async function deletion({ mayfly, inboxes }: Filled): Promise<number> {
  const chosen = [...new Map(inboxes.map((inbox) => [inbox.id, inbox])).values()].slice(0, 50);
  let messages = 0;
  for (const inbox of chosen) messages += await mayfly.countMessages(inbox);
  const before = mayfly.cpuSeconds();
  for (const { id } of chosen) {
    const headers = { authorization: `Bearer ${mayfly.key}` };
    const { ok } = await fetch(`${mayfly.url}/v1/inboxes/${id}`, { method: 'DELETE', headers });
    if (!ok) throw new Error(`the inbox ${id} could not be deleted`);
  }
  // The next sweep deletes the rows.
  await sleep(IDLE_MS);
  await untilIdle(mayfly);
  return ((mayfly.cpuSeconds() - before) * 1000) / messages;
}

/** @returns MiB a second */
async function backUp({ mayfly: { dataDir } }: Filled): Promise<number> {
  const target = join(dataDir, 'backup.db');
  const begun = performance.now();
  await promisify(execFile)(fileURLToPath(MAYFLY), ['backup', target], {
    env: { PATH: process.env.PATH ?? '', MAYFLY_DATA_DIR: dataDir },
  });
  return statSync(target).size / MIB / ((performance.now() - begun) / 1000);
}

/** A server whose database was filled while it stood still. */
async function filled(dataDir: string, { inboxes, each }: typeof SIZES.small): Promise<Filled> {
  const made = await withMayfly({ dataDir }, (mayfly) => makeInboxes(mayfly, inboxes));
  fillDatabase(join(dataDir, 'mayfly.db'), made, each);
  const start = () => startMayfly({ dataDir });
  return { mayfly: await start(), inboxes: drawn(made), start };
}

/** Makes inboxes, and one mail in another one, whose row is copied later. */
export async function makeInboxes(mayfly: Mayfly, count: number): Promise<Inbox[]> {
  const sample = await mayfly.createInbox();
  const client = await SmtpClient.open(mayfly.smtpPort);
  await client.send(sample.address, onTheWire(Buffer.from('Subject: A sample\r\n\r\nIt is copied.\r\n')));
  client.close();
  // Until it is parsed.
  await mayfly.get(`/v1/inboxes/${sample.id}/messages`);
  const all: Inbox[] = [];
  while (all.length < count) {
    const makers = Math.min(MAKERS, count - all.length);
    all.push(...(await Promise.all(Array.from({ length: makers }, () => mayfly.createInbox()))));
  }
  return all;
}

/** The inboxes that are asked. */
export function drawn(made: readonly Inbox[]): Inbox[] {
  const asked = Array.from({ length: ASKED }, () => made[Math.floor(Math.random() * made.length)]);
  return asked.filter((inbox) => inbox !== undefined);
}

/** Compares requests to two servers, no request like another. */
export async function against(
  what: string,
  kind: Kind,
  large: Filled,
  small: Filled,
  folder: string,
): Promise<Row> {
  const script = { large: join(folder, 'large.lua'), small: join(folder, 'small.lua') };
  writeFileSync(script.large, await requests(large, kind));
  writeFileSync(script.small, await requests(small, kind));
  const measure = async ({ mayfly }: Filled, file: string): Promise<number> => {
    const { url, key } = mayfly;
    return 1000 / (await wrk({ url, key, seconds: SECONDS, script: file })).rate;
  };
  const rounds: { ours: number; baseline: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const one = { baseline: await measure(small, script.small), ours: await measure(large, script.large) };
    // The first one warms up.
    if (round > 0) rounds.push(one);
  }
  return compared(what, 'ms', rounds, BUDGET);
}

/** A wrk script that asks one of the inboxes after the other; checked with one request before. */
async function requests({ mayfly, inboxes }: Filled, kind: Kind): Promise<string> {
  const paths = inboxes.map(({ id }) => `/v1/inboxes/${id}/messages?limit=${MESSAGES}&since=`);
  const { messages } = await mayfly.get<{ messages: unknown[] }>(`${paths[0]}${SINCE[kind]}`);
  const expected = kind === 'list' ? MESSAGES : 0;
  if (messages.length !== expected) throw new Error(`${messages.length} messages instead of ${expected}`);
  return `
local paths = {${paths.map((path) => `"${path}"`).join(',')}}
local n = 0
request = function()
  n = n + 1
  return wrk.format("GET", paths[n % #paths + 1] .. string.format("%.0f", ${SINCE[kind]} + math.random(1, 900000000000)))
end
`;
}
