import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'vitest';
import { inForm } from '../../support/form.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { HAS_NPM, isFree, type NpmServer, startByNpm } from './npm-process.ts';

const KEY = 'npm_stop_key_0123456789';

/** Starts it on a data folder of its own; what is left of it after the test is killed. */
async function start(
  { onTestFinished }: TestContext,
  command: string[],
): Promise<NpmServer & { dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'mayfly-npm-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const server = await startByNpm(command, { MAYFLY_DATA_DIR: dataDir, MAYFLY_API_KEY: KEY });
  onTestFinished(server.kill);
  return { ...server, dataDir };
}

/** The process that serves: the one below npm and its shell. */
function serverPid(server: NpmServer): number {
  const found = [...server.processes()].find(([, command]) => command.includes('--expose-gc'));
  if (!found) throw new Error(`no server among ${[...server.processes().values()].join(' | ')}`);
  return found[0];
}

async function expectGone({ expect }: TestContext, server: NpmServer): Promise<void> {
  await expect.poll(() => [...server.processes().values()]).toEqual([]);
  // The kernel closes the sockets of a killed process a moment after the process is gone.
  const ports = async () => [await isFree(server.httpPort), await isFree(server.smtpPort)];
  await expect.poll(ports).toEqual([true, true]);
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
    '→ 220',
    'EHLO app.example → 250',
    'MAIL FROM:<app@app.example> → 250',
    `RCPT TO:<${address}> → 250`,
    'DATA → 354',
    { send: 'Subject: half\r\n' },
  ]);
  return client;
}

const STOPPED = /Mayfly has stopped/;
const STOPPING = /Mayfly is stopping/g;
const END_OF_MESSAGE = { send: 'body\r\n.', expect: ['250 2.0.0', '421 4.3.2'] };

// Each of these mostly waits for processes of its own, so several run at the same time.
describe
  .skipIf(!HAS_NPM)
  .concurrent('a server that npm started (skipped where there is no npm, or no /proc)', () => {
    describe.each(inForm(['npm start'], ['npm start', 'npx mayfly serve']))('by `%s`', (line) => {
      const command = line.split(' ');
      it.for(line === 'npm start' ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
        'ends gracefully at %s to npm alone, which waits for it and ends with 0, and frees its ports',
        async (signal, test) => {
          const { expect } = test;
          const server = await start(test, command);
          const client = await halfSent(server);
          server.child.kill(signal);
          await expect.poll(server.output).toMatch(STOPPING);
          expect(server.child.exitCode).toBeNull();
          // A message in flight is still accepted: this is what graceful means.
          await client.play([END_OF_MESSAGE]);
          await expectGone(test, server);
          expect(await server.ended).toBe(0);
          await expect.poll(server.output).toMatch(STOPPED);
        },
      );

      it('ends once and gracefully on Ctrl+C, which sends SIGINT to npm, its shell and the server at once', async (test) => {
        const { expect } = test;
        const server = await start(test, command);
        const client = await halfSent(server);
        process.kill(-server.group, 'SIGINT');
        await expect.poll(server.output).toMatch(STOPPING);
        await client.play([END_OF_MESSAGE]);
        await expectGone(test, server);
        await expect.poll(server.output).toMatch(STOPPED);
        expect(server.output().match(STOPPING)).toHaveLength(1);
      });
    });

    it('ends gracefully when `npm start` is killed with SIGKILL, which npm cannot pass on', async (test) => {
      const server = await start(test, ['npm', 'start']);
      server.child.kill('SIGKILL');
      await expectGone(test, server);
      test.expect(server.output()).toMatch(STOPPED);
    });

    it('ends at once at a second signal', async (test) => {
      const { expect } = test;
      const server = await start(test, ['npm', 'start']);
      await halfSent(server);
      const pid = serverPid(server);
      process.kill(pid, 'SIGTERM');
      await expect.poll(server.output).toMatch(STOPPING);
      // Signals of the first second count as copies of the first one, so it takes more than one.
      const signalAgain = () => {
        if (server.processes().has(pid)) process.kill(pid, 'SIGTERM');
        return server.processes().size;
      };
      await expect.poll(signalAgain, { interval: 200 }).toBe(0);
      await expect.poll(server.output).toMatch(/ends at once/);
      expect(await server.ended).not.toBe(0);
    });

    it('goes on after Ctrl+Z and `fg`, which also wake the shell of npm', async (test) => {
      const { expect } = test;
      const server = await start(test, ['npx', 'mayfly', 'serve']);
      process.kill(-server.group, 'SIGSTOP');
      await expect.poll(server.isStopped).toBe(true);
      process.kill(-server.group, 'SIGCONT');
      await emptyWait(server, 2);
      expect(server.output()).not.toMatch(STOPPING);
      server.child.kill('SIGTERM');
      await expectGone(test, server);
      await expect.poll(server.output).toMatch(STOPPED);
    });

    it.for(inForm(['nohup npm start'], ['nohup npm start', 'nohup npx mayfly serve']))(
      'goes on as `%s` when the terminal is closed: SIGHUP to all of them, and output that is no terminal',
      async (line, test) => {
        const server = await start(test, line.split(' '));
        process.kill(-server.group, 'SIGHUP');
        await server.ended;
        // Held longer than the server takes to notice that its parent is gone.
        await emptyWait(server, 2);
        test.expect((await fetch(`http://127.0.0.1:${server.httpPort}/healthz`)).status).toBe(200);
        process.kill(serverPid(server), 'SIGTERM');
        await expectGone(test, server);
      },
    );

    it.for(['npm start', 'PATH=node_modules/.bin:$PATH mayfly serve'])(
      'ends gracefully as `%s` when its terminal is closed',
      async (line, test) => {
        const { expect } = test;
        // script(1) runs it in a terminal of its own, which is closed with script.
        const server = await start(test, ['script', '-qfec', line, '/dev/null']);
        const log = join(server.dataDir, 'mayfly.db-wal');
        expect(existsSync(log)).toBe(true);
        server.child.kill('SIGKILL');
        // Only a database that was closed in order has no log left.
        await expect.poll(() => existsSync(log)).toBe(false);
        await expectGone(test, server);
      },
    );
  });
