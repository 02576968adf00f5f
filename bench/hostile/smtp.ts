import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Inbox, type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, compared, type Row } from '../support/rows.ts';
import { onTheWire, SmtpClient } from '../support/smtp-client.ts';
import { percentile } from '../support/stats.ts';
import type { SlowLoad } from './slow-senders.ts';
import { Samples, type SentMail, stagesOf } from './stages.ts';

const MIB = 1024 * 1024;
const ROUNDS = 3;
const ROUND_MS = 8_000;
/** What a small mail may take, from connecting to its 250, milliseconds. */
const SMALL_MAIL_MS = 100;
/** An honest sender's pace, so that its mails meet every state of the others. */
const EVERY_MS = 25;
const LARGE = { senders: 30, bytes: 48 * 1_000_000 };
const SLOW = { senders: 50, addresses: 5, bytesAtOnce: MIB, bytesPerSecond: 600 };
const IDLE = { connections: 2_000, addresses: 40 };
const NONE = { senders: 0 };
/** Threads for which a small mail waits, whatever its size. */
const WATCHED = ['main', 'sqlite writer'];
/** No thread that all mails pass may be busy for longer at a time, milliseconds. */
const MAX_BLOCK_MS = 20;

const TEXT = `${'x'.repeat(78)}\r\n`.repeat(12);
const smallMail = (subject: string): Buffer => onTheWire(Buffer.from(`Subject: ${subject}\r\n\r\n${TEXT}`));

/** Small mails beside senders that take memory, and beside idle connections. */
export async function slowSmtpSenders(): Promise<Row[]> {
  return withMayfly({}, async (mayfly) => {
    await smallMails(mayfly, 1_000);
    const quiet: number[] = [];
    const besideLarge: number[] = [];
    const besideSlow: number[] = [];
    const stages = new Samples();
    const blocks = new Samples();
    let stored = 0;
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push((await smallMails(mayfly, ROUND_MS / 4)).p99);
      const large = await beside(mayfly, { large: LARGE, slow: { ...SLOW, ...NONE } });
      besideLarge.push(large.p99);
      stored += large.stored;
      for (const [stage, times] of await stagesOf(mayfly, large.inbox, large.sent)) {
        stages.add(stage, percentile(times, 0.99));
      }
      for (const [thread, ms] of Object.entries(large.blocks)) blocks.add(thread, ms);
      besideSlow.push((await beside(mayfly, { large: { ...LARGE, ...NONE }, slow: SLOW })).p99);
    }
    const rate = (stored * LARGE.bytes) / MIB / ((ROUNDS * ROUND_MS) / 1_000);
    const idle = [await besideIdle(mayfly)];
    const row = (what: string, times: number[]): Row => ({
      ...compared(
        `a 1-KB mail, connecting to 250, beside ${what}, p99; baseline alone`,
        'ms',
        times.map((ours, i) => ({ ours, baseline: quiet[i] ?? Number.NaN })),
      ),
      ...judged(times),
    });
    return [
      row(`${LARGE.senders} senders of 48-MB mails`, besideLarge),
      ...[...stages].map(([stage, times]) => alone(`of that, ${stage}, p99`, 'ms', times)),
      ...WATCHED.map((thread) =>
        alone(`longest block of the thread "${thread}" meanwhile, CPU time`, 'ms', blocks.get(thread) ?? [], {
          atMost: MAX_BLOCK_MS,
        }),
      ),
      alone('48-MB mails stored meanwhile', 'MiB/s', [rate]),
      row(`${SLOW.senders} slow senders from ${SLOW.addresses} addresses`, besideSlow),
      row(`${IDLE.connections} idle connections from ${IDLE.addresses} addresses`, idle),
    ];
  });
}

function judged(times: readonly number[]): Pick<Row, 'budget' | 'met'> {
  const { budget, met } = alone('', 'ms', times, { atMost: SMALL_MAIL_MS });
  return { budget, met };
}

async function beside(
  mayfly: Mayfly,
  load: { large: Omit<SlowLoad['large'], 'to'>; slow: Omit<SlowLoad['slow'], 'to'> },
): Promise<SmallMails & { stored: number; blocks: Record<string, number> }> {
  const inboxes = [await mayfly.createInbox(), await mayfly.createInbox()];
  const [large = '', slow = ''] = inboxes.map(({ address }) => address);
  const workerData: SlowLoad = {
    port: mayfly.smtpPort,
    large: { ...load.large, to: large },
    slow: { ...load.slow, to: slow },
  };
  const worker = new Worker(new URL('./slow-senders.ts', import.meta.url), { workerData });
  try {
    await once(worker, 'message');
    await sleep(1_000);
    await mayfly.watchBlocks();
    const small = await smallMails(mayfly, ROUND_MS);
    const blocks = await mayfly.longestBlocks();
    worker.postMessage('stop');
    const [done]: { large: number }[] = await once(worker, 'message');
    return { ...small, blocks, stored: done?.large ?? 0 };
  } finally {
    await worker.terminate();
  }
}

interface SmallMails {
  inbox: Inbox;
  sent: SentMail[];
  /** From connecting to the 250, milliseconds. */
  p99: number;
}

/** Sends small mails, each on a connection of its own. */
async function smallMails(mayfly: Mayfly, forMs: number): Promise<SmallMails> {
  const inbox = await mayfly.createInbox();
  const sent: SentMail[] = [];
  const sending: Promise<void>[] = [];
  const one = async (): Promise<void> => {
    const begun = performance.now();
    const client = await SmtpClient.open(mayfly.smtpPort);
    const subject = String(sending.length);
    const { ms, at } = await client.send(inbox.address, smallMail(subject));
    sent.push({ subject, begun, dot: at - ms, end: at });
    client.close();
  };
  for (const end = performance.now() + forMs; performance.now() < end; await sleep(EVERY_MS))
    sending.push(one());
  await Promise.all(sending);
  return {
    inbox,
    sent,
    p99: percentile(
      sent.map(({ begun, end }) => end - begun),
      0.99,
    ),
  };
}

/** New clients while idle connections of many addresses fill the server. @returns the p99 of {@link smallMails} */
async function besideIdle(mayfly: Mayfly): Promise<number> {
  const idle: Socket[] = [];
  for (let i = 0; i < IDLE.connections; i++) {
    const localAddress = `127.0.1.${1 + (i % IDLE.addresses)}`;
    const socket = connect({ port: mayfly.smtpPort, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined).resume();
    idle.push(socket);
    if (i % 100 === 0) await once(socket, 'connect');
  }
  await sleep(500);
  try {
    return (await smallMails(mayfly, 2_000)).p99;
  } finally {
    for (const socket of idle) socket.destroy();
  }
}
