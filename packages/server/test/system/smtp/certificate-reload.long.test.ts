import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { type SmtpClient, smtpClient } from '../../support/smtp-script.ts';
import { trustedCertificate } from '../../support/tls/certificates.ts';

/* The files of a certificate are replaced, and SIGHUP makes `mayfly serve` read them. */

const folder = useFolder();
const path = (name: 'cert' | 'key') => join(folder(), `${name}.pem`);
const files = () => ({ MAYFLY_SMTP_TLS_CERT_FILE: path('cert'), MAYFLY_SMTP_TLS_KEY_FILE: path('key') });

let server: ServerProcess;
let logged: Record<string, unknown>[];
afterEach(() => server?.end('SIGTERM'));

async function start(env: Record<string, string>): Promise<void> {
  const dataDir = mkdtempSync(join(folder(), 'data-'));
  server = await startServer({ dataDir, env: { MAYFLY_LOG_LEVEL: 'info', ...env } });
  logged = [];
  const output = server.process.stdout;
  if (!output) throw new Error('the server has no output');
  createInterface({ input: output }).on('line', (line) => logged.push(JSON.parse(line)));
}

/** Replaces both files. */
function install(pair: { cert: string; key: string }): void {
  for (const name of ['cert', 'key'] as const) {
    writeFileSync(`${path(name)}.new`, pair[name]);
    renameSync(`${path(name)}.new`, path(name));
  }
}

/** Sends SIGHUP. @returns the log line with the result */
async function reload(): Promise<Record<string, unknown> | undefined> {
  const from = logged.length;
  server.process.kill('SIGHUP');
  const result = () => logged.slice(from).find(({ msg }) => /certificate/.test(String(msg)));
  await expect.poll(result).toBeDefined();
  return result();
}

async function connected(): Promise<SmtpClient> {
  const client = await smtpClient(server.smtpPort);
  onTestFinished(() => client.close());
  await client.play(['→ 220', 'EHLO c → 250']);
  return client;
}

/** @returns a connection after STARTTLS of a client that trusts one certificate only */
async function encrypted(trust: ConnectionOptions): Promise<SmtpClient> {
  const client = await connected();
  await client.play(['STARTTLS → 220']);
  await client.startTls(trust);
  await client.play(['EHLO c → 250']);
  return client;
}

test('SIGHUP: new connections get the new certificate, open ones continue, and invalid files change nothing', async () => {
  const [first, second] = [trustedCertificate('localhost'), trustedCertificate('localhost')];
  install(first.tls);
  await start(files());
  const old = await encrypted(first.trust);
  const waiting = await connected();

  const spoilt = [
    // A new key with the old certificate, as between two renames.
    () => install({ ...first.tls, key: second.tls.key }),
    () => install({ cert: 'not a certificate', key: 'not a key' }),
    () => rmSync(path('cert')),
  ];
  for (const spoil of spoilt) {
    spoil();
    expect(await reload()).toMatchObject({ level: 'error', msg: expect.stringMatching(/the old one stays/) });
    await encrypted(first.trust);
  }
  expect(JSON.stringify(logged)).not.toMatch(/not a key|BEGIN/);

  install(second.tls);
  expect(await reload()).toMatchObject({
    level: 'info',
    msg: 'The SMTP certificate was reloaded',
    certificate: { subject: 'CN=localhost', validTo: expect.any(String) },
  });
  const fresh = await encrypted(second.trust);
  await waiting.play(['STARTTLS → 220']);
  await waiting.startTls(second.trust);
  await expect(encrypted(first.trust)).rejects.toThrow(/certificate/);

  await old.play(['NOOP → 250']);
  const serial = ({ socket }: SmtpClient) => (socket as TLSSocket).getPeerCertificate().fingerprint256;
  expect(serial(old)).not.toBe(serial(fresh));
  expect(serial(waiting)).toBe(serial(fresh));
});

test('SIGHUP without a certificate changes nothing, and the server continues to run', async () => {
  await start({});
  expect(await reload()).toMatchObject({
    level: 'info',
    msg: 'No SMTP certificate is configured; there is nothing to reload',
  });
  await connected();
});

test('a certificate and a key that do not match stop the start with an error message', async () => {
  const [first, second] = [trustedCertificate('localhost'), trustedCertificate('localhost')];
  install({ ...first.tls, key: second.tls.key });
  await expect(start(files())).rejects.toThrow(/The SMTP certificate cannot be used with its key \(/);
});
