/*
 * Runs each example of docs/sending.md as a program against `mayfly dev` with default settings. Libraries that are not
 * installed are skipped; the title names the Debian package.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { findProgram, findProgramWith, reportAbsent } from '../../support/find-program.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { type TestCertificate, testCertificate } from '../../support/tls/test-authority.ts';
import { ROOT } from '../docs/code-blocks.ts';
import { commandOf, SENDERS, type Sender } from './senders.ts';

/** A program takes a second, and many times that on a busy machine. */
const PROGRAM_TIMEOUT_MS = 100_000;
const SUBJECT = 'Grüße: 482910 ist Ihr Code 🎉';
const TEXT = 'Grüße! Ihr Code ist 482910.';
const HTML = '<p>Grüße! Ihr Code ist <b>482910</b>.</p>';
const ELSEWHERE = 'customer@elsewhere.example';
const invoice = randomBytes(20_000);

/** `command` is absent where the library is not installed; `exempt` says why a program accepts any certificate. */
async function caseOf(sender: Sender) {
  const { name, debianPackages, acceptsAnyCertificate: exemption } = sender;
  const program = await findProgramWith(sender.programs, sender.probe);
  if (!program) {
    reportAbsent(name, debianPackages);
    const title = `${name} (skipped: not installed, Debian: apt-get install ${debianPackages})`;
    return { sender, title, exempt: '' };
  }
  const isExempt = exemption && (await findProgramWith([program], exemption.probe));
  const exempt = isExempt ? ` (skipped: ${exemption.versions} checks no certificate)` : '';
  const command = commandOf(sender, program, folder);
  // The tests that await it report a failure.
  command.catch(() => {});
  return { sender, title: name, command, exempt };
}

/** Creates the certificate; without it, the tests of TLS are skipped. */
const openssl = findProgram('openssl');
const folder = mkdtempSync(join(tmpdir(), 'mayfly-every-library-'));
const cases = await Promise.all(SENDERS.map(caseOf));
type Case = (typeof cases)[number];

let plain: ServerProcess;
let encrypted: ServerProcess;
let certificate: TestCertificate;
const TLS = openssl ? '' : ' (skipped: needs openssl)';
beforeAll(async () => {
  plain = await startServer({ command: 'dev', dataDir: join(folder, 'plain') });
  if (!openssl) return reportAbsent('openssl', 'openssl');
  certificate = await testCertificate(folder);
  const env = { MAYFLY_SMTP_TLS_CERT_FILE: certificate.cert, MAYFLY_SMTP_TLS_KEY_FILE: certificate.key };
  encrypted = await startServer({ command: 'dev', dataDir: join(folder, 'encrypted'), env });
});
afterAll(async () => {
  await Promise.all([plain?.end('SIGTERM'), encrypted?.end('SIGTERM')]);
  rmSync(folder, { recursive: true, force: true });
});

/** @returns a mail for programs that do not compose one */
async function composed(): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true });
  const { message } = await transport.sendMail({
    ...{ from: 'Café Größe <hello@shop.example>', to: ELSEWHERE, subject: SUBJECT, text: TEXT, html: HTML },
    attachments: [{ filename: 'invoice.pdf', content: invoice }],
  });
  return message as Buffer;
}

/** Runs a program in a new folder with `invoice.pdf` and `mail.eml`. */
async function runIn(work: string, [program = '', ...args]: string[], env: Record<string, string>) {
  mkdirSync(work);
  writeFileSync(join(work, 'invoice.pdf'), invoice);
  writeFileSync(join(work, 'mail.eml'), await composed());
  const { PATH = '', HOME = work } = process.env;
  const options = { cwd: work, env: { PATH, HOME, ...env }, timeout: PROGRAM_TIMEOUT_MS };
  return new Promise<{ code: number; output: string }>((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` }),
    );
  });
}

/** @returns the only message of an inbox and the protocol in its Received line */
async function onlyMessage(server: ServerProcess, { id }: Inbox) {
  const { messages } = (await server.api('GET', `/v1/inboxes/${id}/messages`)).body;
  expect(messages).toHaveLength(1);
  const path = `/v1/inboxes/${id}/messages/${messages[0]?.id}`;
  const message = (await server.api('GET', path)).body;
  const raw = (await server.api('GET', `${path}/raw`)).body;
  return { message, protocol: /^Received: [^;]* with (\S+) id/s.exec(raw)?.[1] };
}

async function expectWhole(server: ServerProcess, sender: Sender, message: Body): Promise<void> {
  const from = { address: 'hello@shop.example', name: 'Café Größe' };
  const attachments = sender.attaches ? [{ filename: 'invoice.pdf' }] : [];
  expect(message).toMatchObject({ subject: SUBJECT, from, parseError: null, attachments });
  expect([message.text.trim(), message.html.trim()]).toEqual([TEXT, HTML]);
  expect(message.codes[0]?.value).toBe('482910');
  for (const { url } of message.attachments) {
    const { bytes } = await server.api('GET', url.slice(server.url.length));
    expect(invoice.equals(bytes)).toBe(true);
  }
}

/** Runs the program of a case. @param way names its folder */
async function send({ sender, command }: Case, server: ServerProcess, way: string, to: string, env = {}) {
  const work = join(folder, `${sender.name.replaceAll(/\W/g, '-')}-${way}`);
  const settings = { SMTP_HOST: 'localhost', SMTP_PORT: String(server.smtpPort), MAIL_TO: to };
  return runIn(work, (await command) ?? [], { ...settings, ...env });
}

/** The protocol (RFC 3848) says whether a mail was sent over TLS (S) and with authentication (A). */
const WAYS = [
  ['with default options', 'ESMTP'],
  [`over STARTTLS, by a certificate that it trusts${TLS}`, 'ESMTPS'],
  ['by user name and password, whatever the recipient', 'ESMTPA'],
  [`by user name and password over STARTTLS${TLS}`, 'ESMTPSA'],
] as const;

describe.concurrent.each(cases)('$title', (one) => {
  for (const [way, expected] of WAYS) {
    const isEncrypted = expected.includes('PS');
    test.skipIf(!one.command || (isEncrypted && !openssl))(`delivers ${way}`, async () => {
      const server = isEncrypted ? encrypted : plain;
      const inbox = await server.createInbox();
      const [to, credentials] = expected.endsWith('A')
        ? [ELSEWHERE, isEncrypted ? [inbox.id, server.key] : [inbox.address, inbox.token]]
        : [inbox.address, []];
      const [SMTP_USER, SMTP_PASSWORD] = credentials;
      const env = {
        ...(SMTP_USER && { SMTP_USER, SMTP_PASSWORD }),
        ...(isEncrypted && { SMTP_STARTTLS: '1', ...certificate.trust }),
      };
      expect(await send(one, server, expected, to, env)).toMatchObject({ code: 0 });
      const { message, protocol } = await onlyMessage(server, inbox);
      await expectWhole(server, one.sender, message);
      const envelope = { mailFrom: 'hello@shop.example', rcptTo: [to], tls: isEncrypted };
      expect(message.envelope).toMatchObject(envelope);
      expect(protocol).toBe(expected);
    });
  }
});

// Not concurrent, so that each failed handshake belongs to the program that has just ended.
for (const one of cases) {
  test.skipIf(!one.command || !openssl || one.exempt !== '')(
    `${one.title} rejects a certificate that it does not trust, and a wait lists that${TLS || one.exempt}`,
    async () => {
      const inbox = await encrypted.createInbox();
      const { code, output } = await send(one, encrypted, 'untrusted', inbox.address, { SMTP_STARTTLS: '1' });
      expect(code, output).not.toBe(0);
      const path = `/v1/inboxes/${inbox.id}/wait`;
      const wait = async () =>
        (await encrypted.api('POST', path, { body: { timeoutSeconds: 0 } })).body.explanation;
      const reason = expect.stringMatching(/^The client (rejected the certificate|closed the connection)/);
      await expect.poll(wait).toMatchObject({ seenCount: 0, failedHandshakes: [{ reason }] });
    },
  );
}

test('docs/sending.md shows every program, and the test runs every program', () => {
  const page = readFileSync(join(ROOT, 'docs/sending.md'), 'utf8');
  const shown = [...page.matchAll(/<!-- file: examples\/sending\/(\S+) -->/g)].map(([, file]) => file);
  const run = [...SENDERS.map(({ file }) => file), 'certificate.sh'];
  expect(shown.sort()).toEqual(run.sort());
  expect(globSync('**/*.*', { cwd: join(ROOT, 'docs/examples/sending') }).sort()).toEqual(run);
});
