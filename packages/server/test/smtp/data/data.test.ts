import { describe, expect, test } from 'vitest';
import { playSmtp, smtpClient } from '../../support/smtp-script.ts';
import { hello, inData, useSmtp, withSender } from '../start-smtp.ts';

const LIMIT = 100_000;
const smtp = useSmtp({ maxMessageBytes: LIMIT, limits: { maxDrainedBytes: 10 * LIMIT } });
const normalising = useSmtp({ smtpBareLineEndings: 'normalise' });

const inStep = 'NOOP → 250 2.0.0';

describe('the size of a mail', () => {
  test.each([
    ['exactly at the limit is taken', LIMIT, '250 2.0.0'],
    ['one octet above it is refused', LIMIT + 1, '552 5.3.4'],
    ['far above it is refused', 5 * LIMIT, '552 5.3.4'],
  ])('%s, and the session stays in step', async (_name, bytes, reply) => {
    const body = Buffer.alloc(bytes, 'x');
    body.write('\r\n', bytes - 2);
    const send = Buffer.concat([body, Buffer.from('.\r\n')]);
    await playSmtp(smtp.port, [...inData, { send, expect: reply }, inStep]);
    const stored = reply.startsWith('2') ? [bytes] : [];
    expect(smtp.receiver.mails.map((mail) => mail.bytes.length)).toEqual(stored);
  });

  test('counts the bytes received: a smaller SIZE parameter changes nothing', async () => {
    await playSmtp(smtp.port, [
      ...hello,
      'MAIL FROM:<s@example.com> SIZE=10 → 250',
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      `${'x'.repeat(1000)}\r\n. → 250`,
    ]);
    expect(smtp.receiver.mails[0]?.bytes).toHaveLength(1002);
  });

  test('is limited by the inbox that allows the most', async () => {
    await playSmtp(smtp.port, [
      ...withSender,
      'RCPT TO:<small@mayfly.test> → 250',
      'DATA → 354',
      `${'x'.repeat(2000)}\r\n. → 552 5.3.4`,
      ...withSender.slice(2),
      'RCPT TO:<small@mayfly.test> → 250',
      'RCPT TO:<a@mayfly.test> → 250',
      'DATA → 354',
      `${'x'.repeat(2000)}\r\n. → 250`,
    ]);
  });

  test('that never ends is refused while it comes, and the connection closed', async () => {
    const client = await smtpClient(smtp.port);
    await client.play(inData);
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
    ['LF after 100,000 octets', `${`${'x'.repeat(78)}\r\n`.repeat(1200)}\nend\r\n`],
  ])('is refused, and the session stays in step: %s', async (_name, body) => {
    const send = Buffer.from(`${body}.\r\n`);
    await playSmtp(smtp.port, [...inData, { send, expect: '550 5.6.11' }, inStep]);
    expect(smtp.receiver.mails).toEqual([]);
  });

  // Any text and any cut: session/data-reader.test.ts.
  test('becomes a CRLF where so configured', async () => {
    // A sender that ends lines by LF stuffs the dots after it.
    const sent = Buffer.from('start\n..\ny\r\r\n\n..x\r\n.\r\n');
    await playSmtp(normalising.port, [...inData, { send: sent, expect: 250 }, inStep]);
    expect(normalising.receiver.mails[0]?.bytes.toString()).toBe('start\r\n.\r\ny\r\n\r\n\r\n.x\r\n');
  });
});
