import { describe, expect, test } from 'vitest';
import { smtpClient } from '../../support/smtp-script.ts';
import { inData, turns, useSmtp } from '../start-smtp.ts';

/** What looks like the end of the data to some servers, and is not (RFC 5321 section 4.1.1.4). */
const FALSE_ENDS = [
  ...['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r.\n', '\n.\r', '\r.\r\n', '\r\n.\r'],
  ...['\r\n.\r\r\n', '\r\r\n.\r\r\n', '\r\n\0.\r\n', '\r\n.\0\r\n'],
];

const limits = { maxMessageBytes: 50_000 };
const smtp = useSmtp(limits);
const normalising = useSmtp({ ...limits, smtpBareLineEndings: 'normalise' });

const SMUGGLED =
  'NOOP\r\nMAIL FROM:<evil@example.com>\r\nRCPT TO:<b@mayfly.test>\r\nDATA\r\nSubject: smuggled\r\n\r\nboo\r\n';
const filler = `${'x'.repeat(98)}\r\n`;

/** The places of a false end: the text before it, and whether the mail is too large by then. */
const PLACES: [string, string, '552' | undefined][] = [
  ['in the first line', '', undefined],
  ['in the middle', `Subject: one\r\n\r\n${filler.repeat(10)}text`, undefined],
  ['in what is thrown away of a mail too large', `${filler.repeat(600)}text`, '552'],
];

/** Sends a mail with a false end in it, and a NOOP after its true end; answers all replies to these. */
async function replies(port: number, before: string, end: string, byteByByte: boolean): Promise<string[]> {
  const client = await smtpClient(port);
  await client.play(inData);
  await client.send(before);
  for (const piece of byteByByte ? end : [end]) {
    await client.send(piece);
    await turns(1);
  }
  await client.send(`${SMUGGLED}\r\n.\r\nNOOP\r\nQUIT\r\n`);
  return (await client.closed()).trimEnd().split('\r\n');
}

describe.each([false, true])('a false end of the data (byte by byte: %s)', (byteByByte) => {
  describe.each(PLACES)('%s', (_place, before, tooLarge) => {
    test.each(FALSE_ENDS.map((end) => [JSON.stringify(end), end]))('%s', async (_name, end) => {
      const [verdict, ...rest] = await replies(smtp.port, before, end, byteByByte);
      // With NUL beside the dot the line endings are sound: an ordinary mail.
      const expected = tooLarge ?? (end.includes('\0') ? '250' : '550 5.6.11');
      expect(verdict).toContain(expected);
      expect(rest.map((reply) => reply.slice(0, 9))).toEqual(['250 2.0.0', '221 2.0.0']);
      expect(smtp.receiver.mails).toHaveLength(expected === '250' ? 1 : 0);
      expect(smtp.receiver.mails.every((mail) => mail.envelope.mailFrom === 'sender@example.com')).toBe(true);
    });
  });
});

test.each(FALSE_ENDS.map((end) => [JSON.stringify(end), end]))(
  'a false end is one mail where line endings are normalised: %s',
  async (_name, end) => {
    const [verdict, ...rest] = await replies(normalising.port, 'text', end, false);
    expect(verdict).toContain('250 2.0.0');
    expect(rest).toHaveLength(2);
    expect(normalising.receiver.mails.map(({ bytes }) => bytes.includes('smuggled'))).toEqual([true]);
  },
);

test('the true end does end the data: what follows is commands', async () => {
  const answers = await replies(smtp.port, 'text', '\r\n.\r\n', false);
  expect(answers.map((reply) => reply.slice(0, 3)).join(' ')).toBe('250 250 250 250 354 250 250 221');
});
