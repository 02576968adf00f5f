import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { onTheWire } from '../durability/ledger.ts';
import { belowReceivedLine } from '../durability/readback.ts';
import { expectedAttachments, type OracleMail, OTHER_COUNTS, OTHER_SUBJECTS, PAST_LIMIT } from './oracle.ts';

/*
 * Other people's collections of nasty mails, which lie beside the project and are not part of it. Each
 * promise here is also held by a test of our own; without the collections these are skipped, by name.
 */
const corpora = resolve(import.meta.dirname, '../../../../../../shared/corpora');
const oracleFile = resolve(corpora, 'oracle/cpython-3.11.json');
const oracle: Record<string, OracleMail> = existsSync(oracleFile)
  ? JSON.parse(readFileSync(oracleFile, 'utf8'))
  : {};
const names = Object.keys(oracle).filter((name) => existsSync(resolve(corpora, name)));

const CUTS = 8;
const random = chance();

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;
interface Place {
  app: TestApp;
  inbox: Inbox;
}

const started: Place[] = [];
let strict: Place;
let lenient: Place;
async function start(env: Record<string, string>): Promise<Place> {
  const app = await startApp(env);
  const place = { app, inbox: await app.createInbox() };
  started.push(place);
  return place;
}
beforeAll(async () => {
  strict = await start({});
  lenient = await start({ MAYFLY_SMTP_BARE_LINE_ENDINGS: 'normalise' });
});
afterAll(() => Promise.all(started.map(({ app }) => app.stop())));

/** As it lies there; a mail that was kept with the line ends of Unix gets those of mail. */
function readMail(name: string): Buffer {
  const kept = readFileSync(resolve(corpora, name));
  const text = kept.toString('latin1');
  return text.includes('\r') ? kept : Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1');
}

const normalised = (mail: Buffer) =>
  Buffer.from(mail.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');
const hasBareLineEnds = (mail: Buffer) => !normalised(mail).equals(mail);
/** SMTP knows whole lines only. */
const withLastLineEnd = (mail: Buffer) =>
  mail.length === 0 || mail.toString('latin1').endsWith('\r\n')
    ? mail
    : Buffer.concat([mail, Buffer.from('\r\n')]);

/** Sends it cut into pieces, each a segment of its own. @returns the reply to the dot */
async function sendInPieces({ app, inbox }: Place, mail: Buffer): Promise<string> {
  const wire = onTheWire(mail);
  const cuts = Array.from({ length: CUTS }, () => random.between(0, wire.length));
  // Within the end of the data, too.
  cuts.push(wire.length - random.between(1, 4));
  cuts.sort((a, b) => a - b);
  const client = await smtpClient(app.smtp.port);
  await client.play([
    '→ 220',
    'EHLO corpora.example → 250',
    'MAIL FROM:<a@b.example> BODY=8BITMIME → 250',
    `RCPT TO:<${inbox.address}> → 250`,
    'DATA → 354',
  ]);
  for (const [index, from] of [0, ...cuts].entries()) {
    await client.send(wire.subarray(from, cuts[index] ?? wire.length));
    await setImmediate();
  }
  const reply = await client.reply();
  await client.play(['NOOP → 250']);
  client.close();
  return reply;
}

async function newest({ app, inbox }: Place) {
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const { body } = await app.api('GET', `${path}?limit=1`);
  const [summary] = body.messages;
  const { status, body: message } = await app.api('GET', `${path}/${summary.id}`);
  expect(status).toBe(200);
  const raw = await fetch(`${app.url}${path}/${summary.id}/raw`, {
    headers: { authorization: `Bearer ${TEST_KEY}` },
  });
  return { summary, message, raw: Buffer.from(await raw.arrayBuffer()) };
}

describe.skipIf(names.length === 0)(
  `collected mails, cut at random places (seed ${random.seed}; skipped where the collections are absent)`,
  () => {
    test('exist', () => expect(names.length).toBeGreaterThan(150));

    test.each(names)(
      '%s is returned byte for byte, and its fields agree with another parser',
      async (name) => {
        const mail = readMail(name);
        const bare = hasBareLineEnds(mail);
        if (bare) expect(await sendInPieces(strict, mail)).toMatch(/^550 5\.6\.11 /);
        const place = bare ? lenient : strict;
        expect(await sendInPieces(place, mail)).toMatch(/^250 2\.0\.0 /);

        const { summary, message, raw } = await newest(place);
        const received = belowReceivedLine(raw);
        const expected = bare ? normalised(withLastLineEnd(mail)) : withLastLineEnd(mail);
        expect(received.equals(expected), received.toString('latin1').slice(0, 500)).toBe(true);
        expect(message.size).toBe(raw.length);

        const seen = oracle[name] as OracleMail;
        expect(summary.subject).toBe(OTHER_SUBJECTS[name]?.subject ?? seen.subject ?? '');
        const limit = PAST_LIMIT[name];
        if (limit) return expect(message.parseError).toMatch(limit);
        expect(message.parseError).toBeNull();
        const attachments = message.attachments.filter(
          ({ contentType }: { contentType: string }) => !contentType.startsWith('message/'),
        );
        expect(attachments).toHaveLength(OTHER_COUNTS[name]?.count ?? expectedAttachments(seen));
        expect(message.attachmentCount + message.inlineCount).toBe(message.attachments.length);
      },
    );

    test('every listed exception really differs from the other parser', () => {
      for (const [name, { subject }] of Object.entries(OTHER_SUBJECTS)) {
        expect(oracle[name]?.subject, name).not.toBe(subject);
      }
      for (const [name, { count }] of Object.entries(OTHER_COUNTS)) {
        expect(expectedAttachments(oracle[name] as OracleMail), name).not.toBe(count);
      }
    });
  },
);

test('a mail that is cut at any byte is returned byte for byte', async () => {
  const lines = ['From: a@b.example', 'Subject: dots', '', '..', '.', '', '. .', 'ü'.repeat(400), '...end'];
  const mail = Buffer.from(`${lines.join('\r\n')}\r\n`);
  for (let round = 0; round < 20; round++) {
    expect(await sendInPieces(strict, mail)).toMatch(/^250 2\.0\.0 /);
    const { raw } = await newest(strict);
    expect(belowReceivedLine(raw).equals(mail), `seed ${random.seed}`).toBe(true);
  }
});
