import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseMail } from '../../src/mail/parse.ts';
import OTHERWISE from './read-otherwise.json' with { type: 'json' };
import { expectConsistent } from './support/any-bytes.ts';
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
const LEAVES: Record<string, string> = OTHERWISE.leaves;

describe.skipIf(!existsSync(oracleFile))(`hostile mails of other projects (needs ${root})`, () => {
  const oracle = existsSync(oracleFile)
    ? Object.entries(JSON.parse(readFileSync(oracleFile, 'utf8')) as Record<string, Reading>)
    : [];

  it.each(oracle)('are read with a consistent result: %s', (name) => {
    expectConsistent(parseMail(asSent(name)));
  });

  it('have the subjects that the Python email package reads', () => {
    expect(oracle).toHaveLength(161);
    const subjectOf = (name: string) => parseMail(asSent(name)).summary.subject;
    const other = oracle.filter(([name, { subject }]) => subjectOf(name) !== (subject ?? ''));
    expect(other.map(([name]) => name).toSorted()).toEqual(Object.keys(OTHERWISE.subjects).toSorted());
  });

  it('have the attachments that the Python email package reads, byte for byte', async () => {
    const other: string[] = [];
    for (const [name, { leaves }] of oracle) {
      const raw = asSent(name);
      const { content, index } = parseMail(raw);
      const known = new Set<string>();
      for (const { id, sha256: listed } of content.attachments) {
        const bytes = attachmentBytes(raw, index, id) ?? new Uint8Array();
        expect(sha256(bytes), `${name} ${id}`).toBe(listed);
        known.add(listed);
        // The oracle read CPython's files with their Unix line ends.
        known.add(sha256(Buffer.from(bytes).toString('latin1').replaceAll('\r\n', '\n')));
      }
      const missing = leaves.filter(
        ({ type, decoded_sha256 }) =>
          !/^(?:text|multipart|message)\//.test(type) && !known.has(decoded_sha256),
      );
      if (missing.length > 0 && !(name in LEAVES)) {
        other.push(`${name}: ${missing.map(({ type, decoded_bytes }) => `${type} ${decoded_bytes}`)}`);
      }
    }
    expect(other).toEqual([]);
  });
});
