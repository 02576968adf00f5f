import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Inbox, type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, compared, type Row } from '../support/rows.ts';
import { onTheWire, SmtpClient } from '../support/smtp-client.ts';
import { percentile } from '../support/stats.ts';

/** The inboxes of a test run, of which each has got some mail. */
const INBOXES = 1_200;
const MAILS_EACH = 5;
const CREATED_AT_ONCE = 50;
const ROUNDS = 3;
/** A pace that meets every state of the deletion. */
const EVERY_MS = 5;
const QUIET_MS = 3_000;
/** The p99 of others, as a multiple of what it is without the deletion. */
const MOST = 2;
/** The thread that all mails pass may be busy for no longer at a time, milliseconds. */
const MAX_BLOCK_MS = 20;

const MAIL = onTheWire(Buffer.from(`Subject: x\r\n\r\n${`${'x'.repeat(78)}\r\n`.repeat(24)}`));

/** Small mails of others while an account deletes the inboxes of a run by their label, until their space is free. */
export function massDeletion(): Promise<Row[]> {
  return withMayfly({}, async (mayfly) => {
    const other = await mayfly.createInbox();
    const rounds: { ours: number; baseline: number }[] = [];
    const seconds: number[] = [];
    const freedSeconds: number[] = [];
    const blocks: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await fill(mayfly, round);
      const quiet = new AbortController();
      setTimeout(() => quiet.abort(), QUIET_MS);
      const baseline = await p99Until(mayfly, other, quiet.signal);
      const freed = new AbortController();
      await mayfly.watchBlocks();
      const begun = performance.now();
      const deleting = deleteRun(mayfly, round)
        .then(() => seconds.push((performance.now() - begun) / 1_000))
        .then(() => untilFreed(mayfly))
        .finally(() => freed.abort());
      const ours = await p99Until(mayfly, other, freed.signal);
      await deleting;
      freedSeconds.push((performance.now() - begun) / 1_000);
      blocks.push((await mayfly.longestBlocks())['sqlite writer'] ?? Number.NaN);
      rounds.push({ ours, baseline });
    }
    const what = `${INBOXES} inboxes of ${MAILS_EACH} mails are deleted by their label`;
    return [
      compared(
        `a 2-KB mail to another inbox while ${what} and freed, MAIL to 250, p99; baseline before`,
        'ms',
        rounds,
        {
          atMost: MOST,
        },
      ),
      alone('longest block of the thread "sqlite writer" meanwhile, CPU time', 'ms', blocks, {
        atMost: MAX_BLOCK_MS,
      }),
      alone(`until ${what}, beside these mails`, 's', seconds),
      alone('until their space is free', 's', freedSeconds),
    ];
  });
}

/** Creates the inboxes of a run and sends them mail, each its own. */
async function fill(mayfly: Mayfly, round: number): Promise<void> {
  const inboxes: Inbox[] = [];
  while (inboxes.length < INBOXES) {
    const some = Array.from({ length: CREATED_AT_ONCE }, () =>
      mayfly.createInbox({ labels: { run: String(round) } }),
    );
    inboxes.push(...(await Promise.all(some)));
  }
  const waiting = inboxes.flatMap((inbox) => Array.from({ length: MAILS_EACH }, () => inbox.address));
  const sendAll = async (): Promise<void> => {
    const client = await SmtpClient.open(mayfly.smtpPort);
    for (let to = waiting.pop(); to; to = waiting.pop()) await client.send(to, MAIL);
    client.close();
  };
  await Promise.all(Array.from({ length: 20 }, sendAll));
}

async function deleteRun({ url, key }: Mayfly, round: number): Promise<void> {
  const answer = await fetch(`${url}/v1/inboxes?label.run=${round}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  });
  if (!answer.ok) throw new Error(`DELETE /v1/inboxes: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Waits for the sweeper. One inbox stays: that of the other mails. */
async function untilFreed({ dataDir }: Mayfly): Promise<void> {
  const database = new DatabaseSync(join(dataDir, 'mayfly.db'), { readOnly: true });
  const inboxes = database.prepare('select count(*) as count from inboxes');
  while (Number(inboxes.get()?.count) > 1) await sleep(20);
  database.close();
}

/** The p99 of mails that are sent at a pace until `signal` aborts, milliseconds. */
async function p99Until({ smtpPort }: Mayfly, to: Inbox, signal: AbortSignal): Promise<number> {
  const idle: SmtpClient[] = [];
  const sending: Promise<void>[] = [];
  const times: number[] = [];
  const one = async (): Promise<void> => {
    const client = idle.pop() ?? (await SmtpClient.open(smtpPort));
    const begun = performance.now();
    const { at } = await client.send(to.address, MAIL);
    times.push(at - begun);
    idle.push(client);
  };
  for (; !signal.aborted; await sleep(EVERY_MS)) sending.push(one());
  await Promise.all(sending);
  for (const client of idle) client.close();
  return percentile(times, 0.99);
}
