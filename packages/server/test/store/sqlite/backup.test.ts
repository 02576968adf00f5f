import { execFile } from 'node:child_process';
import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databasePath } from '../../../src/config/config.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { backUp, restore } from '../../../src/operations/backup.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { startApp, type TestApp } from '../../support/start-app.ts';

const MAIN = fileURLToPath(new URL('../../../bin/mayfly.js', import.meta.url));
/** Mails that are received at least while a backup is made; a machine that keeps up receives many more. */
const WRITES_MEANWHILE = 3;
/** The command line as an operator runs it, in a process of its own. */
const runMayfly = (dataDir: string, ...command: string[]) =>
  promisify(execFile)(process.execPath, [MAIN, ...command], {
    env: { PATH: process.env.PATH, MAYFLY_DATA_DIR: dataDir },
  });

describe('backup and restore of the embedded database', () => {
  let folder: string;
  let dataDir: string;
  /** Where the backup is made. */
  let file: string;
  let app: TestApp | null = null;
  const start = async () => {
    app = await startApp({}, {}, dataDir);
    return app;
  };
  const stop = async () => {
    await app?.stop();
    app = null;
  };
  const subjects = async (running: TestApp, id: string): Promise<string[]> => {
    const { body } = await running.api('GET', `/v1/inboxes/${id}/messages`);
    return body.messages.map(({ subject }: { subject: string }) => subject);
  };

  const restoreNow = (from = file) => restore(databasePath(dataDir), from, '.replaced');

  const newFolder = useFolderOfTest();
  beforeEach(() => {
    folder = newFolder();
    dataDir = join(folder, 'data');
    file = join(folder, 'backup.db');
  });
  afterEach(stop);

  it('finishes while mails are received all the time, and restores exactly the mail acknowledged before it', async () => {
    const running = await start();
    const inbox = await running.createInbox();
    const text = 'x'.repeat(20_000);
    const sent: { subject: string; begun: number; acknowledged: number }[] = [];
    let sending = true;
    const sender = async (name: number) => {
      for (let n = 0; sending; n++) {
        const subject = `${name}-${n}`;
        const begun = performance.now();
        await running.send({ from: 'app@example.org', to: inbox.address, subject, text });
        sent.push({ subject, begun, acknowledged: performance.now() });
      }
    };
    const senders = [1, 2].map(sender);
    const untilSent = (count: number) => expect.poll(() => sent.length).toBeGreaterThan(count);
    await untilSent(20);
    const begin = performance.now();
    expect((await runMayfly(dataDir, 'backup', file)).stdout).toContain(`Backed up to ${file}`);
    const end = performance.now();
    await untilSent(sent.length + 10);
    sending = false;
    await Promise.all(senders);
    const meanwhile = sent.filter(({ acknowledged }) => acknowledged > begin && acknowledged < end);
    // A copy that starts again after each write would not end.
    expect(meanwhile.length).toBeGreaterThan(WRITES_MEANWHILE);
    await stop();

    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { stdout } = await runMayfly(dataDir, 'restore', file);
    expect(stdout).toContain(`${databasePath(dataDir)}.replaced-`);
    // A server reads what was acknowledged and not yet read when it was copied.
    const again = await start();
    await again.api('GET', `/v1/inboxes/${inbox.id}/messages?q=nothing`);
    await stop();
    const store = await openSqlite({ path: databasePath(dataDir) });
    const rows = await store.messages.listAfter(inbox.id, { after: 0, limit: 100_000 }, Date.now());
    const restored = rows.map(({ summary }) => summary.subject);
    for (const { id, size } of rows) {
      const raw = await store.messages.readRaw(inbox.id, id, 0, Date.now());
      expect(raw?.length).toBe(size);
      expect(Buffer.from(raw ?? []).toString()).toContain('x'.repeat(70));
    }
    await store.close();
    const early = sent.filter(({ acknowledged }) => acknowledged < begin);
    expect(restored).toEqual(expect.arrayContaining(early.map(({ subject }) => subject)));
    const late = sent.filter(({ begun }) => begun > end);
    expect(late.length).toBeGreaterThan(0);
    for (const { subject } of late) expect(restored).not.toContain(subject);
    expect(new Set(restored).size).toBe(restored.length);
  });

  it('keeps the database that it replaces, with everything in it', async () => {
    const running = await start();
    const inbox = await running.createInbox();
    backUp(databasePath(dataDir), file);
    await running.send({ from: 'app@example.org', to: inbox.address, subject: 'Later', text: 'Hello.' });
    await stop();
    const replaced = await restoreNow();
    expect(await subjects(await start(), inbox.id)).toEqual([]);
    await stop();
    await restore(databasePath(dataDir), replaced ?? '', '.again');
    expect(await subjects(await start(), inbox.id)).toEqual(['Later']);
  });

  it('refuses to replace the database of a running server', async () => {
    const running = await start();
    backUp(databasePath(dataDir), file);
    await expect(restoreNow()).rejects.toThrow(/another Mayfly server/i);
    expect((await running.api('GET', '/v1/inboxes')).status).toBe(200);
  });

  it('refuses what is no backup, and changes nothing', async () => {
    await start();
    await stop();
    writeFileSync(file, 'This is not a database. '.repeat(1000));
    const before = readFileSync(databasePath(dataDir));
    await expect(restoreNow()).rejects.toThrow(/not a database of Mayfly/);
    await expect(restoreNow(join(folder, 'absent'))).rejects.toThrow(/does not exist/);
    expect(readFileSync(databasePath(dataDir)).equals(before)).toBe(true);
    expect(readdirSync(dataDir).filter((name) => /restoring|replaced/.test(name))).toEqual([]);
  });

  it('refuses a damaged backup', async () => {
    const running = await start();
    for (let n = 0; n < 30; n++) await running.createInbox({ labels: { n: String(n) } });
    backUp(databasePath(dataDir), file);
    await stop();
    const bytes = readFileSync(file);
    bytes.fill(0x5a, 4096 * 3, bytes.length - 4096);
    writeFileSync(file, bytes);
    await expect(restoreNow()).rejects.toThrow(/damaged|not a database/);
  });

  it('overwrites no file', async () => {
    await start();
    writeFileSync(file, 'something else');
    expect(() => backUp(databasePath(dataDir), file)).toThrow(/exists already/);
    expect(readFileSync(file, 'utf8')).toBe('something else');
    expect(readdirSync(folder).sort()).toEqual(['backup.db', 'data']);
  });

  it('restores into a folder that is not there yet', async () => {
    await start();
    await stop();
    backUp(databasePath(dataDir), file);
    const other = join(folder, 'new', 'data');
    expect(await restore(databasePath(other), file, '.replaced')).toBeNull();
    expect(statSync(databasePath(other)).size).toBeGreaterThan(0);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'restores for the user whose folder it is, also by root (skipped for others)',
    async () => {
      await start();
      await stop();
      backUp(databasePath(dataDir), file);
      chownSync(dataDir, 1234, 1235);
      await restoreNow();
      for (const end of ['', '.lock']) {
        const { uid, gid } = statSync(databasePath(dataDir) + end);
        expect([uid, gid]).toEqual([1234, 1235]);
      }
    },
  );
});
