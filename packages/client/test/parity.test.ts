import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { apiPage, COMMAND_OF, clientPage } from '../../../scripts/docs/api.ts';
import { referencePage } from '../../../scripts/docs/reference.ts';
import { ROOT } from '../scripts/generate-api.ts';
import { COMMANDS } from '../src/cli/commands.ts';

const read = (path: string) => readFileSync(`${ROOT}${path}`, 'utf8');

it('docs/client.md shows how each client makes every operation of the API; `npm run openapi` writes the table', () => {
  expect(read('docs/client.md')).toBe(clientPage());
  expect(Object.keys(COMMANDS)).toEqual(expect.arrayContaining(Object.values(COMMAND_OF)));
});

it('docs/api.md describes every operation of openapi.json; `npm run openapi` writes it', () => {
  expect(read('docs/api.md')).toBe(apiPage());
});

it('the reference page describes every operation of openapi.json; `npm run openapi` writes it', () => {
  expect(read('packages/server/reference/index.html')).toBe(referencePage());
});
