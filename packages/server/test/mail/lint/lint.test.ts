import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { RULES } from '../../../src/mail/lint/rules.ts';
import { crlf, header, html, multipart, text } from './building.ts';

const CORPORA = '../shared/corpora';
/** A well-made mail with this HTML and this text. */
const page = (body: string, words = 'Hello') =>
  crlf([...header('Hello', 'shop@shop.example'), multipart('alternative', [text(words), html(body)])]);
const readJson = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));

/** Pages that break a rule of accessibility, and much like them pages that do not; written before the rules. */
const PAGES: Record<string, { bad: string[]; good: string[] }> = readJson('accessibility.json');

/** For each rule mails that trigger it, and mails much like them that do not; base64 where they are not UTF-8. */
type Source = string | { base64: string };
const SOURCES: Record<string, { bad: Source[]; good: Source[] }> = readJson('rules.json');
const toBytes = (source: Source): Buffer =>
  typeof source === 'string' ? Buffer.from(source) : Buffer.from(source.base64, 'base64');

const greetings = (times: number) => page(`<p>${'Hello, Ada. '.repeat(times)}`, 'Hello, Ada.');
type RuleCase = [rule: string, bad: Buffer[], good: Buffer[]];
const casesOf = <S>(all: Record<string, { bad: S[]; good: S[] }>, build: (source: S) => Buffer) =>
  Object.entries(all).map(([rule, { bad, good }]): RuleCase => [rule, bad.map(build), good.map(build)]);
const CASES: RuleCase[] = [
  ...casesOf(PAGES, (body) => page(body)),
  ...casesOf(SOURCES, toBytes),
  ['clipped-html', [greetings(9_000)], [greetings(8_000)]],
];

const rulesOf = (source: Buffer) => lintMail(source).findings.map(({ rule }) => rule);

describe('each rule', () => {
  it('has cases, and each case has a rule', () => {
    expect(CASES.map(([rule]) => rule).toSorted()).toEqual(RULES.map(([name]) => name).toSorted());
  });

  it.each(CASES)('%s finds what it is for, and only that', (rule, bad, good) => {
    for (const source of bad) expect(rulesOf(source), String(source)).toContain(rule);
    for (const source of good) expect(rulesOf(source), String(source)).not.toContain(rule);
  });

  it('has findings with a sentence, a severity and a reference', () => {
    const findings = CASES.flatMap(([, bad]) => bad.flatMap((source) => lintMail(source).findings));
    for (const { message, severity, reference } of findings) {
      expect(message).toMatch(/^["A-Z].*\S$/);
      expect(['error', 'warning', 'info']).toContain(severity);
      expect(reference).not.toBe('');
    }
  });
});

describe('any mail', () => {
  it('has the most severe findings first', () => {
    const { findings } = lintMail(crlf(['Content-Type: text/html', '', '<img src=a>']));
    const severities = findings.map(({ severity }) => ['error', 'warning', 'info'].indexOf(severity));
    expect(severities).toEqual(severities.toSorted());
    expect(new Set(severities).size).toBe(3);
  });

  it.skipIf(!existsSync(CORPORA))('every mail of the corpora is checked (skipped without them)', () => {
    const files = readdirSync(CORPORA, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^(?:cpython-test-email|cutiemail-torture|mime4j)\/.*\.(?:eml|msg|txt)$/.test(name),
    );
    expect(files.length).toBeGreaterThan(100);
    for (const file of files) {
      expect(Array.isArray(lintMail(readFileSync(`${CORPORA}/${file}`)).findings), file).toBe(true);
    }
  });
});
