import fc from 'fast-check';
import { SMTP_LIMITS } from '../../../src/smtp/limits.ts';

/** Limits that short dialogues meet. */
export const SMALL_LIMITS = {
  ...SMTP_LIMITS,
  maxRecipients: 3,
  maxErrors: 20,
  maxAuthFailures: 2,
  maxCommandsPerMail: 40,
  maxCommandBytes: 64,
  maxSkippedLineBytes: 300,
  maxDrainedBytes: 400,
};
export const SMALL_MESSAGE_BYTES = 200;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const line = (...parts: string[]) => parts.join('');

/** Bytes of messages: all that may matter to their end and to their dots. */
const body = fc
  .array(
    fc.constantFrom(
      '.',
      ...'..|\r|\n|\r\n|\r\n.|\r\n..\r\n|\n.\n|\n.\r\n|\r.\r|\0|text|\xfc'.split('|'),
      'x'.repeat(90),
    ),
    { maxLength: 12, size: 'max' },
  )
  .map((parts) => parts.join(''));

/** One line of a client, or several that belong together, as latin1; well-formed ones are the most frequent. */
const exchange = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      ...['EHLO client.test\r\n', 'HELO client.test\r\n', 'MAIL FROM:<s@example.com>\r\n'],
      ...['RCPT TO:<a@mayfly.test>\r\n', 'RCPT TO:<no@mayfly.test>\r\n', 'DATA\r\n', '.\r\n', 'RSET\r\n'],
      ...['NOOP\r\n'],
    ),
  },
  {
    weight: 8,
    arbitrary: body.map(
      (text) => `RSET\r\nMAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n${text}\r\n.\r\n`,
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      `AUTH PLAIN ${base64('\0user\0right')}\r\n`,
      `AUTH PLAIN ${base64('\0user\0wrong')}\r\n`,
      `AUTH LOGIN\r\n${base64('user')}\r\n${base64('right')}\r\n`,
      `AUTH LOGIN ${base64('user')}\r\n${base64('wrong')}\r\n`,
      'AUTH PLAIN\r\n*\r\n',
      'AUTH PLAIN =\r\n',
      'AUTH CRAM-MD5\r\n',
      `AUTH PLAIN ${'A'.repeat(600)}\r\n`,
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...['MAIL FROM:<s@example.com> SIZE=9999999\r\n', 'MAIL FROM:<j\xf6rg@example.com>\r\n'],
      ...['RCPT TO:<>\r\n', 'EHLO\r\n', 'VRFY\r\n', 'HELP\r\n', 'QUIT now\r\n', 'BDAT 3 LAST\r\n', 'NOOP\n'],
      ...['DATA\n.\r\n', 'NO\0OP\r\n', 'NOOP\r\r\n', '\r\n', '\n', 'STARTTLS now\r\n'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('QUIT\r\n', 'STARTTLS\r\n', 'GET / HTTP/1.1\r\n', 'PROXY UNKNOWN\r\n'),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 50, max: 80 })
      .map((length) => line('NOOP ', 'x'.repeat(length - 5), '\r\n')),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 280, max: 320 }).map((length) => line('x'.repeat(length), '\r\n')),
  },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  },
);

/** Everything that one client sends. */
export const dialogue: fc.Arbitrary<string> = fc
  .tuple(fc.integer({ min: 0, max: 9 }), fc.array(exchange, { maxLength: 25, size: 'max' }))
  .map(([silent, parts]) => `${silent > 0 ? 'EHLO client.test\r\n' : ''}${parts.join('')}`);
