import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { RULES } from '../../../src/mail/lint/rules.ts';

const CORPORA = '../shared/corpora';
const HEAD = [
  'Date: Sun, 22 Nov 2026 10:00:00 +0000',
  'From: Shop <shop@shop.example>',
  'To: ada@mayfly.test',
  'Subject: Hello',
  'Message-ID: <1@shop.example>',
  'MIME-Version: 1.0',
];
const mail = (lines: readonly string[], body = '', type = 'Content-Type: text/plain; charset=utf-8') =>
  Buffer.from([...lines, type, '', body, ''].join('\r\n'));
const without = (name: string) => HEAD.filter((line) => !line.startsWith(`${name}:`));
/** A well-made mail with this text and this HTML. */
const page = (html: string, text = 'Hello', head = HEAD) =>
  mail(
    head,
    [
      '--b',
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '--b',
      'Content-Type: text/html; charset=utf-8',
      '',
      html,
      '--b--',
    ].join('\r\n'),
    'Content-Type: multipart/alternative; boundary=b',
  );
const readJson = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));

/** Pages that break a rule of accessibility, and much like them pages that do not; written before the rules. */
const PAGES: Record<string, { bad: string[]; good: string[] }> = readJson('accessibility.json');

/** For each rule mails that trigger it, and mails much like them that do not; base64 where they are not UTF-8. */
type Source = string | { base64: string };
const SOURCES: Record<string, { bad: Source[]; good: Source[] }> = readJson('rules.json');
const toBytes = (source: Source): Buffer =>
  typeof source === 'string' ? Buffer.from(source) : Buffer.from(source.base64, 'base64');

const CASES: Record<string, { bad: Buffer[]; good: Buffer[] }> = {
  ...Object.fromEntries(
    Object.entries(PAGES).map(([rule, { bad, good }]) => [
      rule,
      { bad: bad.map((html) => page(html)), good: good.map((html) => page(html)) },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(SOURCES).map(([rule, { bad, good }]) => [
      rule,
      { bad: bad.map(toBytes), good: good.map(toBytes) },
    ]),
  ),
  'clipped-html': {
    bad: [page(`<p>${'Hello, Ada. '.repeat(9_000)}`, 'Hello, Ada.')],
    good: [page(`<p>${'Hello, Ada. '.repeat(8_000)}`, 'Hello, Ada.')],
  },
};

const rulesOf = (source: Buffer) => lintMail(source).findings.map(({ rule }) => rule);

describe('each rule', () => {
  it('has cases, and each case has a rule', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(RULES.map(([name]) => name).toSorted());
  });

  it.each(Object.entries(CASES))('%s finds what it is for, and only that', (rule, { bad, good }) => {
    for (const source of bad) expect(rulesOf(source), String(source)).toContain(rule);
    for (const source of good) expect(rulesOf(source), String(source)).not.toContain(rule);
  });

  it('has findings with a sentence, a severity and a reference', () => {
    const findings = Object.values(CASES).flatMap(({ bad }) =>
      bad.flatMap((source) => lintMail(source).findings),
    );
    for (const { message, severity, reference } of findings) {
      expect(message).toMatch(/^["A-Z].*\S$/);
      expect(['error', 'warning', 'info']).toContain(severity);
      expect(reference).not.toBe('');
    }
  });
});

describe('any mail', () => {
  it('has the most severe findings first', () => {
    const severities = lintMail(mail(without('Date'), '<img src=a>', 'Content-Type: text/html')).findings.map(
      ({ severity }) => severity,
    );
    expect(severities).toEqual(
      severities.toSorted(
        (a, b) => ['error', 'warning', 'info'].indexOf(a) - ['error', 'warning', 'info'].indexOf(b),
      ),
    );
    expect(severities.length).toBeGreaterThan(3);
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
