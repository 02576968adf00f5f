import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import { contentJson, MAX_STORED_RATIO, STORED_ALLOWANCE_BYTES } from '../../src/mail/stored-content.ts';
import { BOMBS } from './bombs.ts';

const CORPORA = '../shared/corpora';

/** Bytes that are stored of a mail: its raw source, its summary and its content. */
function storedBytes(source: Buffer): number {
  const mail = parseMail(source);
  const summary = Buffer.byteLength(JSON.stringify(mail.summary));
  return source.length + summary + Buffer.byteLength(contentJson(mail, source.length, summary));
}

const most = (rawBytes: number) => (1 + MAX_STORED_RATIO) * rawBytes + STORED_ALLOWANCE_BYTES;

describe('a mail takes at most three times the bytes of its raw source, and 32 KiB for tables', () => {
  it.each(BOMBS)('$name', ({ mail }) => {
    for (const bytes of [5_000, 50_000]) {
      const source = mail(bytes);
      expect(storedBytes(source)).toBeLessThanOrEqual(most(source.length));
    }
  });

  it('a table of parts that is larger than the mail', () => {
    const source = Buffer.from(
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\nContent-Type: a/b\r\n\r\nx\r\n'.repeat(1_000)}`,
    );
    expect(storedBytes(source)).toBeLessThanOrEqual(most(source.length));
  });

  it.skipIf(!existsSync(CORPORA))('every mail of the corpora (skipped without them)', () => {
    const files = readdirSync(CORPORA, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(?:cpython-test-email|cutiemail-torture|mime4j)\/.*\.(?:eml|msg|txt)$/.test(name),
    );
    expect(files.length).toBeGreaterThan(100);
    for (const file of files) {
      const source = readFileSync(`${CORPORA}/${file}`);
      expect([file, storedBytes(source) <= most(source.length)]).toEqual([file, true]);
    }
  });
});
