import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openapiDocument } from '../../../src/http/openapi/document.ts';

const root = new URL('../../../../../', import.meta.url);
const committed = new URL('openapi.json', root);

describe('the OpenAPI document', () => {
  it('is committed as the code makes it (else: npm run openapi)', async () => {
    expect(JSON.parse(readFileSync(committed, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(await openapiDocument())),
    );
  });

  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(await openapiDocument())));
    expect(result).toMatchObject({ valid: true });
  });

  it('passes the linter without a warning', () => {
    const redocly = fileURLToPath(new URL('node_modules/@redocly/cli/bin/cli.js', root));
    const lint = spawnSync(process.execPath, [redocly, 'lint', '--format=json', fileURLToPath(committed)], {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect(JSON.parse(lint.stdout).totals).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('describes every operation, parameter, field and answer', async () => {
    const missing: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const node = value as Record<string, unknown>;
      const wanted =
        /\/parameters\/\d+$|\/responses\/\d+$|\/components\/schemas\/\w+$|\/components\/schemas\/\w+\/properties\/\w+$/;
      if (wanted.test(path) && !node.description && !node.$ref) missing.push(path);
      for (const [key, child] of Object.entries(node)) walk(child, `${path}/${key}`);
    };
    const document = JSON.parse(JSON.stringify(await openapiDocument()));
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
