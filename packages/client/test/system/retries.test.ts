import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgramWith, reportAbsent } from '../../../server/test/support/find-program.ts';
import { startApp, TEST_KEY, type TestApp } from '../../../server/test/support/start-app.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../..');
const EXAMPLE = join(ROOT, 'examples/retries');
const PYTHONS = [join(ROOT, 'node_modules/.cache/python-tests/bin/python'), 'python3', '/usr/bin/python3'];
const python = await findProgramWith(PYTHONS, ['-c', 'import pytest']);
if (!python) reportAbsent('pytest', 'python3-pytest');

describe('the suites of examples/retries, which use fault rules', () => {
  let app: TestApp;
  let env: Record<string, string | undefined>;
  beforeAll(async () => {
    app = await startApp();
    const smtp = { SMTP_PORT: String(app.smtp.port), MAYFLY_SMTP: `${app.smtp.host}:${app.smtp.port}` };
    env = { ...process.env, CI: '', MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, ...smtp };
  });
  afterAll(() => app.stop());

  it('pass with Playwright', async () => {
    const output = join(process.env.TMPDIR ?? '/tmp', 'retries');
    const program = join(ROOT, 'node_modules/@playwright/test/cli.js');
    const args = [program, 'test', '-c', EXAMPLE, '--reporter', 'line', '--output', output];
    const { stdout } = await run(process.execPath, args, { cwd: EXAMPLE, env }).catch((error) => error);
    expect(stdout).toMatch(/\n +3 passed/);
  });

  it.skipIf(!python)('pass with pytest', async () => {
    const settings = {
      ...env,
      PYTHONPATH: join(ROOT, 'python/src'),
      PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
      PYTEST_PLUGINS: 'pytest_mayfly.plugin',
      PYTHONDONTWRITEBYTECODE: '1',
    };
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '.'];
    const { stdout } = await run(python ?? '', args, { cwd: EXAMPLE, env: settings }).catch((error) => error);
    expect(stdout).toMatch(/\b5 passed in/);
  });
});
