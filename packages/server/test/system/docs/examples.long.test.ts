import { execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { freePort, untilListening } from '../../support/ports.ts';
import { startApp, TEST_KEY, type TestApp, useApp } from '../../support/start-app.ts';
import { ROOT } from './code-blocks.ts';

const EXAMPLES = join(ROOT, 'docs/examples');

/** The Python that .ci/python-tests installs. */
const INSTALLED = join(ROOT, 'node_modules/.cache/python-tests/bin/python');

/** @returns the first Python that has these modules, or undefined */
const pythonWith = (modules: string): string | undefined =>
  [INSTALLED, 'python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', `import ${modules}`]).status === 0,
  );

/** Runs a program until the end of the test. @returns a function that returns its next line */
function linesOf(command: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, {
    cwd: EXAMPLES,
    env: { ...process.env, PYTHONIOENCODING: 'utf-8', PYTHONDONTWRITEBYTECODE: '1', ...env },
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => (await lines.next()).value ?? 'the program ended';
}

describe('the examples of docs/waiting.md', () => {
  const app = useApp();
  beforeAll(() => {
    process.env.API = app.url;
  });

  const waitForMail = async (...args: [{ id: string; token: string }, object?, number?]) =>
    (await import('../../../../../docs/examples/wait-for-mail.ts')).waitForMail(...args);

  it('return the message that matches', async () => {
    const inbox = await app.createInbox();
    await app.send({ from: 'app@example.org', to: inbox.address, subject: 'Welcome', text: 'Hello.' });
    await app.send({ from: 'app@example.org', to: inbox.address, subject: 'Confirm', text: 'Code: 482910' });
    expect(await waitForMail(inbox, { code: true }, 5)).toMatchObject({ subject: 'Confirm' });
  });

  it('throw the explanation when nothing matches', async () => {
    const inbox = await app.createInbox();
    await app.send({ from: 'app@example.org', to: inbox.address, subject: 'Welcome', text: 'Hello.' });
    await expect(waitForMail(inbox, { subject: 'confirm' }, 0)).rejects.toThrow(/"got": "Welcome"/);
  });

  it('throw the error of the server, not an undefined explanation', async () => {
    const inbox = await app.createInbox();
    await expect(waitForMail({ id: inbox.id, token: 'mft_wrong' })).rejects.toThrow(/401.*unauthorized/s);
    await expect(waitForMail(inbox, { subjct: 'x' })).rejects.toThrow(/400.*subjct/s);
  });

  const folder = useFolder();
  const pytest = pythonWith('pytest, requests');
  it.skipIf(!pytest)('work in pytest (skipped without python3-pytest and python3-requests)', async () => {
    for (const file of ['wait_for_mail.py', 'test_login.py'])
      cpSync(join(EXAMPLES, file), join(folder(), file));
    cpSync(join(import.meta.dirname, 'pytest'), folder(), { recursive: true });
    const env = { ...process.env, API: app.url, KEY: TEST_KEY, SMTP_PORT: String(app.smtp.port) };
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'];
    const { stdout } = await promisify(execFile)(pytest ?? '', args, { cwd: folder(), env });
    expect(stdout).toMatch(/3 passed/);
  });
});

describe('the stream examples of docs/waiting.md', () => {
  const folder = useFolder();
  let app: TestApp;
  let port: string;

  const start = async () => {
    app = await startApp({ MAYFLY_HTTP_PORT: port }, {}, folder());
  };

  beforeEach(async () => {
    port = String(await freePort());
    await start();
  });
  afterEach(() => app.stop());

  const SUBJECTS = ['Prüfung 1', '確認 2', 'Код 3', '🦟 4'];

  /** Sends mails before and after a restart of the server. @param next returns the next subject that the example shows */
  async function followsOverRestart(address: string, next: () => Promise<string>): Promise<string[]> {
    const seen: string[] = [];
    for (const [index, subject] of SUBJECTS.entries()) {
      if (index === 2) {
        await app.stop();
        await start();
      }
      await app.send({ from: 'app@example.org', to: address, subject, text: 'Grüße, 你好' });
      seen.push(await next());
    }
    return seen;
  }

  it('show every message once across a restart, in any script: TypeScript', async () => {
    const inbox = await app.createInbox();
    const { follow } = await import('../../../../../docs/examples/follow.ts');
    const events = follow(`${app.url}/v1/inboxes/${inbox.id}/events`, inbox.token);
    const next = async () => (await events.next()).value.message.subject;
    expect(await followsOverRestart(inbox.address, next)).toEqual(SUBJECTS);
    await app.api('DELETE', `/v1/inboxes/${inbox.id}`);
    await expect(events.next()).rejects.toThrow(/401/);
  });

  const python = pythonWith('requests');
  it.skipIf(!python)(
    'show every message once across a restart: Python (skipped without python3-requests)',
    async () => {
      const inbox = await app.createInbox();
      const program = `
import sys
from follow import follow
for event in follow(sys.argv[1], sys.argv[2]): print(event["message"]["subject"], flush=True)`;
      const url = `${app.url}/v1/inboxes/${inbox.id}/events`;
      const next = linesOf(python ?? '', ['-c', program, url, inbox.token]);
      expect(await followsOverRestart(inbox.address, next)).toEqual(SUBJECTS);
    },
  );
});

describe('the receivers of docs/webhooks.md', () => {
  const app = useApp({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });

  /** Starts a receiver and sends it the event of a message. @returns the line that it printed */
  async function receivedBy(command: string, args: (port: number) => string[]): Promise<string> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/hooks/mayfly`;
    const { body: webhook } = await app.api('POST', '/v1/webhooks', { body: { url } });
    const next = linesOf(command, args(port), { PORT: String(port), WEBHOOK_SECRET: webhook.secret });
    await untilListening(port);
    const forged = await fetch(url, { method: 'POST', body: '{}' });
    expect(forged.status).toBe(400);
    const inbox = await app.createInbox();
    await app.send({ from: 'app@example.org', to: inbox.address, subject: 'Signed', text: 'Hello.' });
    let line = '';
    // Flask prints lines that begin with ' *' at the start.
    do line = await next();
    while (line.startsWith(' *'));
    await app.api('DELETE', `/v1/webhooks/${webhook.id}`);
    return line;
  }

  it('verify and print the event: Node.js', async () => {
    expect(await receivedBy(process.execPath, () => ['webhook-receiver.mjs'])).toBe('Signed');
  });

  const python = pythonWith('flask, standardwebhooks');
  it.skipIf(!python)(
    'verify and print the event: Python (skipped without flask: .ci/python-tests)',
    async () => {
      const flask = ['-m', 'flask', '--app', 'webhook_receiver', 'run', '--port'];
      expect(await receivedBy(python ?? '', (port) => [...flask, String(port)])).toBe('Signed');
    },
  );
});
