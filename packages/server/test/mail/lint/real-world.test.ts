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

/** Most mails break these rules: what they must find, by a plain search of the page without its comments. */
const OF_MOST: Record<string, (html: string) => boolean> = {
  'html-lang': (html) => !/<[^>]*\slang=["']?[a-z]{2}/i.test(html),
  'html-dir': (html) => !/<[^>]*\sdir=["']?(?:ltr|rtl|auto)/i.test(html),
  'document-title': (html) => /<html|<head/i.test(html) && !/<title>\s*[^<\s]/i.test(html),
  'layout-table-role': (html) =>
    (html.match(/<table[^>]*>/gi) ?? []).some((tag) => !/\srole=/i.test(tag)) &&
    !/<th[\s>]|<caption/i.test(html),
};

describe('mails modelled on current real ones', () => {
  it('are at least fifty, each by its own name', () => {
    expect(new Set(REAL_WORLD.map(({ name }) => name)).size).toBe(REAL_WORLD.length);
    expect(REAL_WORLD.length).toBeGreaterThanOrEqual(50);
  });

  it.each([...REAL_WORLD, ...WELL_MADE])('$name has only the findings that were judged right', (mail) => {
    expect(parseMail(bytesOf(mail)).parseError).toBeNull();
    const judged = (mail.findings ?? []).map(({ rule }) => rule);
    const found = lintMail(bytesOf(mail)).findings.map(({ rule }) => rule);
    const html = parseMail(bytesOf(mail)).content.html?.replaceAll(/<!--.*?-->/gs, '');
    for (const [rule, isBroken] of Object.entries(OF_MOST))
      expect(found.includes(rule), rule).toBe(html !== undefined && isBroken(html));
    expect(found.filter((rule) => !Object.hasOwn(OF_MOST, rule))).toEqual(judged);
  });

  it('are named in the document with the judgements of their findings', () => {
    const text = readFileSync(DOCUMENT, 'utf8');
    for (const { name, findings = [] } of REAL_WORLD) {
      expect(text).toContain(name);
      for (const { rule, why } of findings) expect(text).toContain(`| ${name} | \`${rule}\` | ${why} |`);
    }
  });
});
