import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { ENGINES, useSiteOfTest } from '../nodes/nodes.ts';
import { allMessages } from '../nodes/truth.ts';

const OTHER_VERSION = fileURLToPath(new URL('other-version.ts', import.meta.url));
type Version = [schema: number, usableFrom: number][];
/** Versions of Mayfly by their additional migrations. */
const THIS: Version = [];
const NEXT: Version = [[9001, 1]];
const AFTER_NEXT: Version = [...NEXT, [9002, 9001]];

const send = async (server: ServerProcess, { address }: Inbox, subject: string): Promise<void> =>
  expect(await sendTo(server.smtpPort, address, `Subject: ${subject}\n\nHello.`)).toMatch(/^250/);

const subjectsOf = async (server: ServerProcess, inbox: Inbox): Promise<string[]> =>
  (await allMessages(server, inbox)).map(({ subject }) => subject).sort();

describe.each(ENGINES)('servers of two versions on one database, $engine', ({ engine }) => {
  const site = useSiteOfTest(0, { engine });
  const start = (version: Version, place = 0): Promise<ServerProcess> => {
    const env = { TEST_MIGRATIONS: JSON.stringify(version) };
    return site().startNode({ fromSources: true, nodeArgs: ['--import', OTHER_VERSION], env }, place);
  };

  it('refuses tables that this version cannot use, and says which it needs', async () => {
    await (await start(AFTER_NEXT)).end('SIGTERM');
    await expect(start(THIS)).rejects.toThrow(
      'The database was upgraded to schema 9002 by a newer version of Mayfly. It needs schema 9001 or newer, and this version has schema 1. Start the newer version, or restore a backup of this one.',
    );
    // The server has a migration that the database lacks.
    await expect(start([[9000, 1]])).rejects.toThrow('It needs that version');
    await (await start(NEXT)).end('SIGTERM');
  });

  it('is used by the version before, so that an upgrade can be taken back', async () => {
    const first = await start(THIS);
    const inbox = await first.createInbox();
    await send(first, inbox, 'before');
    await first.end('SIGTERM');
    const next = await start(NEXT);
    await send(next, inbox, 'next');
    await next.end('SIGTERM');
    const again = await start(THIS);
    await send(again, inbox, 'again');
    expect(await subjectsOf(again, inbox)).toEqual(['again', 'before', 'next']);
  });

  if (engine === 'SQLite') return;

  it('serve together after the upgrade, also when one of the version before is started again', async () => {
    const old = await start(THIS);
    const killed = await start(THIS, 1);
    const inbox = await old.createInbox();
    await send(old, inbox, 'before');
    const next = await start(NEXT, 2);
    await send(next, inbox, 'next');
    await killed.end('SIGKILL');
    const restarted = await start(THIS, 1);
    await send(restarted, inbox, 'restarted');
    await send(old, inbox, 'old');
    const all = ['before', 'next', 'old', 'restarted'];
    for (const server of [old, next, restarted]) expect(await subjectsOf(server, inbox)).toEqual(all);
  });

  it('serve while the upgrade waits for a backup, which reads a table for long', async () => {
    const old = await start(THIS);
    const inbox = await old.createInbox();
    const backup = new Client(site().url);
    await backup.connect();
    await backup.query('begin');
    await backup.query('lock table messages in access share mode');
    const starting = Promise.all([start(NEXT, 1), start(NEXT, 2)]);
    const waiting = () =>
      site().query(`select count(*)::int from pg_locks
        where not granted and relation = 'messages'::regclass`);
    // The migration is aborted several times, and mail is received in between.
    for (let times = 0; times < 3; times++) {
      await expect.poll(waiting).toBeGreaterThan(0);
      await send(old, inbox, `during ${times}`);
    }
    await backup.query('commit');
    const [next] = await starting;
    expect(await subjectsOf(next, inbox)).toEqual(['during 0', 'during 1', 'during 2']);
    await backup.end();
  });

  it('start at the same time on an empty database', async () => {
    const versions = [THIS, NEXT, AFTER_NEXT, THIS];
    // Servers of this version may start before the last migration has run, but not after it.
    const started = await Promise.allSettled(versions.map((version, place) => start(version, place)));
    const failed = started.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    for (const text of failed) expect(text).toContain('It needs schema 9001 or newer');
    expect(started.slice(1, 3).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});
