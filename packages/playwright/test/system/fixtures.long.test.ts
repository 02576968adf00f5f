import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../../server/test/support/start-app.ts';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const ROOT = join(import.meta.dirname, '../../../..');
/** MAYFLY_KEEP_REPORT=folder keeps the report, to look at it. */
const OUTPUT = process.env.MAYFLY_KEEP_REPORT ?? mkdtempSync(join(tmpdir(), 'mayfly-playwright-'));

interface Result {
  status: string;
  error?: { message: string; snippet?: string };
  errors: Array<{ location?: { file: string; line: number } }>;
  attachments: Array<{ name: string; contentType: string; body?: string; path?: string }>;
  annotations: Array<{ type: string; description?: string }>;
  steps?: Array<{ title: string }>;
}

/** A file, or a `test.describe`. */
interface Suite {
  specs?: Array<{ title: string; tests: Array<{ results: Result[] }> }>;
  suites?: Suite[];
}

const hasChromium = existsSync(CHROMIUM);
describe.skipIf(!hasChromium)(
  `the fixtures, in Playwright's own runner with four workers${hasChromium ? '' : ` (skipped: there is no ${CHROMIUM}; on Debian: apt-get install chromium)`}`,
  () => {
    let app: TestApp;
    const results = new Map<string, Result>();
    beforeAll(async () => {
      app = await startApp();
      const env = {
        ...process.env,
        OUTPUT,
        CHROMIUM,
        MAYFLY_URL: app.url,
        MAYFLY_API_KEY: TEST_KEY,
        SMTP_PORT: String(app.smtp.port),
      };
      const config = join(import.meta.dirname, 'project/playwright.config.ts');
      const program = join(ROOT, 'node_modules/@playwright/test/cli.js');
      await new Promise<void>((resolve) => {
        // One test fails on purpose, so the exit code is 1.
        execFile(process.execPath, [program, 'test', '-c', config], { env, cwd: ROOT }, () => resolve());
      });
      const report = JSON.parse(readFileSync(join(OUTPUT, 'report.json'), 'utf8'));
      expect(report.errors).toEqual([]);
      const read = ({ specs = [], suites = [] }: Suite): void => {
        for (const { title, tests } of specs) {
          const result = tests[0]?.results[0];
          if (result) results.set(title, result);
        }
        suites.forEach(read);
      };
      report.suites.forEach(read);
    });
    afterAll(async () => {
      await app.stop();
      if (!process.env.MAYFLY_KEEP_REPORT) rmSync(OUTPUT, { recursive: true, force: true });
    });

    it('pass every test but the one that fails on purpose', () => {
      const wrong = [...results].filter(
        ([title, { status }]) => (status === 'passed') === title.startsWith('a customer'),
      );
      expect(wrong).toEqual([]);
      expect(results.size).toBe(17);
    });

    it('show the explanation of a failed wait before the time of the test is over, at the line of the test', () => {
      const failed = results.get('a customer resets the password');
      expect(failed?.status).toBe('failed');
      expect(failed?.error?.message).toMatch(
        /1 message arrived.*\n +Waited [\d.]+ s for a mail with subject "password" and link kind "reset" to \S+@mayfly\.test\. The limit of the test cut it from 30 s/,
      );
      expect(failed?.error?.message).toMatch(/subject is "Welcome to Shop"/);
      expect(failed?.errors[0]?.location?.file).toMatch(/failing\.spec\.ts$/);
    });

    it('report a wait without await for its own test, and no wait that another one overtook', () => {
      const failed = results.get('a customer is forgotten by a wait without await');
      expect(failed?.error?.message).toMatch(
        /The test ended while it waited for mail to \S+@mayfly\.test\. Write "await" in front of the wait/,
      );
      expect(results.get('a wait that lost a race does not fail the test')?.status).toBe('passed');
    });

    it('attach the mails of the failed test, without scripts that would run', () => {
      const failed = results.get('a customer resets the password');
      expect(failed?.attachments.map(({ name }) => name.replace(/of .*/, 'of …'))).toEqual([
        'mail.txt of …',
        'Welcome to Shop (HTML)',
        'Welcome to Shop.eml',
        // Playwright's own.
        'error-context',
      ]);
      const bodies = failed?.attachments.map(({ body = '' }) => Buffer.from(body, 'base64').toString());
      expect(bodies?.[0]).toContain('code 482913');
      expect(bodies?.[1]).toMatch(/^<meta http-equiv="Content-Security-Policy" content="default-src 'none'/);
      expect(bodies?.[2]).toContain('Subject: Welcome to Shop');
    });

    it('leave the inbox of the failed test and delete the others', async () => {
      const { body } = await app.api('GET', '/v1/inboxes');
      expect(body.inboxes.map(({ labels }: { labels: { title: string } }) => labels.title)).toEqual([
        'a customer resets the password',
      ]);
    });
  },
);
