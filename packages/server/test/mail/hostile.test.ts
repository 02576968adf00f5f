import { describe, expect, it } from 'vitest';
import { MAX_MAILBOXES } from '../../src/mail/limits.ts';
import { MAX_FIELDS } from '../../src/mail/mime/header.ts';
import { MAX_DEPTH, MAX_PARTS } from '../../src/mail/mime/parts.ts';
import { parseHeaderOnly, parseMail } from '../../src/mail/parse.ts';
import { expectConsistent } from './support/any-bytes.ts';

const head = 'From: ada@sender.test\r\nSubject: bomb\r\n';
const MULTIPART = 'Content-Type: multipart/mixed; boundary=x\r\n\r\n';
const nested = (depth: number) =>
  Array.from(
    { length: depth },
    (_, i) => `Content-Type: multipart/mixed; boundary=b${i}.\r\n\r\n--b${i}.\r\n`,
  ).join('');

describe('hostile mails are read up to the limits, parseError says so, and none is lost', () => {
  const flagged: [string, string, RegExp][] = [
    ['2,000 nested multiparts', head + nested(2_000), new RegExp(`deeper than ${MAX_DEPTH} levels`)],
    [
      '100,000 parts',
      `${head}${MULTIPART}${'--x\r\n\r\na\r\n'.repeat(100_000)}`,
      new RegExp(`more than ${MAX_PARTS} parts`),
    ],
    ['a million fields', `${'a:\r\n'.repeat(1_000_000)}${head}\r\ntext`, new RegExp(`${MAX_FIELDS} fields`)],
    [
      'a million fields of a part',
      `${head}${MULTIPART}--x\r\n${'a:\r\n'.repeat(1_000_000)}Content-Type: a/b\r\n\r\ntext`,
      new RegExp(`${MAX_FIELDS} fields`),
    ],
    [
      'an 8 MB field before the others',
      `X: ${'a'.repeat(8_000_000)}\r\n${head}\r\ntext`,
      /larger than 2 MiB/,
    ],
    [
      '100,000 recipients',
      `${head}To: ${'a@b.test,'.repeat(100_000)}\r\n\r\ntext`,
      new RegExp(`"to" names more than ${MAX_MAILBOXES}`),
    ],
    ['a recipient of 100 KB', `${head}To: ${'a.'.repeat(50_000)}@b.test\r\n\r\nx`, /longer than 64 KiB/],
    ['an 8 MB header', `${head}X: ${'a'.repeat(8_000_000)}\r\n\r\ntext`, /larger than 2 MiB/],
  ];
  it.each(flagged)('%s', (_, source, reason) => {
    const mail = parseMail(Buffer.from(source));
    expect(mail.parseError).toMatch(reason);
    expect(mail.summary).toMatchObject({ subject: 'bomb', from: { address: 'ada@sender.test' } });
    expectConsistent(mail);
  });

  const borne: [string, string][] = [
    ['8,000 nested messages', head + 'Content-Type: message/rfc822\r\n\r\n'.repeat(8_000)],
    ['60 KB of a.a.a as sender', `From: ${'a.'.repeat(30_000)}\r\nSubject: bomb\r\n\r\nx`],
    ['open comments as sender', `From: ${'('.repeat(60_000)}\r\nSubject: bomb\r\n\r\nx`],
    ['30,000 groups', `To: ${'a:'.repeat(30_000)}\r\nSubject: bomb\r\n\r\nx`],
    ['a flood of encoded words', `Subject: bomb\r\nX: ${'=?utf-8?b?YWFh?='.repeat(60_000)}\r\n\r\nx`],
    ['8,000 openings of encoded words', `Subject: bomb\r\nX: ${'=?'.repeat(8_000)}\r\n\r\nx`],
    [
      'a page of open tags',
      `${head}Content-Type: text/html\r\n\r\n${'<div>'.repeat(200_000)}${'</x>'.repeat(100_000)}`,
    ],
    [
      'a page of open links',
      `${head}Content-Type: text/html\r\n\r\n${'<a href="http://x.test/">'.repeat(50_000)}`,
    ],
    [
      '50,000 links with words',
      `${head}Content-Type: text/html\r\n\r\n${'<a href="x">ab</a>'.repeat(50_000)}`,
    ],
    ['digits without end', `${head}\r\ncode ${'1 '.repeat(500_000)}`],
    ['one long line of letters', `${head}\r\n${'a'.repeat(2_000_000)}`],
    ['closing brackets behind a link', `${head}\r\nhttp://x.test/${')'.repeat(1_000_000)}`],
    ['an empty boundary', `${head}Content-Type: multipart/mixed; boundary=""\r\n\r\n--\r\n\r\nx`],
    [
      'a boundary of pattern characters',
      `${head}Content-Type: multipart/mixed; boundary="(.*)+"\r\n\r\n--(.*)+\r\n\r\nx\r\n`,
    ],
    ['NUL everywhere', `${head}X\0: \0\r\n\r\n\0a\0`],
    ['nothing but a header', 'Subject: bomb'],
  ];
  it.each(borne)('%s', (_, source) => {
    const mail = parseMail(Buffer.from(source));
    expect(mail.parseError).toBeNull();
    expect(mail.summary.subject).toBe('bomb');
    expectConsistent(mail);
  });

  it('parseHeaderOnly reads at most 16 KiB of the header', () => {
    const mail = parseHeaderOnly(Buffer.from(`${head}X: ${'y'.repeat(1_000_000)}\r\n`), 'why');
    expect(mail.parseError).toBe('why');
    expect(mail.summary.subject).toBe('bomb');
    expect(JSON.stringify(mail).length).toBeLessThan(20_000);
  });
});
