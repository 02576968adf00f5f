import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../../', import.meta.url));
/** Where `.ci/openapi-generators` installs them. */
const generators = join(root, 'node_modules/.cache/openapi-generators');
const typescript = join(generators, 'typescript/node_modules');
const python = join(generators, 'python/bin');
const hasTypescript = existsSync(join(typescript, '.bin/openapi-typescript'));
const hasPython = existsSync(join(python, 'openapi-python-client'));
const absent = [
  ...(hasTypescript ? [] : ['openapi-typescript']),
  ...(hasPython ? [] : ['openapi-python-client']),
];
if (absent.length > 0) {
  process.stderr.write(`Skipped: ${absent.join(' and ')} not installed (run .ci/openapi-generators).\n`);
}

/** What each program prints when all went well. */
const expected = {
  subject: 'Please confirm your address',
  code: '482913',
  attachment: [0, 255, 128, 10, 13],
  listed: [true],
  removed: 1,
  deleted: 204,
  gone: 'not_found',
};

/** It knows neither type, and sends injected messages and archives as the other types that the operations take. */
const OTHER_MEDIA_TYPES =
  /WARNING parsing POST \/v1\/inboxes\/(?:\{id\}\/messages within messages\.\s+Unsupported content type message\/rfc822|import within inboxes\.\s+Unsupported content type application\/zip)/g;

describe('a client generated from openapi.json creates, waits, reads, fetches bytes and deletes:', () => {
  let app: TestApp;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    folder = mkdtempSync(join(tmpdir(), 'mayfly-clients-'));
    const { body } = await app.api('GET', '/openapi.json', { as: null });
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(body));
  });
  afterAll(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a program of a user with the address and the key; reads the JSON that it prints. */
  async function outputOf(program: string, ...args: string[]): Promise<{ rawSize: number[] }> {
    const { host, port } = app.smtp;
    const all = [...args, app.url, TEST_KEY, host, String(port)];
    const { stdout } = await run(program, all, { cwd: folder, env: { ...process.env, PYTHONPATH: folder } });
    return JSON.parse(stdout);
  }
  function expectAll({ rawSize, ...output }: { rawSize: number[] }): void {
    expect(output).toEqual(expected);
    const [fetched, stated] = rawSize;
    expect(fetched).toBe(stated);
  }

  it.skipIf(!hasTypescript)('openapi-typescript with openapi-fetch, type-checked', async () => {
    const inFolder = { cwd: folder };
    symlinkSync(typescript, join(folder, 'node_modules'));
    copyFileSync(join(root, 'docs/examples/generated-client.ts'), join(folder, 'program.ts'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    await run(join(typescript, '.bin/openapi-typescript'), ['openapi.json', '-o', 'schema.d.ts'], inFolder);
    const strict = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
    const tsc = [...strict, ...types, '--allowImportingTsExtensions', 'program.ts'];
    await run(join(typescript, '.bin/tsc'), tsc, inFolder).catch(({ stdout }) => expect.fail(stdout));
    expectAll(await outputOf(process.execPath, 'program.ts'));
  });

  it.skipIf(!hasPython)('openapi-python-client, without a warning about the document', async () => {
    const output = join(folder, 'mayfly_client');
    const args = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', output];
    const { stdout, stderr } = await run(join(python, 'openapi-python-client'), args, { cwd: folder });
    const told = `${stdout}${stderr}`.replace(OTHER_MEDIA_TYPES, '');
    expect(told).not.toMatch(/WARNING parsing|Cannot parse|Unable to/);
    expect(existsSync(join(output, 'api/messages/inject_message.py'))).toBe(true);
    copyFileSync(join(root, 'docs/examples/generated_client.py'), join(folder, 'program.py'));
    expectAll(await outputOf(join(python, 'python3'), 'program.py'));
  });
});
