import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasValidChecksum } from '../src/ids.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const run = promisify(execFile);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  MAYFLY_HTTP_PORT: '0',
  MAYFLY_SMTP_PORT: '0',
  MAYFLY_DATA_DIR: folder,
  ...more,
});

/** `mayfly dev`, and what it said when it was ready. */
async function start(): Promise<{ child: ChildProcess; greeting: string }> {
  const child = spawn(process.execPath, [MAIN, 'dev'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let greeting = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    greeting += text;
    if (/swaks --server/.test(greeting)) return { child, greeting };
  }
  throw new Error(`it ended: ${greeting}`);
}

async function stop(child: ChildProcess): Promise<number | null> {
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  return code;
}

const urlIn = (greeting: string) => /API +(http:\S+)/.exec(greeting)?.[1] ?? '';
const createInbox = (url: string, key: string) =>
  fetch(`${url}/v1/inboxes`, { method: 'POST', headers: { authorization: `Bearer ${key}` } });

describe('the command line', () => {
  it('shows a key at the first start and never again; `key create` makes another while the server runs', async () => {
    const first = await start();
    const key = /mfk_\w+/.exec(first.greeting)?.[0] ?? '';
    expect(hasValidChecksum(key)).toBe(true);
    expect(first.greeting).toMatch(/SMTP +127\.0\.0\.1:\d+ +\(domains: mayfly\.test\)/);
    expect((await createInbox(urlIn(first.greeting), key)).status).toBe(201);

    const made = await run(process.execPath, [MAIN, 'key', 'create', '--name', 'second'], {
      env: environment(),
    });
    expect((await createInbox(urlIn(first.greeting), made.stdout.trim())).status).toBe(201);
    expect(await stop(first.child)).toBe(0);

    const second = await start();
    expect(second.greeting).not.toContain('mfk_');
    expect(second.greeting).toMatch(/printed at the first start .*\n.*npx mayfly key create/);
    expect((await createInbox(urlIn(second.greeting), key)).status).toBe(201);
    expect(await stop(second.child)).toBe(0);
  });

  it.each([
    [
      'every wrong setting',
      { MAYFLY_HTTP_PORT: 'x', MAYFLY_DOMAINS: '' },
      /2 problems:\n.*HTTP_PORT.*\n.*DOMAINS/,
    ],
    [
      'a folder that cannot be one',
      { MAYFLY_DATA_DIR: '/dev/null/data' },
      /data directory .* cannot be made/,
    ],
  ])('says %s and ends without a stack trace', async (_what, more, message) => {
    const failed = await run(process.execPath, [MAIN, 'serve'], { env: environment(more) }).catch(
      (error) => error,
    );
    expect(failed.code).toBeGreaterThan(0);
    expect(failed.stderr).toMatch(message);
    expect(failed.stderr).not.toMatch(/^\s+at /m);
  });

  it('names the port that is taken, and frees what it had begun', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    try {
      const failed = await run(process.execPath, [MAIN, 'serve'], {
        env: environment({ MAYFLY_SMTP_PORT: port }),
      }).catch((error) => error);
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain(port);
    } finally {
      other.close();
    }
  });
});
