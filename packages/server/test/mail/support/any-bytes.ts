import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ParsedMail } from '../../../src/mail/mail.ts';
import type { PartIndex } from '../../../src/mail/mime/part-index.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { attachmentBytes } from './mails.ts';

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

/** Words of mails, so that random bytes reach more than the first branch of each rule. */
export const words = fc.constantFrom(
  ...['\r\n', '\n', '\r', '\r\n\r\n', ' ', '\t', ':', ';', '"', '(', ')', '<', '>', ',', '=', '\\', '\0'],
  ...['\xff'],
  ...['--b', '--b--', '--bb', '--', '-', '--b--b', 'From ', 'From: ', 'Subject: ', 'To: ', 'Sender:'],
  ...['a@b.test'],
  ...['Content-Type: multipart/mixed; boundary=b'],
  ...['Content-Type: multipart/related; boundary="bb"; start="<i>"'],
  ...['Content-Type: multipart/alternative; boundary=b--', 'Content-Type: text/html', 'Content-ID: <i>'],
  ...['Content-Type: text/plain; charset=', 'utf-7', 'hz', 'iso-2022-kr', 'utf-32', 'utf-16', 'name*0*='],
  ...['x'],
  ...['Content-Disposition: attachment; filename="', 'Content-Transfer-Encoding: ', 'base64'],
  ...['quoted-printable'],
  ...['x-uuencode', 'begin 644 x\r\n', 'QUJD', '=41', '=\r\n', '=?utf-8?q?', '=?x?b?', '?=', "utf-8''%41"],
);
export const anyBytes = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: words.map((word) => Buffer.from(word, 'latin1')) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)) },
    ),
    { maxLength: 80 },
  )
  .map((pieces) => Buffer.concat(pieces));

/** Every part is within its multipart, behind its elder siblings, and within the source. */
export function expectNested(index: PartIndex, length: number): void {
  const path: { start: number; end: number }[] = [{ start: 0, end: length }];
  for (const { depth, headerStart, bodyStart, bodyEnd } of index) {
    expect(path.length).toBeGreaterThan(depth);
    path.length = depth + 1;
    const space = path[depth];
    const places = [space?.start, headerStart, bodyStart, bodyEnd, space?.end];
    expect(places).toEqual(places.toSorted((a = 0, b = 0) => a - b));
    if (space) space.start = bodyEnd;
    path.push({ start: bodyStart, end: bodyEnd });
  }
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(strings) : [];
}

/** Asserts what holds for every mail that is read, whatever it holds. */
export function expectConsistent(mail: ParsedMail): void {
  expect(JSON.parse(JSON.stringify(mail))).toEqual(mail);
  for (const text of strings(mail)) expect(text.isWellFormed() && !text.includes('\0')).toBe(true);
  expect(mail.summary.preview.length).toBeLessThanOrEqual(200);
  const { attachmentCount, inlineCount } = mail.summary;
  expect(attachmentCount + inlineCount).toBe(mail.content.attachments.length);
}

/** Asserts that a mail is read without an error, in parts within each other, and with its attachments as listed. */
export function expectSound(raw: Buffer): void {
  const mail = parseMail(raw);
  const { content, index, parseError } = mail;
  expect(parseError).toBeNull();
  expectConsistent(mail);
  expectNested(index, raw.length);
  for (const { id, size, sha256: listed, contentType } of content.attachments) {
    const served = attachmentBytes(raw, index, id) ?? new Uint8Array();
    expect([served.length, sha256(served)]).toEqual([size, listed]);
    expect(contentType).toMatch(/^[a-z0-9][^\s/]*\/[a-z0-9][^\s/]*$/);
  }
}
