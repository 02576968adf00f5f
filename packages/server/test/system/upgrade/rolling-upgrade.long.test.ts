import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';
import { sendMail } from '../../support/mail/smtp-mail.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';

/** The npm package has programs for Linux on x64 only; elsewhere these tests are skipped. */
const IS_THERE = await hasPostgres();
const OTHER_VERSION = fileURLToPath(new URL('other-version.ts', import.meta.url));
type Version = [schema: number, usableFrom: number][];
/** Versions of Mayfly by what they add to the schema of this one. */
const THIS: Version = [];
const NEXT: Version = [[9001, 1]];
const AFTER_NEXT: Version = [...NEXT, [9002, 9001]];

const folder = useFolderOfTest();
let running: ServerProcess[] = [];
afterEach(async () => {
  await Promise.all(running.map((server) => server.end('SIGKILL')));
  running = [];
});

async function start(version: Version, env: Record<string, string>) {
  const server = await startServer({
    dataDir: join(folder(), 'data'),
    fromSources: true,
    nodeArgs: ['--import', OTHER_VERSION],
    env: { TEST_MIGRATIONS: JSON.stringify(version), ...env },
  });
  running.push(server);
  return server;
}

async function stop(server: ServerProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM') {
  await server.end(signal);
  running = running.filter((other) => other !== server);
}

async function subjectsOf(server: ServerProcess, inbox: Inbox): Promise<string[]> {
  const { messages } = await server.getJson<{ messages: { subject: string }[] }>(
    `/v1/inboxes/${inbox.id}/messages`,
  );
  return messages.map(({ subject }) => subject).sort();
}

const sendTo = (server: ServerProcess, { address }: Inbox, subject: string) =>
  sendMail(server.smtpPort, [address], `Subject: ${subject}\n\nHello.`);

/** A start that must fail. @returns all that the server wrote */
const refusalOf = (version: Version, env: Record<string, string>): Promise<string> =>
  start(version, env).then(
    () => 'started',
    (error) => error.message,
  );

function refusesUnusable(env: () => Record<string, string>): void {
  it('refuses tables that this version cannot use, and says which it needs', async () => {
    await stop(await start(AFTER_NEXT, env()));
    expect(await refusalOf(THIS, env())).toContain(
      'The database was upgraded to schema 9002 by a newer version of Mayfly. It needs schema 9001 or newer, and this version has schema 1. Start the newer version, or restore a backup of this one.',
    );
    expect(await refusalOf([[9000, 1]], env()), 'lacks one of its own').toContain('It needs that version');
    await stop(await start(NEXT, env()));
  });
}

describe.skipIf(!IS_THERE)('servers of two versions on PostgreSQL', () => {
  let cluster: PostgresCluster;
  beforeEach(async () => {
    cluster = await startPostgres();
  });
  afterEach(() => cluster?.remove());
  const env = () => ({ MAYFLY_DATABASE_URL: cluster.url() });

  it('serve together after the upgrade, also when one of the version before is started again', async () => {
    const old = await start(THIS, env());
    const killed = await start(THIS, env());
    const inbox = await old.createInbox();
    await sendTo(old, inbox, 'before');
    const next = await start(NEXT, env());
    await sendTo(next, inbox, 'next');
    await stop(killed, 'SIGKILL');
    const restarted = await start(THIS, env());
    await sendTo(restarted, inbox, 'restarted');
    await sendTo(old, inbox, 'old');
    const all = ['before', 'next', 'old', 'restarted'];
    for (const server of [old, next, restarted]) expect(await subjectsOf(server, inbox)).toEqual(all);
  });

  it('serve while the upgrade waits for a backup, which reads a table for long', async () => {
    const old = await start(THIS, env());
    const inbox = await old.createInbox();
    const backup = new Client(cluster.url());
    await backup.connect();
    await backup.query('begin');
    await backup.query('lock table messages in access share mode');
    const starting = Promise.all([start(NEXT, env()), start(NEXT, env())]);
    const client = new Client(cluster.url());
    await client.connect();
    const waitingForBackup = async () => {
      const { rows } = await client.query('select count(*)::int as n from pg_locks where not granted');
      return rows[0].n;
    };
    // It gives up several times, and mail is received in between.
    for (let times = 0; times < 3; times++) {
      await expect.poll(waitingForBackup).toBeGreaterThan(0);
      const { end } = await sendTo(old, inbox, `during ${times}`);
      expect(end).toMatch(/^250/);
    }
    await backup.query('commit');
    const [next] = await starting;
    expect(await subjectsOf(next, inbox)).toEqual(['during 0', 'during 1', 'during 2']);
    await backup.end();
    await client.end();
  });

  it('start at the same time on an empty database', async () => {
    const versions = [THIS, NEXT, AFTER_NEXT, THIS];
    // Servers of this version may start before the last migration has run, but not after it.
    const started = await Promise.allSettled(versions.map((version) => start(version, env())));
    const failed = started.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    for (const text of failed) expect(text).toContain('It needs schema 9001 or newer');
    expect(started.slice(1, 3).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });

  refusesUnusable(env);
});

describe('an embedded database of a newer version', () => {
  it('is used by the version before, so that an upgrade can be taken back', async () => {
    const old = await start(THIS, {});
    const inbox = await old.createInbox();
    await sendTo(old, inbox, 'before');
    await stop(old);
    const next = await start(NEXT, {});
    await sendTo(next, inbox, 'next');
    await stop(next);
    const again = await start(THIS, {});
    await sendTo(again, inbox, 'again');
    expect(await subjectsOf(again, inbox)).toEqual(['again', 'before', 'next']);
  });

  refusesUnusable(() => ({}));
});
