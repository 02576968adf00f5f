import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { parseMail } from '../../../src/mail/parse.ts';

const DOCUMENT = 'docs/internals/lint-judgements.md';
const FOLDER = join(import.meta.dirname, 'mails');

/** A mail modelled on current real ones, written before the rules were read. */
interface JudgedMail {
  name: string;
  /** In UTF-8, or as base64 where it is not. */
  source?: string;
  base64?: string;
  /** Every finding in it, and why it is right. One that is not here is a false one until it is judged. */
  findings?: { rule: string; why: string }[];
}

const read = (file: string): JudgedMail[] => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
/** Those that do everything right: a rule that finds something in one of them is wrong, or too eager. */
const WELL_MADE = read('well-made.json');
const REAL_WORLD = readdirSync(FOLDER)
  .filter((file) => file !== 'well-made.json')
  .flatMap(read);

const bytesOf = ({ source, base64 }: JudgedMail): Buffer =>
  base64 === undefined ? Buffer.from(source ?? '') : Buffer.from(base64, 'base64');

describe('mails modelled on current real ones', () => {
  it('are at least fifty, each by its own name', () => {
    expect(new Set(REAL_WORLD.map(({ name }) => name)).size).toBe(REAL_WORLD.length);
    expect(REAL_WORLD.length).toBeGreaterThanOrEqual(50);
  });

  it.each([...REAL_WORLD, ...WELL_MADE])('$name has only the findings that were judged right', (mail) => {
    expect(parseMail(bytesOf(mail)).parseError).toBeNull();
    const judged = (mail.findings ?? []).map(({ rule }) => rule);
    expect(lintMail(bytesOf(mail)).findings.map(({ rule }) => rule)).toEqual(judged);
  });

  it('are named in the document with the judgements of their findings', () => {
    const text = readFileSync(DOCUMENT, 'utf8');
    for (const { name, findings = [] } of REAL_WORLD) {
      expect(text).toContain(name);
      for (const { rule, why } of findings) expect(text).toContain(`| ${name} | \`${rule}\` | ${why} |`);
    }
  });
});
