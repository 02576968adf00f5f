import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import { attachmentBytes } from './support/mails.ts';

const root = '../shared/corpora';
const oracleFile = `${root}/oracle/cpython-3.11.json`;

/** What another reader, CPython's email package, says of a mail. */
interface Reading {
  subject: string | null;
  leaves: { type: string; decoded_sha256: string; decoded_bytes: number }[];
}

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex');
const asSent = (name: string) => {
  const bytes = readFileSync(`${root}/${name}`);
  // The files of CPython have Unix line ends; mail on the wire does not.
  if (!name.startsWith('cpython')) return bytes;
  return Buffer.from(bytes.toString('latin1').replaceAll(/\r?\n/g, '\r\n'), 'latin1');
};
/** Mails with a part of theirs that we do not show with the same bytes, each with its reason. */
const LEAVES = new Map<string, string>([
  [
    'cutiemail-torture/mails/rfc2231-charset-lang.eml',
    'the file lacks a last line break, which SMTP always has',
  ],
  ['cutiemail-torture/mails/rfc2231-continuation.eml', 'the same'],
  [
    'mime4j/core/src/test/resources/mimetools-testmsgs/frag.msg',
    'in a message inside, which is one attachment here',
  ],
  [
    'mime4j/core/src/test/resources/mimetools-testmsgs/twopart.msg',
    'a blank after "base64" keeps CPython from decoding it; decoded here',
  ],
]);

/** Subjects that we read otherwise, each with its reason. */
const SUBJECTS = new Map<string, string>([
  ['cutiemail-torture/mails/header-no-colon.eml', 'a line without a colon ends the header there; here not'],
  ['cutiemail-torture/mails/8bit-headers-latin1.eml', 'raw bytes that are not UTF-8 are windows-1252 here'],
  ['cutiemail-torture/mails/bare-cr-endings.eml', 'a CR alone is no line end here; SMTP refuses it'],
  ['cutiemail-torture/mails/nul-in-header-and-body.eml', 'a NUL is left out of what is shown'],
  ['cutiemail-torture/mails/rfc2047-invalid-base64.eml', 'the letters that are base 64 are decoded here'],
  [
    'mime4j/core/src/test/resources/testmsgs/obsolete.msg',
    'CPython does not know the spaces before the colon of RFC 5322 section 4.5',
  ],
]);

describe.skipIf(!existsSync(oracleFile))(`hostile mails of other projects (needs ${root})`, () => {
  const oracle = existsSync(oracleFile)
    ? Object.entries(JSON.parse(readFileSync(oracleFile, 'utf8')) as Record<string, Reading>)
    : [];

  it('are all read with a consistent result', async () => {
    expect(oracle.length).toBe(161);
    for (const [name] of oracle) {
      const mail = parseMail(asSent(name));
      expect(JSON.parse(JSON.stringify(mail)), name).toEqual(mail);
    }
  });

  it('have the subjects that the Python email package reads', () => {
    const other = oracle.filter(
      ([name, { subject }]) => parseMail(asSent(name)).summary.subject !== (subject ?? ''),
    );
    expect(other.map(([name]) => name).toSorted()).toEqual([...SUBJECTS.keys()].toSorted());
  });

  it('have the attachments that the Python email package reads, byte for byte', async () => {
    const other: string[] = [];
    for (const [name, { leaves }] of oracle) {
      const raw = asSent(name);
      const { content } = parseMail(raw);
      const known = new Set<string>();
      for (const { id, sha256: listed } of content.attachments) {
        const bytes = attachmentBytes(raw, parseMail(raw).index, id) ?? new Uint8Array();
        expect(sha256(bytes), `${name} ${id}`).toBe(listed);
        known.add(listed);
        // The oracle read CPython's files with their Unix line ends.
        known.add(sha256(Buffer.from(bytes).toString('latin1').replaceAll('\r\n', '\n')));
      }
      const missing = leaves.filter(
        ({ type, decoded_sha256 }) =>
          !/^(?:text|multipart|message)\//.test(type) && !known.has(decoded_sha256),
      );
      if (missing.length > 0 && !LEAVES.has(name)) {
        other.push(`${name}: ${missing.map(({ type, decoded_bytes }) => `${type} ${decoded_bytes}`)}`);
      }
    }
    expect(other).toEqual([]);
  });
});
