/*
 * The README's journey with the mail programs that people have: each sends the same mail, and it comes
 * back byte for byte. A program that is absent is skipped by name.
 */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { belowReceivedLine } from './readback.ts';
import { type Inbox, type ServerProcess, startServer } from './server-process.ts';

/** System programs stand in the last two, which are not in every user's PATH. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];

function find(program: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, program)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const SUBJECT = 'Bestätigung – 482910 ist dein Code 🎉';
const pdf = randomBytes(70_000);
const csv = Buffer.from('name;wert\r\nGröße;1\r\n');
const logo = randomBytes(3_000);

interface Sending {
  smtpPort: number;
  from: string;
  to: string;
  /** The mail, CRLF line ends. */
  mail: Buffer;
  /** A file with it. */
  file: string;
}

/** How each program is told to send a mail as it is. */
const PROGRAMS: Record<string, (sending: Sending) => string[]> = {
  swaks: ({ smtpPort, from, to, file }) =>
    ['--server', `127.0.0.1:${smtpPort}`, '--from', from, '--to', to].concat(['--data', `@${file}`]),
  'smtp-source': ({ smtpPort, from, to, file }) =>
    ['-4', '-f', from, '-t', to].concat(['-F', file, `127.0.0.1:${smtpPort}`]),
  curl: ({ smtpPort, from, to, file }) =>
    ['-sS', `smtp://127.0.0.1:${smtpPort}`, '--mail-from', from].concat([
      ...['--mail-rcpt', to, '--upload-file', file],
    ]),
};
/** These make the CRLF themselves, and take a file as Unix keeps it. */
const TAKES_UNIX_LINES = new Set(['swaks', 'smtp-source']);

let server: ServerProcess;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-programs-'));
  server = await startServer({ dataDir: join(folder, 'data') });
});
afterAll(async () => {
  await server.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});

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

describe.each(Object.keys(PROGRAMS))('%s', (name) => {
  const program = find(name);
  test.skipIf(!program)('brings a mail in whole (skipped where the program is absent)', async () => {
    const inbox = await server.createInbox();
    const mail = await composed(inbox.address);
    const file = join(folder, `${name}.eml`);
    const unix = TAKES_UNIX_LINES.has(name);
    writeFileSync(file, unix ? mail.toString('latin1').replaceAll('\r\n', '\n') : mail, 'latin1');
    const to = withTag(inbox);
    const sending = { smtpPort: server.smtpPort, from: 'hello@shop.example', to, mail, file };
    const args = PROGRAMS[name]?.(sending) ?? [];
    const ran: SpawnSyncReturns<string> = spawnSync(program ?? name, args, {
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
    const raw = await expectWhole(inbox);
    // What swaks and smtp-source send ends with an empty line of their own.
    const sent = [mail.toString('latin1'), `${mail.toString('latin1')}\r\n`];
    expect(sent).toContain(raw.toString('latin1'));
  });
});

test('nodemailer brings a mail in whole', async () => {
  const inbox = await server.createInbox();
  const transport = createTransport({ host: '127.0.0.1', port: server.smtpPort });
  const { response } = await transport.sendMail({
    ...mailOf(inbox.address),
    envelope: { from: 'hello@shop.example', to: withTag(inbox) },
  });
  transport.close();
  expect(response).toMatch(/^250 2\.0\.0 /);
  await expectWhole(inbox);
});
