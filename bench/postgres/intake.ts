import { join } from 'node:path';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { realisticMail } from '../support/mails.ts';
import { assertAllThere, type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, compared, type Row, skipped } from '../support/rows.ts';
import { NO_SMTP_SOURCE, sendStream, smtpSource, writeMailFile } from '../support/smtp-source.ts';
import type { BenchCluster } from './cluster.ts';

const CONNECTIONS = 20;
const MAILS = 4000;
const WARM_UP_MAILS = 4000;
const ROUNDS = 5;

interface Figures {
  rate: number;
  /** CPU time of a mail, milliseconds. */
  nodeMs: number;
  backendMs: number;
}

/** Durable intake by SMTP, one server on PostgreSQL against the same server with its embedded database. */
export async function intakeRows(cluster: BenchCluster): Promise<Row[]> {
  if (smtpSource === undefined) return [skipped('durable intake on PostgreSQL', NO_SMTP_SOURCE)];
  const folder = makeFolder();
  const file = join(folder, 'mail.eml');
  writeMailFile(file, await realisticMail());
  try {
    const url = await cluster.createDatabase();
    return await withMayfly({}, (embedded) =>
      withMayfly({ env: { MAYFLY_DATABASE_URL: url } }, (onPostgres) =>
        measure(cluster, embedded, onPostgres, file),
      ),
    );
  } finally {
    removeFolder(folder);
  }
}

async function measure(
  cluster: BenchCluster,
  embedded: Mayfly,
  onPostgres: Mayfly,
  file: string,
): Promise<Row[]> {
  const send = async (mayfly: Mayfly, mails: number): Promise<Figures> => {
    const inbox = await mayfly.createInbox();
    const before = { node: mayfly.cpuSeconds(), backend: cluster.cpuSeconds() };
    const stream = { port: mayfly.smtpPort, to: inbox.address, connections: CONNECTIONS, mail: { file } };
    const seconds = await sendStream({ ...stream, mails });
    const after = { node: mayfly.cpuSeconds(), backend: cluster.cpuSeconds() };
    await assertAllThere(mayfly, inbox, mails);
    return {
      rate: mails / seconds,
      nodeMs: ((after.node - before.node) * 1000) / mails,
      backendMs: ((after.backend - before.backend) * 1000) / mails,
    };
  };
  await send(embedded, WARM_UP_MAILS);
  await send(onPostgres, WARM_UP_MAILS);
  const rounds: { ours: Figures; baseline: Figures }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ baseline: await send(embedded, MAILS), ours: await send(onPostgres, MAILS) });
  }
  const rates = rounds.map(({ ours, baseline }) => ({ ours: ours.rate, baseline: baseline.rate }));
  return [
    compared('durable intake on PostgreSQL; baseline embedded', 'mails/s', rates, { atLeast: 0.6 }),
    compared(
      'CPU time a mail, server process; baseline embedded',
      'ms',
      rounds.map(({ ours, baseline }) => ({ ours: ours.nodeMs, baseline: baseline.nodeMs })),
    ),
    alone(
      'CPU time a mail, PostgreSQL with its writers and checkpoints',
      'ms',
      rounds.map(({ ours }) => ours.backendMs),
    ),
  ];
}
