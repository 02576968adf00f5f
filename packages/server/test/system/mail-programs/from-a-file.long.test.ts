/*
 * Programs that send a file as it is: the mail comes back byte for byte. Libraries that compose the mail
 * are in every-library.test.ts. A program that is not installed is skipped by name.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { belowReceivedLine } from '../durability/readback.ts';

const SUBJECT = 'Bestätigung – 482910 ist dein Code 🎉';
const pdf = randomBytes(70_000);
const csv = Buffer.from('name;wert\r\nGröße;1\r\n');
const logo = randomBytes(3_000);

interface Sending {
  smtpPort: number;
  from: string;
  to: string;
  /** A file with the mail. */
  file: string;
}

interface Program {
  debianPackage: string;
  args(sending: Sending): string[];
  /** It makes CRLF line ends itself, and takes a file with those of Unix. */
  takesUnixLines: boolean;
}

/** The command with which each program sends a file as it is. */
const PROGRAMS: Record<string, Program> = {
  swaks: {
    debianPackage: 'swaks',
    args: ({ smtpPort, from, to, file }) => [
      ...['--server', `127.0.0.1:${smtpPort}`, '--from', from, '--to', to, '--data', `@${file}`],
    ],
    takesUnixLines: true,
  },
  'smtp-source': {
    debianPackage: 'postfix',
    args: ({ smtpPort, from, to, file }) => ['-4', '-f', from, '-t', to, '-F', file, `127.0.0.1:${smtpPort}`],
    takesUnixLines: true,
  },
  curl: {
    debianPackage: 'curl',
    args: ({ smtpPort, from, to, file }) => [
      ...['-sS', `smtp://127.0.0.1:${smtpPort}`, '--mail-from', from, '--mail-rcpt', to],
      ...['--upload-file', file],
    ],
    takesUnixLines: false,
  },
};

let server: ServerProcess;
const folder = useFolder();
beforeAll(async () => {
  server = await startServer({ dataDir: join(folder(), 'data') });
});
afterAll(() => server.end('SIGTERM'));

const mailOf = (to: string) => ({
  from: 'Café Größe <hello@shop.example>',
  to,
  subject: SUBJECT,
  text: 'Dein Code ist 482910.\n.\nEine Zeile mit Punkt.\n',
  html: '<p>Dein Code ist <b>482910</b>.</p><img src="cid:logo@shop">',
  attachments: [
    { filename: 'Rechnung für März.pdf', content: pdf, contentType: 'application/pdf' },
    { filename: 'werte.csv', content: csv, contentType: 'text/csv' },
    { filename: 'logo.png', content: logo, contentType: 'image/png', cid: 'logo@shop' },
  ],
});

async function composed(to: string): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return (await transport.sendMail(mailOf(to))).message as Buffer;
}

const withTag = ({ address }: Inbox) => address.replace('@', '+signup@');

/** The raw source of the one message of an inbox, which was read without an error. */
async function readOnly(inbox: Inbox): Promise<string> {
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const { messages } = await server.getJson<{ messages: { id: string }[] }>(path);
  expect(messages).toHaveLength(1);
  const message = await server.getJson<{ attachments: { sha256: string }[] }>(`${path}/${messages[0]?.id}`);
  expect(message).toMatchObject({
    subject: SUBJECT,
    parseError: null,
    envelope: { mailFrom: 'hello@shop.example', rcptTo: [withTag(inbox)] },
    codes: [{ value: '482910' }],
  });
  expect(message.attachments.map(({ sha256 }) => sha256).toSorted()).toEqual(
    [pdf, csv, logo].map((file) => hash('sha256', file)).toSorted(),
  );
  return belowReceivedLine(await server.getBytes(`${path}/${messages[0]?.id}/raw`)).toString('latin1');
}

describe.each(Object.entries(PROGRAMS))('%s', (name, { debianPackage, args, takesUnixLines }) => {
  const program = findProgram(name);
  if (!program) reportAbsent(name, debianPackage);
  const absent = program ? '' : ` (skipped: not installed, Debian: apt-get install ${debianPackage})`;

  test.skipIf(!program)(`delivers a file byte for byte${absent}`, async () => {
    const inbox = await server.createInbox();
    const mail = await composed(inbox.address);
    const file = join(folder(), `${name}.eml`);
    const lines = takesUnixLines ? mail.toString('latin1').replaceAll('\r\n', '\n') : mail;
    writeFileSync(file, lines, 'latin1');
    const sending = { smtpPort: server.smtpPort, from: 'hello@shop.example', to: withTag(inbox), file };
    const ran: SpawnSyncReturns<string> = spawnSync(program ?? name, args(sending), {
      encoding: 'utf8',
      timeout: 100_000,
    });
    expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
    // What swaks and smtp-source send ends with an empty line of their own.
    const sent = [mail.toString('latin1'), `${mail.toString('latin1')}\r\n`];
    expect(sent).toContain(await readOnly(inbox));
  });
});
