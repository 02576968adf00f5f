import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lintMail } from '../../../src/mail/lint/lint.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { JUDGEMENTS } from './judgements.ts';
import { REAL_WORLD } from './mails/index.ts';

const DOCUMENT = 'docs/internals/lint-judgements.md';

describe('mails modelled on current real ones', () => {
  it('are at least fifty, each by its own name', () => {
    expect(new Set(REAL_WORLD.map(([name]) => name)).size).toBe(REAL_WORLD.length);
    expect(REAL_WORLD.length).toBeGreaterThanOrEqual(50);
  });

  it.each(REAL_WORLD)('%s has only the findings that were judged right', (name, raw) => {
    expect(parseMail(raw).parseError).toBeNull();
    const judged = JUDGEMENTS.filter(({ mail }) => mail === name).map(({ rule }) => rule);
    expect(lintMail(raw).map(({ rule }) => rule)).toEqual(judged);
  });

  it('are named in the document with the judgements of their findings', () => {
    const text = readFileSync(DOCUMENT, 'utf8');
    for (const { mail, rule, why } of JUDGEMENTS)
      expect(text).toContain(`| ${mail} | \`${rule}\` | ${why} |`);
    for (const [name] of REAL_WORLD) expect(text).toContain(name);
  });
});
