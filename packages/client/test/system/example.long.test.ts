import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgramWith, reportAbsent } from '../../../server/test/support/find-program.ts';
import { startApp, TEST_KEY, type TestApp } from '../../../server/test/support/start-app.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../..');
const EXAMPLE = join(ROOT, 'examples/signup');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** How often each suite runs, one after the other. */
const IS_LONG = process.env.TEST_FORM === 'long';
const RUNS = IS_LONG ? 20 : 1;
/** Starting a Python process takes longer than its tests. */
const PYTEST_WORKERS = IS_LONG ? 10 : 3;

const hasChromium = existsSync(CHROMIUM);
if (!hasChromium) reportAbsent('Chromium', 'chromium');
const PYTHONS = [join(ROOT, 'node_modules/.cache/python-tests/bin/python'), 'python3', '/usr/bin/python3'];
const python = await findProgramWith(PYTHONS, ['-c', 'import pytest, xdist']);
if (!python) reportAbsent('pytest with pytest-xdist', 'python3-pytest python3-pytest-xdist');

describe(`the suites of examples/signup, ${RUNS} time(s) in a row`, () => {
  let app: TestApp;
  let application: ChildProcess;
  let env: Record<string, string | undefined>;
  beforeAll(async () => {
    app = await startApp();
    env = {
      ...process.env,
      CI: '',
      CHROMIUM,
      MAYFLY_URL: app.url,
      MAYFLY_API_KEY: TEST_KEY,
      SMTP_PORT: String(app.smtp.port),
      PORT: '0',
    };
    application = spawn(process.execPath, ['app.js'], {
      cwd: EXAMPLE,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await new Promise<string>((resolve) =>
      application.stdout?.once('data', (line) => resolve(String(line).trim())),
    );
    env = { ...env, PORT: new URL(url).port };
  });
  afterAll(async () => {
    application.kill();
    await app.stop();
  });

  it.skipIf(!hasChromium)(
    'pass with Playwright, four workers',
    async () => {
      const program = join(ROOT, 'node_modules/@playwright/test/cli.js');
      const output = join(process.env.TMPDIR ?? '/tmp', 'example');
      const args = [
        program,
        'test',
        '--workers',
        '4',
        '--retries',
        '0',
        '--reporter',
        'line',
        '--output',
        output,
      ];
      for (let i = 0; i < RUNS; i++) {
        const { stdout } = await run(process.execPath, args, { cwd: EXAMPLE, env }).catch((error) => error);
        // What the pages showed when a test failed.
        const pages = globSync('*/error-context.md', { cwd: output }).map((file) =>
          readFileSync(join(output, file), 'utf8'),
        );
        expect(stdout, pages.join('\n')).toMatch(/\n +4 passed/);
      }
    },
    600_000,
  );

  it.skipIf(!python)(
    'pass with pytest, each test in any of several workers',
    async () => {
      const settings = {
        ...env,
        PYTHONPATH: join(ROOT, 'python/src'),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
        PYTEST_PLUGINS: 'pytest_mayfly.plugin,xdist.plugin',
        PYTHONDONTWRITEBYTECODE: '1',
      };
      for (let i = 0; i < RUNS; i++) {
        const args = ['-m', 'pytest', '-q', '-n', String(PYTEST_WORKERS), '-p', 'no:cacheprovider', 'tests'];
        const { stdout } = await run(python ?? '', args, { cwd: EXAMPLE, env: settings }).catch(
          (error) => error,
        );
        expect(stdout).toMatch(/\b30 passed in/);
      }
      expect((await app.api('GET', '/v1/inboxes')).body.inboxes).toEqual([]);
    },
    600_000,
  );
});
