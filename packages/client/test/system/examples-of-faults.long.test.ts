import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgramWith, reportAbsent } from '../../../server/test/support/find-program.ts';
import { startApp, TEST_KEY, type TestApp } from '../../../server/test/support/start-app.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../../..');
const RETRIES = join(ROOT, 'examples/retries');
const AGENT = join(ROOT, 'examples/agent');
const PYTHONS = [join(ROOT, 'node_modules/.cache/python-tests/bin/python'), 'python3', '/usr/bin/python3'];
const python = await findProgramWith(PYTHONS, ['-c', 'import pytest']);
if (!python) reportAbsent('pytest', 'python3-pytest');

describe('the examples that use fault rules, lint, timelines and recordings', () => {
  let app: TestApp;
  let env: Record<string, string | undefined>;
  beforeAll(async () => {
    app = await startApp();
    const smtp = { SMTP_PORT: String(app.smtp.port), MAYFLY_SMTP: `${app.smtp.host}:${app.smtp.port}` };
    env = { ...process.env, CI: '', MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, ...smtp };
  });
  afterAll(() => app.stop());

  it('examples/retries passes with Playwright', async () => {
    const output = join(process.env.TMPDIR ?? '/tmp', 'retries');
    const program = join(ROOT, 'node_modules/@playwright/test/cli.js');
    const args = [program, 'test', '-c', RETRIES, '--reporter', 'line', '--output', output];
    const { stdout } = await run(process.execPath, args, { cwd: RETRIES, env }).catch((error) => error);
    expect(stdout).toMatch(/\n +3 passed/);
  });

  it.skipIf(!python).each([
    ['examples/retries', RETRIES, 5],
    ['examples/agent', AGENT, 5],
  ])('%s passes with pytest', async (_name, folder, tests) => {
    const settings = {
      ...env,
      PYTHONPATH: join(ROOT, 'python/src'),
      PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1',
      PYTEST_PLUGINS: 'pytest_mayfly.plugin',
      PYTHONDONTWRITEBYTECODE: '1',
    };
    const args = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '.'];
    const { stdout } = await run(python ?? '', args, { cwd: folder, env: settings }).catch((error) => error);
    expect(stdout).toMatch(new RegExp(`\\b${tests} passed in`));
  });

  it('the agent of examples/agent finds what there is to find, and leaves nothing behind', async () => {
    const { stdout } = await run(process.execPath, [join(AGENT, 'agent.js')], { env });
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(found).toMatchObject([
      { step: 'retries', code: '482913', faultsLeft: [0, 0] },
      { step: 'lint', findings: [] },
      {
        step: 'timeline',
        events: expect.arrayContaining(['date-header', 'connected', 'fault', 'committed']),
      },
      { step: 'replay', code: '482913', isNewInbox: true },
      {
        step: 'explanation',
        summary: expect.stringMatching(/^No message has arrived after this wait's since so far: /),
      },
    ]);
    expect((await app.api('GET', '/v1/inboxes')).body.inboxes).toEqual([]);
  });
});
