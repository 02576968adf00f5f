import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'vitest';
import { apiClient } from '../../support/api-client.ts';
import { inForm } from '../../support/form.ts';
import { freePort, isFree } from '../../support/ports.ts';
import { smtpClient } from '../../support/smtp-script.ts';

const PROJECT = join(import.meta.dirname, '../../../../..');
const KEY = 'npm_stop_key_0123456789';
/** Output of `dev` and of `serve` when the server is ready. */
const READY = /Mayfly .*is ready/;

/** The PATH without the folders that npm adds for scripts such as these tests. */
const PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');
/** True if npm is installed and `/proc` shows the processes. */
const HAS_NPM =
  process.platform === 'linux' && PATH.split(':').some((folder) => existsSync(join(folder, 'npm')));

/** @returns the live processes of a group (proc(5): field 3 of `stat` is the state, 5 the group) */
function processesOf(group: number) {
  const pids = readdirSync('/proc').map(Number).filter(Boolean);
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const [state = 'Z', , pgrp] = stat.replace(/^.*\) /s, '').split(' ');
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      return Number(pgrp) === group && state !== 'Z' ? [{ pid, state, command }] : [];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}

/**
 * Starts a server by a command such as `npm start` in a new process group, as a shell does. Kills what is left of the
 * group after the test.
 */
async function start({ onTestFinished }: TestContext, [program = '', ...args]: string[]) {
  const dataDir = mkdtempSync(join(tmpdir(), 'mayfly-npm-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const [httpPort, smtpPort] = [await freePort(), await freePort()];
  const env = {
    ...{ PATH, HOME: process.env.HOME ?? '', MAYFLY_DATA_DIR: dataDir, MAYFLY_API_KEY: KEY },
    ...{ MAYFLY_HTTP_PORT: String(httpPort), MAYFLY_SMTP_PORT: String(smtpPort) },
  };
  const child = spawn(program, args, { cwd: PROJECT, env, detached: true });
  const group = child.pid ?? 0;
  onTestFinished(() => {
    for (const { pid } of processesOf(group)) process.kill(pid, 'SIGKILL');
  });
  let output = '';
  /** The exit code of the spawned process, or the signal that ended it. */
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        output += piece;
        if (READY.test(output)) resolve();
      });
    }
    void ended.then((how) => reject(new Error(`It ended with ${how}: ${output}`)));
  });
  return {
    ...{ dataDir, child, group, httpPort, smtpPort, ended },
    api: apiClient(`http://127.0.0.1:${httpPort}`, KEY),
    output: () => output,
    processes: () => processesOf(group),
  };
}
type NpmServer = Awaited<ReturnType<typeof start>>;

/** The process that serves: the one below npm and its shell. */
function serverPid({ processes }: NpmServer): number {
  const found = processes().find(({ command }) => command.includes('--expose-gc'));
  if (!found) throw new Error(`no server among ${processes().map(({ command }) => command)}`);
  return found.pid;
}

async function expectGone({ expect }: TestContext, server: NpmServer): Promise<void> {
  await expect.poll(server.processes).toEqual([]);
  // The kernel closes the sockets of a killed process a moment later.
  const ports = async () => [await isFree(server.httpPort), await isFree(server.smtpPort)];
  await expect.poll(ports).toEqual([true, true]);
}

/** Makes a request that is held for two seconds. */
async function emptyWait({ api }: NpmServer): Promise<void> {
  const { body } = await api('POST', '/v1/inboxes');
  await api('GET', `/v1/inboxes/${body.id}/messages?wait=2`);
}

/** Begins to send a message, without its end. */
async function halfSent({ api, smtpPort }: NpmServer) {
  const { body } = await api('POST', '/v1/inboxes');
  const client = await smtpClient(smtpPort);
  await client.play(['→ 220', 'EHLO app.example → 250', 'MAIL FROM:<app@app.example> → 250']);
  await client.play([`RCPT TO:<${body.address}> → 250`, 'DATA → 354', { send: 'Subject: half\r\n' }]);
  return client;
}

const STOPPED = /Mayfly has stopped/;
const STOPPING = /Mayfly is stopping/g;
const END_OF_MESSAGE = { send: 'body\r\n.', expect: ['250 2.0.0', '421 4.3.2'] };

// Concurrent, because the tests mostly wait for processes.
describe.skipIf(!HAS_NPM).concurrent('a server that npm started (skipped without npm or /proc)', () => {
  describe.each(inForm(['npm start'], ['npm start', 'npx mayfly serve']))('by `%s`', (line) => {
    const command = line.split(' ');
    // Ctrl+C sends SIGINT to npm, its shell and the server at once.
    it.for(line === 'npm start' ? ['SIGTERM', 'SIGINT', 'Ctrl+C'] : ['SIGTERM', 'Ctrl+C'])(
      'ends once and gracefully at %s, and frees its ports; npm alone waits for it and ends with 0',
      async (how, test) => {
        const { expect } = test;
        const server = await start(test, command);
        const client = await halfSent(server);
        if (how === 'Ctrl+C') process.kill(-server.group, 'SIGINT');
        else server.child.kill(how as NodeJS.Signals);
        await expect.poll(server.output).toMatch(STOPPING);
        if (how !== 'Ctrl+C') expect(server.child.exitCode).toBeNull();
        // A message in flight is still accepted.
        await client.play([END_OF_MESSAGE]);
        await expectGone(test, server);
        if (how !== 'Ctrl+C') expect(await server.ended).toBe(0);
        await expect.poll(server.output).toMatch(STOPPED);
        expect(server.output().match(STOPPING)).toHaveLength(1);
      },
    );
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
    // Repeated, because signals within a second count as copies of the first one.
    const signalAgain = () => {
      if (server.processes().some((one) => one.pid === pid)) process.kill(pid, 'SIGTERM');
      return server.processes().length;
    };
    await expect.poll(signalAgain, { interval: 200 }).toBe(0);
    await expect.poll(server.output).toMatch(/ends at once/);
    expect(await server.ended).toBe(143);
  });

  it('goes on after Ctrl+Z and `fg`, which also wake the shell of npm', async (test) => {
    const { expect } = test;
    const server = await start(test, ['npx', 'mayfly', 'serve']);
    process.kill(-server.group, 'SIGSTOP');
    const states = () => server.processes().map(({ state }) => state);
    // T is stopped (proc(5)).
    await expect.poll(() => new Set(states())).toEqual(new Set('T'));
    process.kill(-server.group, 'SIGCONT');
    await emptyWait(server);
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
      // Longer than the server takes to notice that its parent has ended.
      await emptyWait(server);
      test.expect((await fetch(`http://127.0.0.1:${server.httpPort}/healthz`)).status).toBe(200);
      process.kill(serverPid(server), 'SIGTERM');
      await expectGone(test, server);
    },
  );

  it.for(['npm start', 'PATH=node_modules/.bin:$PATH mayfly serve'])(
    'ends gracefully as `%s` when its terminal is closed',
    async (line, test) => {
      const { expect } = test;
      // script(1) runs the command in a new terminal, which closes with script.
      const server = await start(test, ['script', '-qfec', line, '/dev/null']);
      const log = join(server.dataDir, 'mayfly.db-wal');
      expect(existsSync(log)).toBe(true);
      server.child.kill('SIGKILL');
      // The write-ahead log is deleted only by a graceful stop.
      await expect.poll(() => existsSync(log)).toBe(false);
      await expectGone(test, server);
    },
  );
});
