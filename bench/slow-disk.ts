import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { assertAllThere, type Mayfly, startMayfly } from './support/mayfly.ts';
import { findProgram, runProgram } from './support/program.ts';
import { alone, compared, type Row, skipped } from './support/rows.ts';
import { NO_SMTP_SOURCE, sendStream, smtpSource, writeMailFile } from './support/smtp-source.ts';

const ROUNDS = 5;
const MAILS = 2000;
const CONNECTIONS = 20;
const DELAY_US = 5000;
/** SQLite uses the one or the other, as it was built. */
const SYNCS = 'fsync,fdatasync';
const WHAT = 'intake with a disk that takes 5 ms longer to sync; baseline: as it is, also traced';

/**
 * The kernel holds every sync for 5 ms, by strace's injection. Only those calls are traced (a seccomp
 * filter lets all others pass), and the baseline runs under the same tracer without the delay.
 */
export async function slowDisk(): Promise<Row[]> {
  const strace = findProgram('strace');
  if (smtpSource === undefined) return [skipped(WHAT, NO_SMTP_SOURCE)];
  if (strace === undefined) return [skipped(WHAT, 'needs strace, which is not here')];
  try {
    await runProgram(strace, ['-f', '--seccomp-bpf', '-e', `trace=${SYNCS}`, 'true'], 10);
  } catch {
    return [skipped(WHAT, 'strace may not trace here')];
  }
  const folder = makeFolder();
  const file = join(folder, 'mail.eml');
  const log = join(folder, 'strace.log');
  writeMailFile(file, await realisticMail());
  const traced = [strace, '-f', '--seccomp-bpf', '-e', `trace=${SYNCS}`];
  const slowed = ['-o', log, '-e', `inject=${SYNCS}:delay_enter=${DELAY_US}`];
  const servers: Mayfly[] = [];
  try {
    const plain = await startMayfly({ under: [...traced, '-o', '/dev/null'] });
    servers.push(plain);
    const slow = await startMayfly({ under: [...traced, ...slowed] });
    servers.push(slow);
    const rounds: { plain: Measured; slow: Measured }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const one = { plain: await measure(plain, file), slow: await measure(slow, file) };
      // The first one warms up.
      if (round > 0) rounds.push(one);
    }
    if (!readFileSync(log, 'latin1').includes('(DELAYED)')) throw new Error('no sync was delayed');
    return rows(rounds);
  } finally {
    for (const server of servers) await server.stop();
    removeFolder(folder);
  }
}

interface Measured {
  rate: number;
  delayP99: number;
}

async function measure(mayfly: Mayfly, file: string): Promise<Measured> {
  const inbox = await mayfly.createInbox();
  await mayfly.resetDelay();
  const seconds = await sendStream({
    port: mayfly.smtpPort,
    to: inbox.address,
    mails: MAILS,
    connections: CONNECTIONS,
    mail: { file },
  });
  const { p99 } = await mayfly.delay();
  await assertAllThere(mayfly, inbox, MAILS);
  return { rate: MAILS / seconds, delayP99: p99 };
}

function rows(rounds: { plain: Measured; slow: Measured }[]): Row[] {
  return [
    compared(
      WHAT,
      'mails/s',
      rounds.map(({ plain, slow }) => ({ ours: slow.rate, baseline: plain.rate })),
    ),
    alone(
      'main thread delayed with the slow disk, p99',
      'ms',
      rounds.map(({ slow }) => slow.delayP99),
      {
        atMost: 20,
      },
    ),
  ];
}
