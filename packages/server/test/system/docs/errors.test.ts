import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROBLEM_CODES } from '@mayfly/client/contract';
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/http/response/problems.ts';
import { ROOT } from './code-blocks.ts';

const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');
const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.+) \| (.+) \|$/gm)];

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
