import { join } from 'node:path';
import { type Child, startChild } from './support/child.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { assertAllThere, type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row, skipped } from './support/rows.ts';
import { NO_SMTP_SOURCE, sendStream, smtpSource, writeMailFile } from './support/smtp-source.ts';

const ROUNDS = 7;
/** A round of two to three seconds; an inbox holds 10,000. */
const MAILS = 4000;
const WARM_UP_MAILS = 3000;
const CONNECTIONS = 20;
const WHAT = `durable intake, ${CONNECTIONS} connections kept open`;

interface Round {
  ours: { rate: number; cpuMs: number; delayP99: number; delayMax: number };
  bare: { rate: number; cpuMs: number };
}

/** Mails a second into the store against mails a second thrown away by the SMTP library alone. */
export async function intake(): Promise<Row[]> {
  if (smtpSource === undefined) return [skipped(WHAT, NO_SMTP_SOURCE)];
  const folder = makeFolder();
  const file = join(folder, 'mail.eml');
  writeMailFile(file, await realisticMail());
  const bare = await startChild({
    file: new URL('./support/bare-smtp.ts', import.meta.url),
    ready: /ready on (\d+)/,
  });
  try {
    return rows(await withMayfly({}, (mayfly) => measure(mayfly, bare, file)));
  } finally {
    await bare.stop();
    removeFolder(folder);
  }
}

async function measure(mayfly: Mayfly, bare: Child, file: string): Promise<Round[]> {
  await sendToBare(bare, file, WARM_UP_MAILS);
  await sendToOurs(mayfly, file, WARM_UP_MAILS);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ bare: await sendToBare(bare, file, MAILS), ours: await sendToOurs(mayfly, file, MAILS) });
  }
  return rounds;
}

async function sendToBare(bare: Child, file: string, mails: number): Promise<Round['bare']> {
  const cpu = bare.cpuSeconds();
  const seconds = await sendStream({
    port: Number(bare.ready[0]),
    to: 'someone@mayfly.test',
    mails,
    connections: CONNECTIONS,
    mail: { file },
  });
  return { rate: mails / seconds, cpuMs: ((bare.cpuSeconds() - cpu) * 1000) / mails };
}

async function sendToOurs(mayfly: Mayfly, file: string, mails: number): Promise<Round['ours']> {
  const inbox = await mayfly.createInbox();
  await mayfly.resetDelay();
  const cpu = mayfly.cpuSeconds();
  const seconds = await sendStream({
    port: mayfly.smtpPort,
    to: inbox.address,
    mails,
    connections: CONNECTIONS,
    mail: { file },
  });
  const cpuMs = ((mayfly.cpuSeconds() - cpu) * 1000) / mails;
  const { p99, max } = await mayfly.delay();
  await assertAllThere(mayfly, inbox, mails);
  return { rate: mails / seconds, cpuMs, delayP99: p99, delayMax: max };
}

function rows(rounds: Round[]): Row[] {
  return [
    compared(
      WHAT,
      'mails/s',
      rounds.map(({ ours, bare }) => ({ ours: ours.rate, baseline: bare.rate })),
      { atLeast: 0.25 },
    ),
    compared(
      'CPU time a mail, all threads',
      'ms',
      rounds.map(({ ours, bare }) => ({ ours: ours.cpuMs, baseline: bare.cpuMs })),
    ),
    alone(
      'main thread delayed while that runs, p99',
      'ms',
      rounds.map(({ ours }) => ours.delayP99),
      { atMost: 20 },
    ),
    alone(
      'the same, longest',
      'ms',
      rounds.map(({ ours }) => ours.delayMax),
    ),
  ];
}
