import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { playSmtp, type Step, smtpClient } from '../../support/smtp-script.ts';
import { startSmtp, upToData } from '../start-smtp.ts';

const LIMIT = 100_000;
const smtp = await startSmtp({ maxMessageBytes: LIMIT, limits: { maxDrainedBytes: 10 * LIMIT } });
const normalising = await startSmtp({ bareLineEndings: 'normalise' });
afterAll(async () => {
  await smtp.stop();
  await normalising.stop();
});
beforeEach(() => {
  smtp.receiver.mails.length = 0;
  normalising.receiver.mails.length = 0;
});

const inStep: Step = 'NOOP → 250 2.0.0';
const toSmall: Step[] = [...upToData.slice(0, 3), 'RCPT TO:<small@mayfly.test> → 250'];

describe('the size of a mail', () => {
  test.each([
    ['exactly at the limit is taken', LIMIT, '250 2.0.0'],
    ['one octet above it is refused', LIMIT + 1, '552 5.3.4'],
    ['far above it is refused', 5 * LIMIT, '552 5.3.4'],
  ])('%s, and the session stays in step', async (_name, bytes, reply) => {
    const body = Buffer.alloc(bytes, 'x');
    body.write('\r\n', bytes - 2);
    await playSmtp(smtp.port, [
      ...upToData,
      'DATA → 354',
      { send: Buffer.concat([body, Buffer.from('.\r\n')]), expect: reply },
      inStep,
    ]);
    expect(smtp.receiver.mails.map((mail) => mail.bytes.length)).toEqual(
      reply.startsWith('2') ? [bytes] : [],
    );
  });

  test('does not count the dots that were stuffed', async () => {
    const line = `${'.'.repeat(1)}${'y'.repeat(97)}\r\n`;
    await playSmtp(smtp.port, [
      ...upToData,
      'DATA → 354',
      { send: Buffer.from(`${`.${line}`.repeat(1000)}.\r\n`), expect: 250 },
    ]);
    expect(smtp.receiver.mails[0]?.bytes.toString()).toBe(line.repeat(1000));
  });

  test('counts the bytes received: a smaller SIZE parameter changes nothing', async () => {
    await playSmtp(smtp.port, [
      ...upToData.slice(0, 2),
      'MAIL FROM:<s@example.com> SIZE=10 → 250',
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      `${'x'.repeat(1000)}\r\n. → 250`,
    ]);
    expect(smtp.receiver.mails[0]?.bytes).toHaveLength(1002);
  });

  test('is limited by the inbox that allows the most', async () => {
    await playSmtp(smtp.port, [
      ...toSmall,
      'DATA → 354',
      `${'x'.repeat(2000)}\r\n. → 552 5.3.4`,
      ...toSmall.slice(2),
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      `${'x'.repeat(2000)}\r\n. → 250`,
    ]);
  });

  test('that never ends is refused while it comes, and the connection closed', async () => {
    const client = await smtpClient(smtp.port);
    await client.play([...upToData, 'DATA → 354']);
    client.socket.write(Buffer.alloc(11 * LIMIT, 'x'));
    expect(await client.reply()).toMatch(/^552 5\.3\.4/);
    expect(await client.closed()).toBe('');
  });
});

describe('a bare CR or LF', () => {
  test.each([
    ['LF', 'one\ntwo\r\n'],
    ['CR', 'one\rtwo\r\n'],
    ['LF first', '\none\r\n'],
    ['CR first', '\rone\r\n'],
    ['CR before a CRLF', 'one\r\r\ntwo\r\n'],
    ['LF after a CRLF', 'one\r\n\ntwo\r\n'],
    ['LF CR', 'one\n\rtwo\r\n'],
    ['LF after 100,000 octets', `${`${'x'.repeat(78)}\r\n`.repeat(1200)}\nend\r\n`],
  ])('is refused, and the session stays in step: %s', async (_name, body) => {
    await playSmtp(smtp.port, [
      ...upToData,
      'DATA → 354',
      { send: Buffer.from(`${body}.\r\n`), expect: '550 5.6.11' },
      inStep,
    ]);
    expect(smtp.receiver.mails).toEqual([]);
  });

  test('becomes a CRLF where so configured, wherever TCP cuts', async () => {
    const line = fc.constantFrom('\n', '\r', '\r\n', 'x', '.', 'yy');
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), fc.array(fc.nat(60)), async (pieces, cuts) => {
        normalising.receiver.mails.length = 0;
        const sent = `start${pieces.join('')}`;
        // Who ends lines by LF stuffs the dots after it.
        const stuffed = `${sent}\r\n`.replaceAll(/(^|\n)\./g, '$1..');
        const client = await smtpClient(normalising.port);
        await client.play([...upToData, 'DATA → 354']);
        await sendCut(client, Buffer.from(`${stuffed}.\r\n`), cuts);
        await client.play(['→ 250', inStep]);
        client.close();
        expect(normalising.receiver.mails[0]?.bytes.toString()).toBe(
          `${sent}\r\n`.replaceAll(/\r\n|\r|\n/g, '\r\n'),
        );
      }),
      { numRuns: 60 },
    );
  });
});

/** Sends in pieces that end at the given offsets, each in a segment of its own. */
async function sendCut(
  client: Awaited<ReturnType<typeof smtpClient>>,
  bytes: Buffer,
  cuts: number[],
): Promise<void> {
  const ends = [...new Set([...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((a, b) => a - b);
  let start = 0;
  for (const end of ends) {
    if (end === start) continue;
    await client.send(bytes.subarray(start, end));
    // A turn of the loop, in which the server reads what came.
    await new Promise((resolve) => setImmediate(resolve));
    start = end;
  }
}

describe('any cut by TCP gives the same bytes', () => {
  const dialogue = (body: string) =>
    Buffer.from(
      `EHLO c\r\nMAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n${body}.\r\nNOOP\r\nQUIT\r\n`,
    );
  const replies: Step = { expect: [220, 250, 250, 250, 354, '250 2.0.0', '250 2.0.0', 221] };

  async function keptWhenCut(body: string, cuts: number[]): Promise<string | undefined> {
    smtp.receiver.mails.length = 0;
    const client = await smtpClient(smtp.port);
    await sendCut(client, dialogue(body), cuts);
    await client.play([replies]);
    client.close();
    return smtp.receiver.mails[0]?.bytes.toString();
  }

  const bodies: [string, string, string][] = [
    ['dots of all kinds', '..\r\n..x\r\n...\r\nx..\r\n..\r\n', '.\r\n.x\r\n..\r\nx..\r\n.\r\n'],
    ['an empty mail', '', ''],
    [
      'text that looks like commands',
      'QUIT\r\nRSET\r\n\r\n..\r\nDATA\r\n',
      'QUIT\r\nRSET\r\n\r\n.\r\nDATA\r\n',
    ],
  ];

  test.each(bodies)('byte by byte: %s', async (_name, body, kept) => {
    const everywhere = Array.from({ length: dialogue(body).length }, (_, i) => i);
    expect(await keptWhenCut(body, everywhere)).toBe(kept);
  });

  test('for any mail and any cuts', async () => {
    const piece = fc.constantFrom('.', '..', '\r\n', '\r\n.', 'x', 'line of text', '\0', 'ü');
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 40 }),
        fc.array(fc.nat(2000), { maxLength: 20 }),
        async (pieces, cuts) => {
          const kept = `${pieces.join('')}\r\n`;
          const body = kept.replaceAll(/(^|\r\n)\./g, '$1..');
          expect(await keptWhenCut(body, cuts)).toBe(kept);
        },
      ),
      { numRuns: 60 },
    );
  });
});
