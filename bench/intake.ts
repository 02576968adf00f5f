import { join } from 'node:path';
import { type Child, startChild, untilIdle } from './support/child.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { assertAllThere, type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row, skipped } from './support/rows.ts';
import { type SmtpSink, startSmtpSink } from './support/smtp-sink.ts';
import { NO_SMTP_SOURCE, type Stream, sendStream, smtpSource, writeMailFile } from './support/smtp-source.ts';

const CONNECTIONS = 20;
const LARGE_MIB = 10;
const BURST = 10_000;
const BURSTS = 8;

/** How mails are sent. */
interface Mode {
  what: string;
  /** Of one round; an inbox holds 10,000. */
  mails: number;
  warmUp: number;
  rounds: number;
  how: Pick<Stream, 'connections' | 'reconnect' | 'mail'>;
}

interface Figures {
  rate: number;
  /** CPU time a mail, milliseconds. */
  cpuMs: number;
  mainCpuMs: number;
}

interface Round {
  sink: { rate: number };
  smtp: Figures;
  /** `cpuMs` until the 250s; `readCpuMs` until the mails are read as well. */
  ours: Figures & { readCpuMs: number; delayP99: number; delayMax: number };
}

interface Servers {
  sink: SmtpSink;
  /** Our SMTP server alone. */
  smtp: Child;
  mayfly: Mayfly;
}

/** Mails a second into the store against mails a second thrown away by Postfix's smtp-sink. */
export async function intake(): Promise<Row[]> {
  if (smtpSource === undefined) return [skipped('durable intake', NO_SMTP_SOURCE)];
  const folder = makeFolder();
  const file = join(folder, 'mail.eml');
  writeMailFile(file, await realisticMail());
  const sink = await startSmtpSink();
  try {
    return await measureAll(sink, file);
  } finally {
    await sink.stop();
    removeFolder(folder);
  }
}

async function measureAll(sink: SmtpSink, file: string): Promise<Row[]> {
  const small = { connections: CONNECTIONS, mail: { file } };
  const large = { connections: 4, mail: { bytes: LARGE_MIB * 1024 * 1024 } };
  const modes: Record<'open' | 'anew' | 'large', Mode> = {
    open: { what: 'kept open', mails: BURST, warmUp: 5000, rounds: 5, how: small },
    anew: { what: 'new', mails: 4000, warmUp: 2000, rounds: 5, how: { ...small, reconnect: true } },
    large: { what: 'large', mails: 24, warmUp: 16, rounds: 5, how: large },
  };
  const smtp = await startChild({
    file: new URL('./support/smtp-alone.ts', import.meta.url),
    ready: /ready on (\d+)/,
  });
  try {
    return await withMayfly({}, async (mayfly) => {
      const servers = { sink, smtp, mayfly };
      const open = await measure(servers, modes.open);
      const sustained = await sustain(servers, small);
      const anew = await measure(servers, modes.anew);
      const ofLarge = await measure(servers, modes.large);
      return [...openRows(open), sustained, ...anewRows(anew), ...largeRows(ofLarge)];
    });
  } finally {
    await smtp.stop();
  }
}

async function measure({ sink, smtp, mayfly }: Servers, mode: Mode): Promise<Round[]> {
  const toSink = async (mails: number) => ({
    rate: mails / (await sendStream({ ...mode.how, port: sink.port, to: 'someone@mayfly.test', mails })),
  });
  const toSmtp = (mails: number) =>
    withCpu(smtp, mails, () =>
      sendStream({ ...mode.how, port: Number(smtp.ready[0]), to: 'someone@mayfly.test', mails }),
    );
  const warmUp = { ...mode, mails: mode.warmUp };
  await toSink(mode.warmUp);
  await toSmtp(mode.warmUp);
  await sendToOurs(mayfly, warmUp);
  const rounds: Round[] = [];
  for (let round = 0; round < mode.rounds; round++) {
    rounds.push({
      sink: await toSink(mode.mails),
      smtp: await toSmtp(mode.mails),
      ours: await sendToOurs(mayfly, mode),
    });
  }
  return rounds;
}

/** @param send answers how many seconds it took */
async function withCpu(server: Child, mails: number, send: () => Promise<number>): Promise<Figures> {
  const before = { all: server.cpuSeconds(), main: server.mainCpuSeconds() };
  const seconds = await send();
  return {
    rate: mails / seconds,
    cpuMs: ((server.cpuSeconds() - before.all) * 1000) / mails,
    mainCpuMs: ((server.mainCpuSeconds() - before.main) * 1000) / mails,
  };
}

async function sendToOurs(mayfly: Mayfly, { mails, how }: Mode): Promise<Round['ours']> {
  const inbox = await mayfly.createInbox();
  await mayfly.resetDelay();
  const before = mayfly.cpuSeconds();
  const figures = await withCpu(mayfly, mails, () =>
    sendStream({ ...how, port: mayfly.smtpPort, to: inbox.address, mails }),
  );
  const { p99, max } = await mayfly.delay();
  await untilIdle(mayfly);
  const readCpuMs = ((mayfly.cpuSeconds() - before) * 1000) / mails;
  await assertAllThere(mayfly, inbox, mails);
  return { ...figures, readCpuMs, delayP99: p99, delayMax: max };
}

/** One burst after another without a pause, until all is read: more than may wait to be read. */
async function sustain({ sink, mayfly }: Servers, how: Mode['how']): Promise<Row> {
  const toSink = await sendStream({ ...how, port: sink.port, to: 'someone@mayfly.test', mails: BURST });
  const begunAt = performance.now();
  for (let burst = 0; burst < BURSTS; burst++) {
    const { address: to } = await mayfly.createInbox();
    await sendStream({ ...how, port: mayfly.smtpPort, to, mails: BURST });
  }
  await untilIdle(mayfly);
  const ours = (BURST * BURSTS * 1000) / (performance.now() - begunAt);
  const what = `${BURST * BURSTS} mails without a pause, until all are read; baseline smtp-sink`;
  return compared(what, 'mails/s', [{ ours, baseline: BURST / toSink }], { atLeast: 0.22 });
}

const ofOurs = (rounds: Round[], figure: keyof Round['ours']) => rounds.map(({ ours }) => ours[figure]);

function againstSink(
  what: string,
  rounds: Round[],
  who: 'ours' | 'smtp',
  atLeast?: number,
  { unit, inEach } = { unit: 'mails/s', inEach: 1 },
): Row {
  const pairs = rounds.map((round) => ({
    ours: round[who].rate * inEach,
    baseline: round.sink.rate * inEach,
  }));
  return compared(what, unit, pairs, atLeast === undefined ? {} : { atLeast });
}

function openRows(rounds: Round[]): Row[] {
  return [
    againstSink(
      `durable intake, ${CONNECTIONS} connections kept open; baseline smtp-sink`,
      rounds,
      'ours',
      0.35,
    ),
    againstSink('the same, our SMTP server alone, which throws the mails away', rounds, 'smtp'),
    alone('CPU time a mail until its 250, all threads', 'ms', ofOurs(rounds, 'cpuMs'), { atMost: 0.45 }),
    alone('the same until it is read', 'ms', ofOurs(rounds, 'readCpuMs')),
    alone('CPU time a mail, main thread', 'ms', ofOurs(rounds, 'mainCpuMs')),
    alone(
      'CPU time a mail, main thread, our SMTP server alone',
      'ms',
      rounds.map(({ smtp }) => smtp.mainCpuMs),
      { atMost: 0.12 },
    ),
    alone('main thread delayed while that runs, p99', 'ms', ofOurs(rounds, 'delayP99'), { atMost: 20 }),
    alone('the same, longest', 'ms', ofOurs(rounds, 'delayMax')),
  ];
}

function anewRows(rounds: Round[]): Row[] {
  return [
    againstSink('durable intake, a new connection for each mail; baseline smtp-sink', rounds, 'ours', 0.35),
    againstSink('the same, our SMTP server alone', rounds, 'smtp'),
  ];
}

function largeRows(rounds: Round[]): Row[] {
  const mib = { unit: 'MiB/s', inEach: LARGE_MIB };
  const what = `durable intake of ${LARGE_MIB}-MiB mails; baseline smtp-sink`;
  return [
    againstSink(what, rounds, 'ours', 0.7, mib),
    againstSink('the same, our SMTP server alone', rounds, 'smtp', undefined, mib),
    alone(
      'CPU time a MiB until it is read, all threads',
      'ms',
      ofOurs(rounds, 'readCpuMs').map((ms) => ms / LARGE_MIB),
    ),
  ];
}
