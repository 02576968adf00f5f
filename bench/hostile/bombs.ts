import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { realisticMail } from '../support/mails.ts';
import { type Inbox, type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, compared, type Row } from '../support/rows.ts';
import { onTheWire, SmtpClient } from '../support/smtp-client.ts';
import { percentile } from '../support/stats.ts';
import { makeAccount } from './accounts.ts';
import type { BombLoad } from './bomb-senders.ts';

const ROUNDS = 3;
const ROUND_MS = 8_000;
const SENDERS = 20;
const BOMB_BYTES = 1_000_000;
/** An honest sender's pace, so that its mails meet every state of the queue. */
const EVERY_MS = 20;
/** What the others may wait, milliseconds. */
const HONEST_MS = 100;
/** How late the main thread may be, milliseconds. */
const MAIN_THREAD_MS = 20;

interface Round {
  honest: number;
  noop: number;
}

/**
 * Twenty senders of all bombs of the list, as fast as they are taken, and beside them one sender of ordinary
 * mails to another account and one of NOOP. All come from one address.
 */
export async function manyBombSenders(): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({ env: { MAYFLY_SIGNUP_PLAN: 'unlimited' } }, async (mayfly) => {
    // An account whose mail comes faster than it can be read gets 451; the honest one must not.
    const { inbox } = await makeAccount(mayfly);
    await measure(mayfly, inbox, mail);
    const rounds: (Round & { quiet: Round })[] = [];
    const delays: number[] = [];
    let taken = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const quiet = await measure(mayfly, inbox, mail);
      const bombs = await startBombs(mayfly);
      try {
        await sleep(500);
        await mayfly.resetDelay();
        rounds.push({ ...(await measure(mayfly, inbox, mail)), quiet });
        delays.push((await mayfly.delay()).p99);
      } finally {
        taken += await bombs.stop();
      }
    }
    const seconds = (ROUNDS * ROUND_MS) / 1_000;
    const row = (what: string, key: keyof Round): Row => ({
      ...compared(
        what,
        'ms',
        rounds.map((one) => ({ ours: one[key], baseline: one.quiet[key] })),
      ),
      ...judged(rounds.map((one) => one[key])),
    });
    return [
      row(
        `an honest mail to another account beside ${SENDERS} senders of 1 MB bombs, until its 250, p99; baseline without them`,
        'honest',
      ),
      row('NOOP beside them, p99', 'noop'),
      alone('main thread delayed meanwhile, p99', 'ms', delays, { atMost: MAIN_THREAD_MS }),
      alone('bombs taken meanwhile', '1/s', [taken / seconds]),
    ];
  });
}

function judged(values: readonly number[]): Pick<Row, 'budget' | 'met'> {
  const { budget, met } = alone('', 'ms', values, { atMost: HONEST_MS });
  return { budget, met };
}

/** The p99 of an honest sender and of NOOP on another connection. */
async function measure(mayfly: Mayfly, { address }: Inbox, mail: Buffer): Promise<Round> {
  const [sender, idler] = [await SmtpClient.open(mayfly.smtpPort), await SmtpClient.open(mayfly.smtpPort)];
  const end = performance.now() + ROUND_MS;
  const repeat = async (one: () => Promise<number>): Promise<number> => {
    const times: number[] = [];
    while (performance.now() < end) {
      times.push(await one());
      await sleep(EVERY_MS);
    }
    return percentile(times, 0.99);
  };
  try {
    const [honest, noop] = await Promise.all([
      repeat(async () => (await sender.send(address, mail)).ms),
      repeat(() => idler.noop()),
    ]);
    return { honest, noop };
  } finally {
    sender.close();
    idler.close();
  }
}

/** Starts the bomb senders on a thread of their own. `stop` returns how many bombs were taken. */
async function startBombs(mayfly: Mayfly): Promise<{ stop(): Promise<number> }> {
  const inboxes = await Promise.all(Array.from({ length: SENDERS }, () => mayfly.createInbox()));
  const load: BombLoad = {
    port: mayfly.smtpPort,
    addresses: inboxes.map(({ address }) => address),
    bytes: BOMB_BYTES,
  };
  const worker = new Worker(new URL('./bomb-senders.ts', import.meta.url), { workerData: load });
  const next = () =>
    new Promise<number>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  await next();
  return {
    async stop() {
      const taken = next();
      worker.postMessage('stop');
      const count = await taken;
      await worker.terminate();
      return count;
    },
  };
}
