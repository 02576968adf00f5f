/*
 * Programs that send a file as it is: the mail comes back byte for byte. Libraries that compose the mail
 * are in every-library.test.ts. A program that is not installed is skipped by name.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
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
      '--server',
      `127.0.0.1:${smtpPort}`,
      '--from',
      from,
      '--to',
      to,
      '--data',
      `@${file}`,
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
      '-sS',
      `smtp://127.0.0.1:${smtpPort}`,
      '--mail-from',
      from,
      '--mail-rcpt',
      to,
      '--upload-file',
      file,
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

/** The one message of an inbox, in full, with its raw source and its attachments by name. */
async function readOnly(inbox: Inbox) {
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const list = await server.getJson<{ messages: { id: string }[] }>(`${path}?wait=20&since=${inbox.cursor}`);
  expect(list.messages).toHaveLength(1);
  const message = await server.getJson<{
    subject: string;
    text: string;
    html: string;
    parseError: string | null;
    envelope: { mailFrom: string; rcptTo: string[] };
    codes: { value: string }[];
    attachments: { filename: string; url: string; disposition: string; contentId: string | null }[];
  }>(`${path}/${list.messages[0]?.id}`);
  const raw = belowReceivedLine(await server.getBytes(`${path}/${list.messages[0]?.id}/raw`));
  const attachments = new Map<string, Buffer>();
  for (const { filename, url } of message.attachments) {
    attachments.set(filename, await server.getBytes(url.slice(server.url.length)));
  }
  return { message, raw, attachments };
}

async function expectWhole(inbox: Inbox): Promise<Buffer> {
  const { message, raw, attachments } = await readOnly(inbox);
  expect(message).toMatchObject({
    subject: SUBJECT,
    parseError: null,
    envelope: { mailFrom: 'hello@shop.example', rcptTo: [withTag(inbox)] },
  });
  expect(message.text).toContain('482910.\n.\nEine Zeile');
  expect(message.html).toContain('<b>482910</b>');
  expect(message.codes[0]?.value).toBe('482910');
  expect(message.attachments.find(({ filename }) => filename === 'logo.png')).toMatchObject({
    disposition: 'inline',
    contentId: 'logo@shop',
  });
  expect(attachments.size).toBe(3);
  expect(attachments.get('Rechnung für März.pdf')?.equals(pdf)).toBe(true);
  expect(attachments.get('werte.csv')?.equals(csv)).toBe(true);
  expect(attachments.get('logo.png')?.equals(logo)).toBe(true);
  return raw;
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
    const raw = await expectWhole(inbox);
    // What swaks and smtp-source send ends with an empty line of their own.
    const sent = [mail.toString('latin1'), `${mail.toString('latin1')}\r\n`];
    expect(sent).toContain(raw.toString('latin1'));
  });
});
