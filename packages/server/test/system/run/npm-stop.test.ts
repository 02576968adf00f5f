import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { slowness } from '../../support/slowness.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { HAS_NPM, isFree, type NpmServer, startByNpm } from './npm-process.ts';

/** Promised for every stop. */
const PROMISED = { timeout: 10_000 * slowness(), interval: 50 };
const KEY = 'npm_stop_key_0123456789';
/** npm and the first start of a server take their time on a busy machine. */
const TEST_MS = 120_000;

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'mayfly-npm-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function start(command: string): Promise<NpmServer> {
  const server = await startByNpm(command.split(' '), { MAYFLY_DATA_DIR: dataDir, MAYFLY_API_KEY: KEY });
  onTestFinished(server.kill);
  return server;
}

/** The process that serves: the one below npm and its shell. */
function serverPid(server: NpmServer): number {
  const found = [...server.processes()].find(([, command]) => command.includes('--expose-gc'));
  if (!found) throw new Error(`no server among ${[...server.processes().values()].join(' | ')}`);
  return found[0];
}

async function expectGone(server: NpmServer): Promise<void> {
  await expect.poll(() => [...server.processes().values()], PROMISED).toEqual([]);
  // The kernel closes the sockets of a killed process a moment after the process is gone.
  const ports = async () => [await isFree(server.httpPort), await isFree(server.smtpPort)];
  await expect.poll(ports, PROMISED).toEqual([true, true]);
}

const api = (server: NpmServer, method: string, path: string) =>
  fetch(`http://127.0.0.1:${server.httpPort}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}` },
  });

async function createInbox(server: NpmServer): Promise<{ id: string; address: string }> {
  return (await api(server, 'POST', '/inboxes')).json() as Promise<{ id: string; address: string }>;
}

/** Waits for a message that does not come. */
async function emptyWait(server: NpmServer, seconds: number): Promise<void> {
  const { id } = await createInbox(server);
  await api(server, 'GET', `/inboxes/${id}/messages?wait=${seconds}`);
}

/** Begins a message of one line and leaves its end to be sent. */
async function halfSent(server: NpmServer) {
  const { address } = await createInbox(server);
  const client = await smtpClient(server.smtpPort);
  await client.play([
    { expect: 220 },
    { send: 'EHLO app.example', expect: 250 },
    { send: 'MAIL FROM:<app@app.example>', expect: 250 },
    { send: `RCPT TO:<${address}>`, expect: 250 },
    { send: 'DATA', expect: 354 },
    { send: 'Subject: half\r\n' },
  ]);
  return client;
}

const STOPPED = /Mayfly has stopped/;
const STOPPING = /Mayfly is stopping/g;

describe.skipIf(!HAS_NPM)('a server that npm started (skipped where there is no npm, or no /proc)', () => {
  describe.each(['npm start', 'npx mayfly serve'])('by `%s`', (command) => {
    it.each(['SIGTERM', 'SIGINT'] as const)(
      'ends gracefully within 10 s of %s to npm alone, and frees its ports',
      async (signal) => {
        const server = await start(command);
        const client = await halfSent(server);
        server.child.kill(signal);
        await expect.poll(server.output, PROMISED).toMatch(STOPPING);
        // A message in flight is still accepted: this is what graceful means.
        await client.play([{ send: 'body\r\n.', expect: ['250 2.0.0', '421 4.3.2'] }]);
        await expectGone(server);
        await server.ended;
        expect(server.output()).toMatch(STOPPED);
      },
      TEST_MS,
    );

    it(
      'ends once and gracefully on Ctrl+C, which sends SIGINT to npm, its shell and the server at once',
      async () => {
        const server = await start(command);
        const client = await halfSent(server);
        process.kill(-server.group, 'SIGINT');
        await expect.poll(server.output, PROMISED).toMatch(STOPPING);
        await client.play([{ send: 'body\r\n.', expect: ['250 2.0.0', '421 4.3.2'] }]);
        await expectGone(server);
        expect(server.output()).toMatch(STOPPED);
        expect(server.output().match(STOPPING)).toHaveLength(1);
      },
      TEST_MS,
    );

    it(
      'ends gracefully when npm is killed (SIGKILL), which npm can tell nobody',
      async () => {
        const server = await start(command);
        server.child.kill('SIGKILL');
        await expectGone(server);
        expect(server.output()).toMatch(STOPPED);
      },
      TEST_MS,
    );
  });

  it(
    'makes `npm start` wait for the end of the server, and end with 0',
    async () => {
      const server = await start('npm start');
      const client = await halfSent(server);
      server.child.kill('SIGTERM');
      await expect.poll(server.output, PROMISED).toMatch(STOPPING);
      expect(server.child.exitCode).toBeNull();
      await client.play([{ send: 'body\r\n.', expect: ['250 2.0.0', '421 4.3.2'] }]);
      expect(await server.ended).toBe(0);
      expect(server.processes().size).toBe(0);
    },
    TEST_MS,
  );

  it(
    'ends at once at a second signal',
    async () => {
      const server = await start('npm start');
      await halfSent(server);
      const pid = serverPid(server);
      process.kill(pid, 'SIGTERM');
      await expect.poll(server.output, PROMISED).toMatch(STOPPING);
      // Signals of the first second count as copies of the first one, so it takes more than one.
      const sent = performance.now();
      await expect
        .poll(
          () => {
            if (server.processes().has(pid)) process.kill(pid, 'SIGTERM');
            return server.processes().size;
          },
          { ...PROMISED, interval: 200 },
        )
        .toBe(0);
      expect(performance.now() - sent).toBeLessThan(5_000 * slowness());
      expect(server.output()).toMatch(/ends at once/);
      expect(await server.ended).not.toBe(0);
    },
    TEST_MS,
  );

  it(
    'goes on after Ctrl+Z and `fg`, which also wake the shell of npm',
    async () => {
      const server = await start('npx mayfly serve');
      process.kill(-server.group, 'SIGSTOP');
      await expect.poll(server.isStopped, PROMISED).toBe(true);
      process.kill(-server.group, 'SIGCONT');
      await emptyWait(server, 2);
      expect(server.output()).not.toMatch(STOPPING);
      server.child.kill('SIGINT');
      await expectGone(server);
      expect(server.output()).toMatch(STOPPED);
    },
    TEST_MS,
  );

  it.each(['nohup npm start', 'nohup npx mayfly serve'])(
    'goes on as `%s` when the terminal is closed: SIGHUP to all of them, and output that is no terminal',
    async (command) => {
      const server = await start(command);
      process.kill(-server.group, 'SIGHUP');
      await server.ended;
      // Held longer than the server takes to notice that its parent is gone.
      await emptyWait(server, 2);
      expect((await fetch(`http://127.0.0.1:${server.httpPort}/healthz`)).status).toBe(200);
      process.kill(serverPid(server), 'SIGTERM');
      await expectGone(server);
    },
    TEST_MS,
  );

  it.each(['npm start', 'PATH=node_modules/.bin:$PATH mayfly serve'])(
    'ends gracefully as `%s` when its terminal is closed',
    async (command) => {
      // script(1) runs it in a terminal of its own, which is closed with script.
      const server = await startByNpm(['script', '-qfec', command, '/dev/null'], {
        MAYFLY_DATA_DIR: dataDir,
        MAYFLY_API_KEY: KEY,
      });
      const log = join(dataDir, 'mayfly.db-wal');
      expect(existsSync(log)).toBe(true);
      server.child.kill('SIGKILL');
      // Only a database that was closed in order has no log left.
      await expect.poll(() => existsSync(log), PROMISED).toBe(false);
      await expectGone(server);
    },
    TEST_MS,
  );
});
