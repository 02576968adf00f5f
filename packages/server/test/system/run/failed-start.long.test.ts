import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { explainListening, parseConfig } from '../../../src/config/config.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { takePort } from '../../support/ports.ts';
import { spawnServer, startServer } from '../../support/server-process.ts';
import { MAY_MOUNT, makeReadOnly, mountSmallDisk, unmount } from '../../support/small-disk.ts';

const folder = useFolderOfTest();
let dataDir: string;
beforeEach(() => {
  dataDir = join(folder(), 'data');
});

/** Runs `mayfly serve` without MAYFLY_API_KEY until it fails; standard output must be JSON lines, and no stack trace is shown. */
async function failedStart(env: Record<string, string> = {}) {
  const child = spawnServer({ dataDir, env: { MAYFLY_API_KEY: '', ...env } });
  const outputs = [child.stdout, child.stderr].map((stream) => text(stream as Readable));
  const [code] = await once(child, 'exit');
  const [stdout = '', stderr = ''] = await Promise.all(outputs);
  expect(stderr).not.toMatch(/^\s+at /m);
  const lines = stdout.split('\n').filter(Boolean);
  return { code, logged: lines.map((line) => JSON.parse(line)), stderr };
}

/** Starts the app in this process, which takes less time. */
function start(env: Record<string, string>) {
  const settings = { MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0', MAYFLY_DATA_DIR: dataDir };
  return createApp(parseConfig({ ...settings, MAYFLY_LOG_LEVEL: 'silent', ...env })).start();
}

describe('a start that fails', () => {
  it.each(['SMTP', 'HTTP', 'SMTPS', 'POP3', 'METRICS'].map((name) => `MAYFLY_${name}_PORT`))(
    'because another listens at %s names the port, the setting and the way out',
    async (setting) => {
      const { port, release } = await takePort();
      onTestFinished(release);
      const message = `^Port ${port} on 127\\.0\\.0\\.1 is in use\\. .* or set ${setting} to another port\\.$`;
      await expect(start({ [setting]: port })).rejects.toThrow(RegExp(message));
    },
  );

  it.each(['MAYFLY_SMTP_HOST', 'MAYFLY_HTTP_HOST'])(
    'because %s is no address of this machine says so',
    async (setting) => {
      // TEST-NET-1 (RFC 5737): no machine has these addresses.
      await expect(start({ [setting]: '192.0.2.1' })).rejects.toThrow(
        RegExp(`on 192\\.0\\.2\\.1 cannot be opened, .* Set ${setting} to`),
      );
    },
  );

  it('because the port needs a privilege names the setting and how to get the privilege', () => {
    // A constructed error, because some machines allow every user to open port 25.
    const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES', port: 25 });
    const { message } = explainListening(refused, 'smtp', parseConfig({ MAYFLY_SMTP_PORT: '25' })) as Error;
    expect(message).toMatch(/^Port 25 .* Set MAYFLY_SMTP_PORT to a port from 1024, or .*CAP_NET_BIND/);
  });

  it('because of wrong settings names each of them', async () => {
    const { code, stderr } = await failedStart({ MAYFLY_HTTP_PORT: 'x', MAYFLY_DOMAINS: '' });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/2 problems:\n.*HTTP_PORT.*\n.*DOMAINS/)]);
  });

  it('has written the first API key to its file, and the key is valid at the next start', async () => {
    const { port, release } = await takePort();
    const { code, stderr, logged } = await failedStart({ MAYFLY_HTTP_PORT: port });
    release();
    expect(code).toBe(1);
    expect(logged.map(({ msg }) => msg)).toEqual([expect.stringContaining('The first API key was written')]);
    expect(stderr).toMatch(/^Port \d+ on 127\.0\.0\.1 is in use\. .*\n$/);
    const key = readFileSync(join(dataDir, 'first-api-key'), 'utf8').trim();

    const { api, end } = await startServer({ dataDir, env: { MAYFLY_API_KEY: '' } });
    const { status } = await api('POST', '/v1/inboxes', { as: key });
    await end('SIGTERM');
    expect(status).toBe(201);
  });

  it.each([
    ['nothing listens at it', '127.0.0.1:1', /ECONNREFUSED.*\. Start PostgreSQL there, or/],
    ['its host is unknown', 'host.invalid', /host\.invalid\. Correct the host name in/],
  ])('because of the PostgreSQL database, as %s, says what to do', async (_why, host, wayOut) => {
    const error = await start({ MAYFLY_DATABASE_URL: `postgres://u:secret@${host}/db` }).catch(String);
    expect(error).toMatch(wayOut);
    expect(error).not.toContain('secret');
  });

  it.skipIf(!MAY_MOUNT).each(['empty', 'with a database'])(
    'because the data folder, %s, is read-only names it, and says what to do (skipped where nothing may be mounted)',
    async (what) => {
      dataDir = folder();
      mountSmallDisk(dataDir, 24);
      try {
        if (what !== 'empty') await (await startServer({ dataDir })).end('SIGKILL');
        makeReadOnly(dataDir);
        const message = `^The data folder ${dataDir} cannot be written to .*set MAYFLY_DATA_DIR to another`;
        expect(await failedStart()).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
      } finally {
        unmount(dataDir);
      }
    },
  );
});
