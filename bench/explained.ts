import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../packages/server/test/support/postgres.ts';
import { untilIdle } from './support/child.ts';
import { realisticMail } from './support/mails.ts';
import { type Inbox, type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { median } from './support/stats.ts';

/** What a busy account receives in a minute. */
const MAILS = 3_600;
const SENDERS = 10;
const INBOXES = 40;
const WAITS = 150;
const TOGETHER = 100;
const HELD_SECONDS = 3;
const BUDGET_CPU_MS = 5;
const BUDGET_LATE_MS = 300;

/** What an explained wait that ends in vain costs, after a minute in which much arrived. */
export async function explained(): Promise<Row[]> {
  const rows = await onEngine('SQLite', [{}, {}]);
  const clusters = [await startPostgres({ source: 'npm' }), await startPostgres({ source: 'npm' })] as const;
  try {
    const [one, other] = clusters.map((cluster) => ({ MAYFLY_DATABASE_URL: cluster.url() }));
    return [...rows, ...(await onEngine('PostgreSQL', [one ?? {}, other ?? {}]))];
  } finally {
    for (const cluster of clusters) await cluster.remove();
  }
}

type Env = Record<string, string>;

/** @param envs of two servers with databases of their own: the second one has no sink */
async function onEngine(engine: string, envs: readonly [Env, Env]): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  const rows: Row[] = [];
  await withMayfly({ env: { ...envs[0], MAYFLY_SINK: 'on' } }, async (mayfly) => {
    const others: string[] = [];
    while (others.length < INBOXES) others.push((await mayfly.createInbox()).address);
    const waiting = await inboxesFor(mayfly, TOGETHER);
    await fill(mayfly, (n) => others[n % INBOXES] ?? '', mail);
    rows.push(firstRow(engine, await firstAndLater(mayfly, waiting)));
    const what = `an explained wait in vain, ${engine}, ${MAILS} mails in other inboxes`;
    rows.push(await cpuRow(`${what}, API key`, mayfly, waiting, () => mayfly.key));
    rows.push(await cpuRow(`${what}, read token`, mayfly, waiting, ({ token }) => token));
    await fill(mayfly, (n) => `customer${n}@shop${n % 97}.example`, mail);
    rows.push(await cpuRow(`the same, and ${MAILS} in the sink, API key`, mayfly, waiting, () => mayfly.key));
    rows.push(togetherRow(engine, await together(mayfly, waiting)));
  });
  await withMayfly({ env: { ...envs[1], MAYFLY_SINK: 'off' } }, async (mayfly) => {
    const waiting = await inboxesFor(mayfly, TOGETHER);
    await fill(mayfly, (n) => `nobody.knows.${n}@mayfly.test`, mail);
    // The first wait stores the refusals. It and those after it compile the code, which is a row of its own.
    await firstAndLater(mayfly, waiting);
    await untilIdle(mayfly);
    rows.push(
      await cpuRow(
        `an explained wait in vain, ${engine}, ${MAILS} refused addresses, API key`,
        mayfly,
        waiting,
        () => mayfly.key,
      ),
    );
  });
  return rows;
}

async function inboxesFor(mayfly: Mayfly, count: number): Promise<Inbox[]> {
  const made: Inbox[] = [];
  while (made.length < count) made.push(await mayfly.createInbox());
  return made;
}

/** Sends the mails, of which some may be refused. */
async function fill(mayfly: Mayfly, addressOf: (n: number) => string, mail: Buffer): Promise<void> {
  let next = 0;
  const sender = async (): Promise<void> => {
    let client = await SmtpClient.open(mayfly.smtpPort);
    for (let n = next++; n < MAILS; n = next++) {
      try {
        await client.send(addressOf(n), mail);
      } catch {
        // A refused recipient; the server closes sessions with many of them.
        client.close();
        client = await SmtpClient.open(mayfly.smtpPort);
      }
    }
    client.close();
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
  // Parsing the mails is not the cost of a wait.
  await untilIdle(mayfly);
}

/** @returns milliseconds until the response */
async function explain(mayfly: Mayfly, { id }: Inbox, credential: string, seconds = 0): Promise<number> {
  const begun = performance.now();
  const response = await fetch(`${mayfly.url}/v1/inboxes/${id}/wait`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body: JSON.stringify({ match: { subject: 'Never sent' }, timeoutSeconds: seconds }),
  });
  const text = await response.text();
  if (!text.includes('"matched":false')) throw new Error(`The wait answered ${text.slice(0, 200)}`);
  return performance.now() - begun;
}

/** Milliseconds of the first wait of the process, and of the median of those after it. */
async function firstAndLater(mayfly: Mayfly, inboxes: readonly Inbox[]): Promise<[number, number]> {
  const times: number[] = [];
  for (const inbox of inboxes.slice(0, 11)) times.push(await explain(mayfly, inbox, mayfly.key));
  const [first = 0, ...later] = times;
  return [first, median(later)];
}

const firstRow = (engine: string, [first, later]: [number, number]): Row =>
  alone(`the first explained wait of a process beyond the median of the next ten, ${engine}`, 'ms', [
    first - later,
  ]);

async function cpuRow(
  what: string,
  mayfly: Mayfly,
  inboxes: readonly Inbox[],
  credentialOf: (inbox: Inbox) => string,
): Promise<Row> {
  const before = mayfly.cpuSeconds();
  for (let n = 0; n < WAITS; n++) {
    const inbox = inboxes[n % inboxes.length];
    if (inbox) await explain(mayfly, inbox, credentialOf(inbox));
  }
  const ms = ((mayfly.cpuSeconds() - before) * 1_000) / WAITS;
  return alone(`CPU of ${what}`, 'ms', [ms], { atMost: BUDGET_CPU_MS });
}

/** How late the last of the waits that end together is, milliseconds. */
async function together(mayfly: Mayfly, inboxes: readonly Inbox[]): Promise<number> {
  await sleep(1_000);
  const times = await Promise.all(inboxes.map((inbox) => explain(mayfly, inbox, mayfly.key, HELD_SECONDS)));
  return Math.max(...times) - HELD_SECONDS * 1_000;
}

const togetherRow = (engine: string, late: number): Row =>
  alone(`${TOGETHER} explained waits that end together, ${engine}: how late the last is`, 'ms', [late], {
    atMost: BUDGET_LATE_MS,
  });
