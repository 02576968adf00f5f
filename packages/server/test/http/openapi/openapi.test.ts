import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { COMMITTED, openapiDocument } from '../../../../../scripts/openapi/document.ts';

const root = new URL('../../../../../', import.meta.url);
const committed = readFileSync(COMMITTED, 'utf8');
interface Described {
  operationId: string;
  parameters?: object[];
  responses: Record<string, object>;
}

/** A client's program and a person's editor load it whole. */
const MAX_BYTES = 320_000;

describe('the OpenAPI document', () => {
  it('is committed as the code makes it (else: npm run openapi)', async () => {
    expect(JSON.parse(committed)).toEqual(JSON.parse(JSON.stringify(await openapiDocument())));
  });

  it('says nothing twice, so that it stays small', () => {
    expect(Buffer.byteLength(committed)).toBeLessThan(MAX_BYTES);
    const { paths } = JSON.parse(committed);
    const inline: string[] = [];
    const operations = Object.values<Record<string, Described>>(paths).flatMap(Object.values<Described>);
    for (const { operationId, parameters = [], responses } of operations) {
      for (const [status, response] of Object.entries(responses))
        if (Number(status) >= 400 && !('$ref' in response)) inline.push(`${operationId} ${status}`);
      for (const parameter of parameters) if (!('$ref' in parameter)) inline.push(JSON.stringify(parameter));
    }
    expect(inline.filter((one, index) => inline.indexOf(one) < index || /^\w+ \d+$/.test(one))).toEqual([]);
  });

  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(JSON.parse(committed));
    expect(result).toMatchObject({ valid: true });
  });

  it('passes the linter without a warning', () => {
    const redocly = fileURLToPath(new URL('node_modules/@redocly/cli/bin/cli.js', root));
    const lint = spawnSync(process.execPath, [redocly, 'lint', '--format=json', COMMITTED], {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect(JSON.parse(lint.stdout).totals).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('describes every operation, parameter, field and answer', () => {
    const missing: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const node = value as Record<string, unknown>;
      const wanted =
        /^\/paths\/.*\/parameters\/\d+$|^\/components\/parameters\/\w+$|\/responses\/\w+$|\/components\/schemas\/\w+(?:(?:\/allOf\/1)?\/properties\/\w+)?$/;
      if (wanted.test(path) && !node.description && !node.$ref) missing.push(path);
      for (const [key, child] of Object.entries(node)) walk(child, `${path}/${key}`);
    };
    const document = JSON.parse(committed);
    walk(document, '');
    for (const methods of Object.values<Record<string, Record<string, unknown>>>(document.paths)) {
      for (const operation of Object.values(methods)) {
        for (const field of ['operationId', 'summary', 'description', 'tags', 'security']) {
          expect(operation[field], `${operation.operationId} ${field}`).toBeTruthy();
        }
      }
    }
    expect(missing).toEqual([]);
  });
});
