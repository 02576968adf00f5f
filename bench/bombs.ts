import { openSenders, sendUntil } from './support/load.ts';
import { parserBombs, realisticMail } from './support/mails.ts';
import { type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { percentile } from './support/stats.ts';

const ROUNDS = 3;
const ROUND_MS = 3000;
const SENDERS = 20;
/** Where the thread that talks is held up by a mail, everybody waits longer than this. */
const REPLY_MS = 100;

interface Round {
  replyP99: number;
  delayP99: number;
}

/** Twenty senders of ordinary mails while another one sends parser bombs, against the same without. */
export async function bombs(): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({}, async (mayfly) => {
    await measure(mayfly, mail);
    const kinds = [...parserBombs()].map(([name, bomb]) => ({
      name,
      bomb: onTheWire(bomb),
      rounds: [] as Round[],
    }));
    const quiet: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push(await measure(mayfly, mail));
      for (const { bomb, rounds } of kinds) rounds.push(await measure(mayfly, mail, bomb));
    }
    return kinds.flatMap(({ name, rounds }) => rows(name, rounds, quiet));
  });
}

async function measure(mayfly: Mayfly, mail: Buffer, bomb?: Buffer): Promise<Round> {
  const senders = await openSenders(mayfly, SENDERS);
  const signal = AbortSignal.timeout(ROUND_MS);
  try {
    await mayfly.resetDelay();
    const bombing = bomb === undefined ? undefined : sendBombs(signal, mayfly, bomb);
    const latencies = await sendUntil(signal, senders, mail);
    const { p99 } = await mayfly.delay();
    await bombing;
    return { replyP99: percentile(latencies, 0.99), delayP99: p99 };
  } finally {
    senders.close();
  }
}

async function sendBombs(signal: AbortSignal, mayfly: Mayfly, bomb: Buffer): Promise<void> {
  const { address } = await mayfly.createInbox();
  const client = await SmtpClient.open(mayfly.smtpPort);
  try {
    while (!signal.aborted) await client.send(address, bomb);
  } finally {
    client.close();
  }
}

function rows(name: string, rounds: Round[], quiet: Round[]): Row[] {
  const reply = compared(
    `others' dot to 250 beside bombs (${name}), p99; baseline without them`,
    'ms',
    rounds.map(({ replyP99 }, i) => ({ ours: replyP99, baseline: quiet[i]?.replyP99 ?? Number.NaN })),
  );
  const met = alone(
    '',
    'ms',
    rounds.map(({ replyP99 }) => replyP99),
    { atMost: REPLY_MS },
  );
  return [
    { ...reply, budget: met.budget, met: met.met },
    alone(
      `main thread delayed meanwhile (${name}), p99`,
      'ms',
      rounds.map(({ delayP99 }) => delayP99),
      {
        atMost: 20,
      },
    ),
  ];
}
