import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../../../server/test/support/start-app.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const OUTPUT = mkdtempSync(join(tmpdir(), 'mayfly-vitest-'));

interface Result {
  title: string;
  status: string;
  duration: number;
  failureMessages: string[];
}

describe("the fixtures, in Vitest's own runner", () => {
  let app: TestApp;
  let results: Result[];
  let stdout: string;
  beforeAll(async () => {
    app = await startApp({ MAYFLY_DEV_KEY: 'on' });
    const report = join(OUTPUT, 'report.json');
    const env = { ...process.env, MAYFLY_URL: app.url, SMTP_PORT: String(app.smtp.port), NO_COLOR: '1' };
    const args = ['run', '--root', join(import.meta.dirname, 'project'), '--reporter', 'default'];
    const program = join(ROOT, 'node_modules/vitest/vitest.mjs');
    stdout = await new Promise((resolve) => {
      const json = ['--reporter', 'json', '--outputFile', report];
      // Tests fail on purpose, so the exit code is 1.
      execFile(process.execPath, [program, ...args, ...json], { env }, (_error, out, err) =>
        resolve(out + err),
      );
    });
    results = JSON.parse(readFileSync(report, 'utf8')).testResults[0].assertionResults;
  });
  afterAll(async () => {
    await app.stop();
    rmSync(OUTPUT, { recursive: true, force: true });
  });
  const failureOf = (title: string) => results.find((one) => one.title === title)?.failureMessages.join('\n');

  it('pass what passes, also at the same time, and fail what fails', () => {
    expect(results.map(({ title, status }) => [title, status])).toEqual([
      ['gets an inbox of its own, 1', 'passed'],
      ['gets an inbox of its own, 2', 'passed'],
      ['gets an inbox of its own, 3', 'passed'],
      ['gets more inboxes', 'passed'],
      ['a mail that is like its snapshot', 'passed'],
      ['of a mail that does not come', 'failed'],
      ['of a silence that does not fit', 'failed'],
      ['of a wait beside an application that hangs', 'failed'],
    ]);
  });

  it('end a wait before the test, which then says why', () => {
    expect(failureOf('of a mail that does not come')).toMatch(
      /1 message arrived.*\n {2}Waited [\d.]+ s for a mail with subject "reset" and a link to \S+@mayfly\.test\. The limit of the test cut it from 30 s, because the test had only [\d.]+ s left\. Give the test more with its option "timeout"/,
    );
    expect(failureOf('of a silence that does not fit')).toMatch(
      /A silence of 60 s cannot be awaited, only [\d.]+ s\./,
    );
  });

  it('say why also where the test itself would have hung', () => {
    expect(failureOf('of a wait beside an application that hangs')).toMatch(
      /No message arrived.*\n {2}Waited /,
    );
    expect(stdout).not.toMatch(/Unhandled|did not exit|hanging/i);
  });

  it('leave the inboxes of failed tests, say where they are, and delete the others', async () => {
    const { inboxes } = (await app.api('GET', '/v1/inboxes')).body as {
      inboxes: Array<{ address: string; labels: { test: string } }>;
    };
    expect(inboxes.map(({ labels }) => labels.test).sort()).toEqual([
      'of a mail that does not come',
      'of a silence that does not fit',
      'of a wait beside an application that hangs',
    ]);
    for (const { address } of inboxes) expect(stdout).toContain(`${address}: ${app.url}/console/inboxes/`);
  });

  it('write a snapshot of a mail, show how a mail differs in words, and write it anew with -u', async () => {
    const folder = join(import.meta.dirname, 'project/__snapshots__/waits.test.ts');
    const file = join(folder, 'of-a-run.mail.txt');
    const run = (words: string, ...more: string[]) =>
      new Promise<{ code: unknown; out: string }>((resolve) => {
        const args = [
          'run',
          '--root',
          join(import.meta.dirname, 'project'),
          '-t',
          'like its snapshot',
          ...more,
        ];
        const own = { MAYFLY_URL: app.url, SMTP_PORT: String(app.smtp.port), NO_COLOR: '1' };
        const env = { ...process.env, ...own, MAIL_WORDS: words, MAIL_SNAPSHOT: 'of-a-run' };
        execFile(
          process.execPath,
          [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args],
          { env },
          (error, out, err) => resolve({ code: error?.code ?? 0, out: out + err }),
        );
      });
    try {
      expect(await run('Your code is', '--update=new')).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).toContain('  Hello {first},\n\n  Your code is {code}.\n');
      expect((await run('The code is', '--update=none')).out).toMatch(
        /The mail differs from .*of-a-run\.mail\.txt:\s+Text:\s+\[-Your-\]\{\+The\+\} code is \{code\}\./,
      );
      expect(await run('The code is', '-u')).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).toContain('  The code is {code}.\n');
    } finally {
      rmSync(file, { force: true });
    }
  });
});
