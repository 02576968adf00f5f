import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { databasePath } from '../../../src/config/config.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { hasValidChecksum } from '../../../src/ids.ts';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';

const MAIN = fileURLToPath(new URL('../../../bin/mayfly.js', import.meta.url));
const run = promisify(execFile);
/** script(1), which runs a command at a pseudo-terminal. */
const SCRIPT = process.platform === 'linux' ? findProgram('script') : undefined;
if (!SCRIPT) reportAbsent('script, a pseudo-terminal for commands,', 'bsdutils');
/** Timeout of a command, shorter than that of a test, so that the failure names the command. */
const COMMAND_MS = 100_000;

const folder = useFolder();

const environment = (more: Record<string, string> = {}) => ({
  ...{ PATH: process.env.PATH, MAYFLY_DATA_DIR: folder(), ...more },
});

/** Starts `mayfly dev` without MAYFLY_API_KEY. */
async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const options = { dataDir: folder(), env: { MAYFLY_API_KEY: '', ...env } };
  const server = await startServer({ command: 'dev', ...options });
  onTestFinished(async () => void (await server.end('SIGKILL')));
  return server;
}

const stop = async (server: ServerProcess) => (await server.end('SIGTERM')).code;

/** Runs a command, whose standard input stays open. */
const mayfly = (command: string[], env = environment()) =>
  run(process.execPath, [MAIN, ...command], { env, timeout: COMMAND_MS });

/** Pastes the curl line of the greeting into a shell. @returns the address of the inbox that it creates */
async function paste({ greeting }: ServerProcess, env: Record<string, string> = {}): Promise<string> {
  const line = /^ +(curl .*)$/m.exec(greeting)?.[1] ?? '';
  const { stdout } = await run('sh', ['-c', `${line} -s`], { env: { PATH: process.env.PATH, ...env } });
  return JSON.parse(stdout).address;
}

/** @returns the status of the response */
const createInbox = async ({ api }: ServerProcess, as: string) =>
  (await api('POST', '/v1/inboxes', { as })).status;

describe('the command line', () => {
  it('shows a command with the development key, at each start; `key create` makes others while the server runs', async () => {
    for (const name of ['first', 'second']) {
      const server = await start();
      const { greeting } = server;
      expect(greeting).not.toContain('mfk_');
      expect(greeting).toMatch(/SMTP +127\.0\.0\.1:\d+ +\(domains: mayfly\.test\)/);
      expect(greeting).toContain('-H "Authorization: Bearer dev"');
      expect(await paste(server)).toMatch(/@mayfly\.test$/);
      const { stdout: key } = await mayfly(['key', 'create', '--name', name]);
      expect(await createInbox(server, key.trim())).toBe(201);
      expect(await stop(server)).toBe(0);
    }
  });

  it('without the development key shows a key at the first start only', async () => {
    const off = { MAYFLY_DEV_KEY: 'off', MAYFLY_DATA_DIR: join(folder(), 'off') };
    const first = await start(off);
    const key = /mfk_\w+/.exec(first.greeting)?.[0] ?? '';
    expect(hasValidChecksum(key)).toBe(true);
    expect(await paste(first)).toMatch(/@mayfly\.test$/);
    expect(await createInbox(first, 'dev')).toBe(401);
    expect(await stop(first)).toBe(0);
    const second = await start(off);
    expect(second.greeting).not.toContain('mfk_');
    expect(second.greeting).toMatch(/printed at the first start .*\n.*npx mayfly key create/);
    expect(await paste(second, { MAYFLY_API_KEY: key })).toMatch(/@mayfly\.test$/);
    expect(await stop(second)).toBe(0);
  });

  const NOWHERE = { MAYFLY_DATA_DIR: '/dev/null/data' };
  it.each([
    [2, 'what cannot be meant', 'key revoke mfk_x', {}, /mayfly key revoke -/],
    [1, 'a missing database', 'account list', NOWHERE, /There is no database .*Start the server once/],
  ])('ends with %i for %s', async (code, _what, command, more, message) => {
    const failed = await mayfly(command.split(' '), environment(more)).catch((error) => error);
    expect([failed.code, failed.stderr]).toEqual([code, expect.stringMatching(message)]);
    expect(failed.stderr).not.toMatch(/^\s+at /m);
  });

  it('names the version of Node that it needs when an older one runs it', async () => {
    // Emulates an older version, because only one is installed.
    const older =
      'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})';
    const attempt = run(process.execPath, ['--import', older, MAIN, 'dev'], { env: environment() });
    await expect(attempt).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Mayfly needs Node 24\.15 or newer, and this is 20\.20\.2\..*npm start/),
    });
  });

  it.skipIf(!SCRIPT)('shows the steps of long work at a terminal and nowhere else', async () => {
    const dataDir = join(folder(), 'steps');
    await (await openSqlite({ path: databasePath(dataDir) })).close();
    const env = environment({ MAYFLY_DATA_DIR: dataDir, TERM: 'xterm' });
    const words = [process.execPath, MAIN, 'backup', join(dataDir, 'one.db')].map((word) => `'${word}'`);
    const { stdout } = await run(SCRIPT ?? '', ['-qec', words.join(' '), '/dev/null'], { env });
    expect(stdout).toMatch(
      /^Copying the database, [\d.]+ MiB, to .*one\.db\.partial …\s+Checking the copy …\s+Backed up to /,
    );
    const elsewhere = await mayfly(['backup', join(dataDir, 'two.db')], env);
    expect(elsewhere).toEqual({ stdout: expect.stringMatching(/^Backed up to .*MiB\)\.\n$/), stderr: '' });
  });
});
