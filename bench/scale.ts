import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillDatabase } from './support/fill.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { type Inbox, type Mayfly, startMayfly, withMayfly } from './support/mayfly.ts';
import { compared, type Row, skipped } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { NO_WRK, wrk, wrkProgram } from './support/wrk.ts';

const ROUNDS = 5;
const SECONDS = 2;
const MESSAGES = 20;
/** Inboxes that are asked, drawn from all. */
const ASKED = 500;
/** Inbox requests at a time while inboxes are made. */
const MAKERS = 50;
const SMALL = { inboxes: 500, each: 20 };
/** Ten million messages; some 6 GB while it runs. */
const LARGE = { inboxes: 10_000, each: 1000 };
const BUDGET = { atMost: 1.3 };

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
}

/** List and poll with ten million stored messages against ten thousand, in inboxes drawn at random. */
export async function scale(): Promise<Row[]> {
  if (wrkProgram === undefined) return [skipped('list and poll at 10 million messages', NO_WRK)];
  const folder = makeFolder();
  const servers: Mayfly[] = [];
  try {
    const small = await filled(join(folder, 'small'), SMALL);
    servers.push(small.mayfly);
    const large = await filled(join(folder, 'large'), LARGE);
    servers.push(large.mayfly);
    return [
      await against(
        'list 20 messages at 10 million stored; baseline at 10 thousand',
        'list',
        large,
        small,
        folder,
      ),
      await against(
        'poll without news at 10 million stored; baseline at 10 thousand',
        'poll',
        large,
        small,
        folder,
      ),
    ];
  } finally {
    for (const server of servers) await server.stop();
    removeFolder(folder);
  }
}

/** A server whose database was filled while it stood still. */
async function filled(dataDir: string, { inboxes, each }: typeof SMALL): Promise<Filled> {
  const made = await withMayfly({ dataDir }, (mayfly) => makeInboxes(mayfly, inboxes));
  fillDatabase(join(dataDir, 'mayfly.db'), made, each);
  return { mayfly: await startMayfly({ dataDir }), inboxes: drawn(made) };
}

/** Makes inboxes, and one mail in another one, whose row is copied later. */
export async function makeInboxes(mayfly: Mayfly, count: number): Promise<Inbox[]> {
  const sample = await mayfly.createInbox();
  const client = await SmtpClient.open(mayfly.smtpPort);
  await client.send(sample.address, onTheWire(Buffer.from('Subject: A sample\r\n\r\nIt is copied.\r\n')));
  client.close();
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
