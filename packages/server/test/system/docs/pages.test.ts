import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEM_CODES } from '@mayfly/client/contract';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/http/response/problems.ts';
import { ROOT } from './code-blocks.ts';

/** Folders that paths in the docs are relative to. */
const BASES = ['', 'packages/server/src', 'packages/server', 'packages'];
const PAGES = ['CONTRIBUTING.md', ...globSync('docs/internals/*.md', { cwd: ROOT })];

const fileOf = (path: string): string | undefined =>
  BASES.map((base) => join(ROOT, base, path)).find((file) => existsSync(file));

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  it('names files that exist', () => {
    const paths = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|js))`/g)].map(([, path = '']) => path);
    expect([...new Set(paths)].filter((path) => fileOf(path) === undefined)).toEqual([]);
  });

  it('names constants that stand in the file beside them', () => {
    const named = [...text.matchAll(/`([A-Z][A-Z_]{3,})` \(`([\w./-]+\.ts)`\)/g)];
    const missing = named.filter(([, constant = '', path = '']) => {
      const file = fileOf(path);
      return file === undefined || !new RegExp(`\\b${constant}\\b`).test(readFileSync(file, 'utf8'));
    });
    expect(missing.map(([text]) => text)).toEqual([]);
  });
});

const errors = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
const rows = [...errors.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.+) \| (.+) \|$/gm)];

describe('the table of docs/errors.md', () => {
  it('contains every code of problem documents once, ordered by status', () => {
    const listed = rows.map(([, status, code]) => `${status} ${code}`);
    const expected = PROBLEM_CODES.map((code) => `${statusOf(code)} ${code}`);
    expect(listed).toEqual(expected.toSorted());
  });

  it('explains in full sentences when each code occurs and what to do', () => {
    for (const [, , code, when, what] of rows) {
      for (const text of [when, what])
        expect([code, text]).toEqual([code, expect.stringMatching(/^[A-Z`].*\.$/)]);
    }
  });
});
