import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { apiPage, document, PYTHON, TYPESCRIPT } from '../../../scripts/docs/api.ts';
import { referencePage } from '../../../scripts/docs/reference.ts';
import { ROOT } from '../scripts/generate-api.ts';
import { COMMANDS } from '../src/cli/commands.ts';

/** The command of `mf` for each operation; `call` makes those that scripts rarely need. */
const COMMAND_OF: Record<string, string> = {
  'POST /v1/inboxes': 'new',
  'GET /v1/inboxes': 'list',
  'DELETE /v1/inboxes': 'rm',
  'GET /v1/inboxes/{id}': 'open',
  'DELETE /v1/inboxes/{id}': 'rm',
  'GET /v1/inboxes/{id}/messages': 'list',
  'GET /v1/inboxes/{id}/messages/{messageId}': 'read',
  'GET /v1/inboxes/{id}/messages/{messageId}/raw': 'save',
  'GET /v1/inboxes/{id}/messages/{messageId}/lint': 'lint',
  'GET /v1/inboxes/{id}/messages/{messageId}/timeline': 'timeline',
  'POST /v1/inboxes/{id}/wait': 'code',
  'GET /v1/inboxes/{id}/events': 'tail',
  'GET /v1/events': 'tail',
  'PUT /v1/inboxes/{id}/faults': 'faults',
  'GET /v1/inboxes/{id}/faults': 'faults',
  'GET /v1/reports/runs': 'report',
  'POST /v1/inboxes/{id}/messages/{messageId}/reply': 'reply',
};

const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8');

/** The method of a call, as a cell. */
const methodOf = (call: string | undefined): string =>
  call === undefined ? '–' : `\`${call.replace(/\(.*/s, '')}()\``;

/** One row for each operation: how each client makes it. */
function table(): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const rows = operations.map((operation) => {
    const command = COMMAND_OF[operation] ?? 'call';
    expect(Object.keys(COMMANDS)).toContain(command);
    const cells = [methodOf(TYPESCRIPT.get(operation)), methodOf(PYTHON.get(operation)), `\`mf ${command}\``];
    return `| \`${operation}\` | ${cells.join(' | ')} |`;
  });
  return ['| operation | TypeScript | Python | `mf` |', '|---|---|---|---|', ...rows].join('\n');
}

it('docs/client.md shows how each client makes every operation of the API', () => {
  // Only the table: put what this expects into the page.
  const [shown] = /^\| operation \| TypeScript .*(?:\n\|.*)*/m.exec(read('docs/client.md')) ?? [];
  expect(shown).toBe(table());
});

it('docs/api.md describes every operation of openapi.json; `npm run openapi` writes it', () => {
  expect(read('docs/api.md')).toBe(apiPage());
});

it('the reference page describes every operation of openapi.json; `npm run openapi` writes it', () => {
  expect(read('packages/server/reference/index.html')).toBe(referencePage());
});
