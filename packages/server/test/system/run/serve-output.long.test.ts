import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { hasValidChecksum } from '../../../src/ids.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { rcpt } from '../../support/mail/smtp-mail.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';

const dataDir = useFolderOfTest();

const keyFile = () => join(dataDir(), 'first-api-key');

/** Runs `use` with a server. @returns its whole standard output */
async function outputOf(env: Record<string, string>, use?: (server: ServerProcess) => Promise<void>) {
  const server = await startServer({ dataDir: dataDir(), env });
  const rest = text(server.process.stdout as Readable);
  await use?.(server);
  expect((await server.end('SIGTERM')).code).toBe(0);
  return server.greeting + (await rest);
}

/** @throws for a line that is not JSON */
function parsed(output: string): Record<string, unknown>[] {
  const lines = output.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

const messages = (output: string) => parsed(output).map(({ msg }) => msg);

describe('the standard output of mayfly serve', () => {
  it('consists of JSON lines from the first start to the stop, at the most detailed log level, without the generated key', async () => {
    let key = '';
    const output = await outputOf(
      { MAYFLY_API_KEY: '', MAYFLY_LOG_LEVEL: 'trace', MAYFLY_HTTP_PROT: '1' },
      async (server) => {
        // The key is in a file that only its owner can read.
        expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
        key = readFileSync(keyFile(), 'utf8').trim();
        expect((await server.api('GET', '/v1/inboxes', { as: key })).status).toBe(200);
        await server.api('GET', '/v1/inboxes', { as: 'mfk_wrong' });
        await server.api('GET', '/nothing');
        expect(await rcpt(server.smtpPort, 'nobody@mayfly.test')).toMatch(/^550 /);
      },
    );
    expect(hasValidChecksum(key)).toBe(true);
    expect(output).not.toContain(key.slice(4));
    const lines = parsed(output);
    expect(lines).toContainEqual(expect.objectContaining({ path: keyFile() }));
    for (const line of lines)
      expect(line).toMatchObject({ level: expect.any(String), time: expect.any(String) });
    for (const msg of ['A request was answered', 'A recipient was refused'])
      expect(lines).toContainEqual(expect.objectContaining({ msg, remoteAddress: '127.0.0.1' }));
    expect(messages(output)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('The first API key was written'),
        'MAYFLY_HTTP_PROT is not a setting and is ignored. Did you mean MAYFLY_HTTP_PORT?',
        ...['Mayfly is ready', 'A request was answered', 'Mayfly is stopping'],
        'Mayfly has stopped',
      ]),
    );
  });

  it('contains the addresses, the reason for the stop and its duration, also at the log level error', async () => {
    const output = await outputOf({ MAYFLY_LOG_LEVEL: 'error' });
    expect(parsed(output)).toEqual([
      expect.objectContaining({
        msg: 'Mayfly is ready',
        version: expect.any(String),
        http: expect.objectContaining({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) }),
        smtp: { host: '127.0.0.1', port: expect.any(Number), tlsPort: null },
      }),
      expect.objectContaining({ msg: 'Mayfly is stopping', reason: 'SIGTERM' }),
      expect.objectContaining({ msg: 'Mayfly has stopped', ms: expect.any(Number) }),
    ]);
  });

  it('leaves out probes that succeed, which come every few seconds, unless the log level is debug', async () => {
    const probed = async (level: string) => {
      const output = await outputOf({ MAYFLY_LOG_LEVEL: level }, async ({ url }) => {
        for (const path of ['/healthz', '/readyz', '/openapi.json']) await (await fetch(url + path)).text();
      });
      return parsed(output).flatMap(({ route }) => route ?? []);
    };
    expect(await probed('info')).toEqual(['/openapi.json']);
    expect(await probed('debug')).toEqual(['/healthz', '/readyz', '/openapi.json']);
  });

  it('reports that the first key cannot be written, and the server runs: another key can be created', async () => {
    // A folder of this name prevents the file.
    mkdirSync(join(keyFile(), 'full'), { recursive: true });
    const output = await outputOf({ MAYFLY_API_KEY: '' }, async ({ url }) => {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    });
    expect(messages(output)).toContainEqual(expect.stringMatching(/is lost\. Run "mayfly key create"/));
  });

  it('ends with one line of JSON when an error ends the server that nothing has caught', async () => {
    const defect = 'data:text/javascript,process.on("SIGUSR2", () => { throw new Error("a defect") })';
    const { process } = await startServer({ dataDir: dataDir(), nodeArgs: ['--import', defect] });
    const exited = once(process, 'exit');
    process.kill('SIGUSR2');
    const outputs = [process.stdout, process.stderr].map((stream) => text(stream as Readable));
    const [stdout = '', stderr] = await Promise.all(outputs);
    expect(await exited).toEqual([1, null]);
    expect(parsed(stdout)).toEqual([
      expect.objectContaining({ level: 'fatal', err: expect.objectContaining({ message: 'a defect' }) }),
    ]);
    expect(stderr).toBe('');
  });
});
