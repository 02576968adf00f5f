import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgramWith, reportAbsent } from '../../../server/test/support/find-program.ts';
import { startApp, type TestApp } from '../../../server/test/support/start-app.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../..');
const FOLDER = join(ROOT, 'python');
/** First what .ci/python-tests installed. */
const PYTHONS = [join(ROOT, 'node_modules/.cache/python-tests/bin/python'), 'python3', '/usr/bin/python3'];

const python = await findProgramWith(PYTHONS, ['-c', 'import pytest, xdist']);
if (!python) reportAbsent('pytest with pytest-xdist', 'python3-pytest python3-pytest-xdist');
const typed = await findProgramWith(PYTHONS, ['-c', 'import mypy, pytest']);
if (!typed) process.stderr.write('Skipped: mypy is not installed (.ci/python-tests installs it).\n');

describe('pytest-mayfly', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ MAYFLY_DEV_KEY: 'on' });
  });
  afterAll(() => app.stop());

  it.skipIf(!python)('passes its tests in four processes of pytest-xdist', async () => {
    const { stdout } = await run(python ?? '', ['-m', 'pytest', '-q', '-n', '4', '-p', 'no:cacheprovider'], {
      cwd: FOLDER,
      env: {
        ...process.env,
        // Not installed: what its entry point does, by hand.
        PYTHONPATH: join(FOLDER, 'src'),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
        PYTEST_PLUGINS: 'pytest_mayfly.plugin,xdist.plugin',
        PYTHONDONTWRITEBYTECODE: '1',
        MAYFLY_URL: app.url,
        // Without a key: the server is on this machine.
        MAYFLY_API_KEY: '',
        MAYFLY_SMTP: `${app.smtp.host}:${app.smtp.port}`,
      },
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/\b\d+ passed in/);
    expect(stdout).not.toMatch(/failed|error/i);
    // All inboxes of the run were deleted at its end.
    expect((await app.api('GET', '/v1/inboxes')).body.inboxes).toEqual([]);
  });

  it.skipIf(!typed)('is typed without a gap (mypy --strict)', async () => {
    const { stdout } = await run(typed ?? '', ['-m', 'mypy', '--cache-dir', '/dev/null'], {
      cwd: FOLDER,
    }).catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/^Success/);
  });
});
