import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { appOfTest, TEST_KEY } from '../support/start-app.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples');

it.each(['tickets', 'bounces'])('the suite of examples/%s passes', async (example) => {
  const app = await appOfTest({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' });
  const env = {
    ...{ ...process.env, MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, NODE_OPTIONS: '' },
    RESEND_BASE_URL: `${app.url}/providers/resend`,
    SENDGRID_URL: `${app.url}/providers/sendgrid/`,
  };
  const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap'], {
    ...{ cwd: join(EXAMPLES, example), env },
  });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(/^# pass [1-9]/m);
  expect(stdout).toMatch(/^# fail 0$/m);
});
