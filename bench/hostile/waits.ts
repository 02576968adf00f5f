import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { realisticMail } from '../support/mails.ts';
import { type Inbox, type Mayfly, withMayfly } from '../support/mayfly.ts';
import { compared, type Row } from '../support/rows.ts';
import { onTheWire, SmtpClient } from '../support/smtp-client.ts';
import { percentile } from '../support/stats.ts';
import { makeAccount, type OtherAccount } from './accounts.ts';
import type { Held } from './holders.ts';

const HELD = 1_000;
const ROUNDS = 3;
const ROUND_MS = 3_000;
/** The pace of the other account's reads. */
const READ_EVERY_MS = 10;
/** The mails that the account sends itself: ten a second wake ten thousand requests. */
const MAIL_EVERY_MS = 100;
/** The other account's p50 beside them, as a multiple of the idle one. */
const MOST = 2;

/** One account holds a thousand requests and mails itself; another one reads. */
export async function hostileWaits(): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({ env: { MAYFLY_SIGNUP_PLAN: 'unlimited' } }, async (mayfly) => {
    const other = await makeAccount(mayfly);
    const inbox = await mayfly.createInbox();
    const path = `/v1/inboxes/${inbox.id}`;
    await readP50(mayfly, other);
    const rows: Row[] = [];
    const kinds: [string, Pick<Held, 'path' | 'body'>][] = [
      ['streams', { path: `${path}/events` }],
      ['streams of the account', { path: '/v1/events' }],
      ['lists that wait', { path: `${path}/messages?wait=60&subject=never` }],
      [
        'explained waits',
        { path: `${path}/wait`, body: { match: { subject: 'never' }, timeoutSeconds: 60 } },
      ],
      [
        'explained waits for a text',
        { path: `${path}/wait`, body: { match: { text: 'never' }, timeoutSeconds: 60 } },
      ],
    ];
    for (const [name, held] of kinds) rows.push(await measure(mayfly, other, inbox, mail, name, held));
    return rows;
  });
}

/** The median time of the other account's reads, milliseconds. */
async function readP50({ url }: Mayfly, { key, inbox }: OtherAccount): Promise<number> {
  const times: number[] = [];
  for (const end = performance.now() + ROUND_MS; performance.now() < end; await sleep(READ_EVERY_MS)) {
    const begun = performance.now();
    const response = await fetch(`${url}/v1/inboxes/${inbox.id}/messages`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`GET messages: ${response.status}`);
    times.push(performance.now() - begun);
  }
  return percentile(times, 0.5);
}

async function measure(
  mayfly: Mayfly,
  other: OtherAccount,
  inbox: Inbox,
  mail: Buffer,
  name: string,
  held: Pick<Held, 'path' | 'body'>,
): Promise<Row> {
  const rounds: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const baseline = await readP50(mayfly, other);
    const workerData: Held = {
      ...{ port: Number(new URL(mayfly.url).port), key: mayfly.key, count: HELD },
      ...held,
    };
    const holders = new Worker(new URL('./holders.ts', import.meta.url), { workerData });
    const sender = await SmtpClient.open(mayfly.smtpPort);
    await sleep(1_500);
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        await sender.send(inbox.address, mail);
        await sleep(MAIL_EVERY_MS);
      }
    })();
    rounds.push({ ours: await readP50(mayfly, other), baseline });
    isOver = true;
    await sending;
    sender.close();
    holders.postMessage('end');
    await new Promise((resolve) => holders.once('exit', resolve));
    await sleep(200);
  }
  return compared(
    `another account's read beside ${HELD} ${name} of one that mails itself, p50; baseline idle`,
    'ms',
    rounds,
    { atMost: MOST },
  );
}
