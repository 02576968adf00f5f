/*
 * The packages in test runners: Playwright with a `webServer` that starts Mayfly, @mayfly/vitest in two versions of
 * Vitest, and @mayfly/client alone in Jest and node:test, whose limit it cannot know. No runner may find an open handle.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODES, nodeOf } from './try-client.ts';
import {
  bin,
  freePort,
  project,
  run,
  say,
  serverProject,
  startServer,
  type Tarballs,
  withNode,
} from './try-tools.ts';

const PLAYWRIGHT = '@playwright/test@1.65.1';
/** The oldest that the package takes, and the newest, with the Node.js that they need. */
const VITESTS = { '3.2.4': 20, '5.1.0': 24 } as const;
const JEST = 'jest@30.2.0';
/** A runner that waits for an open handle would wait for ever. */
const LIMIT_MS = 120_000;

const MAIL = "'Subject: Code\\r\\n\\r\\nYour code is 482913.'";
/** Two tests for a runner with a global `expectEqual(actual, wanted)`. */
const TESTS = `
const mayfly = new Mayfly();
test('receives a code', async () => {
  const inbox = await mayfly.createInbox({ ttlMinutes: 5 });
  await inbox.inject(${MAIL});
  expectEqual(await inbox.waitForCode(), '482913');
  await inbox.delete();
});
test('a wait in vain ends before the test does', async () => {
  const inbox = await mayfly.createInbox({ ttlMinutes: 5 });
  const error = await inbox.waitForCode().catch((caught) => caught);
  expectEqual(/^No message arrived.*\\n  Waited 4 s .*default under RUNNER/.test(error.message), true);
});
`;

const PLAYWRIGHT_CONFIG = `
import { defineConfig } from '@playwright/test';
import type { MayflyOptions } from '@mayfly/playwright';
export default defineConfig<MayflyOptions>({
  reporter: [['json', { outputFile: 'report.json' }]],
  use: { mayflyUrl: 'http://127.0.0.1:<port>', mayflyLabels: { suite: 'try' } },
  webServer: {
    command: 'npx mayfly dev',
    url: 'http://127.0.0.1:<port>/readyz',
    env: { MAYFLY_HTTP_PORT: '<port>', MAYFLY_SMTP_PORT: '0', MAYFLY_METRICS_PORT: '0' },
    reuseExistingServer: !process.env.CI,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 10_000 },
  },
});
`;
const PLAYWRIGHT_SPEC = `
import { expect, test } from '@mayfly/playwright';
test.describe('in a block', () => {
  test.use({ mayflyTtlMinutes: 3, mayflyKeep: 'never' });
  test('receives a code', async ({ inbox, mayfly }) => {
    expect([inbox.data.ttlMinutes, inbox.labels.suite]).toEqual([3, 'try']);
    await inbox.inject(${MAIL});
    expect(await inbox.waitForCode()).toBe('482913');
    expect((await mayfly.inboxes({ address: inbox.address }))[0]?.id).toBe(inbox.id);
  });
});
test('fails in its own line', async ({ inbox }) => {
  test.setTimeout(8_000);
  await inbox.waitForLink({ kind: 'reset' });
});
test('fails in its own line without a step', async ({ mayfly }) => {
  await mayfly.getInbox('inb_none');
});
export const types = ({ inbox }: { inbox: import('@mayfly/playwright').TestInbox }) => inbox.waitForCode({ timeout: 1 });
// @ts-expect-error It is hidden.
test('sees no fixture of the package', async ({ _mayflyTestStart }) => {});
`;

interface PlaywrightReport {
  suites: Array<{ specs: PlaywrightSpec[]; suites?: Array<{ specs: PlaywrightSpec[] }> }>;
}
interface PlaywrightSpec {
  title: string;
  ok: boolean;
  tests: Array<{ results: Array<{ error?: { message: string; stack: string } }> }>;
}

const strict = (cwd: string, files: string[], types: string) => {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2022,dom'];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', types];
  run(bin('tsc'), [...options, ...modules, ...files], cwd);
};

/** Runs a program that may fail. @returns all that it printed; ends when it leaves something open */
function runAnyway(program: string, args: string[], cwd: string, node: string, env = {}) {
  const options = { cwd, encoding: 'utf8', timeout: LIMIT_MS, env: withNode(node, env) } as const;
  const { stdout, stderr, status, error } = spawnSync(program, args, options);
  if (error) throw new Error(`${program} ${args.join(' ')} did not end: ${stdout}${stderr}`);
  return { printed: stdout + stderr, status };
}

async function tryPlaywright(tarballs: Tarballs): Promise<void> {
  const ours = ['client', 'mayfly', 'playwright'].map((name) => tarballs.get(name) ?? '');
  const { cwd } = project('playwright-web-server', [...ours, PLAYWRIGHT, '@types/node@24.19.2']);
  const port = String(await freePort());
  writeFileSync(join(cwd, 'playwright.config.ts'), PLAYWRIGHT_CONFIG.replaceAll('<port>', port));
  writeFileSync(join(cwd, 'mail.spec.ts'), PLAYWRIGHT_SPEC);
  strict(cwd, ['playwright.config.ts', 'mail.spec.ts'], 'node');
  // Only the types of the last one are of interest.
  writeFileSync(join(cwd, 'mail.spec.ts'), PLAYWRIGHT_SPEC.replace(/\/\/ @ts-expect-error[\s\S]*/, ''));
  const { printed } = runAnyway('npx', ['playwright', 'test'], cwd, process.execPath, { CI: '1' });
  const report: PlaywrightReport = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8'));
  const specs = report.suites
    .flatMap((suite) => [suite, ...(suite.suites ?? [])])
    .flatMap(({ specs }) => specs);
  for (const { title, ok, tests } of specs) {
    const { message = '', stack = '' } = tests[0]?.results[0]?.error ?? {};
    const isRight = title.startsWith('fails')
      ? !ok && /No message arrived|No inbox with the id/.test(message) && /mail\.spec\.ts:\d+/.test(stack)
      : ok;
    if (!isRight || /node_modules.@mayfly/.test(stack))
      throw new Error(`${title}: ${message}\n${stack}\n${printed}`);
  }
  if (specs.length !== 3) throw new Error(printed);
  say('@mayfly/playwright: options, a webServer that starts Mayfly, failures in the lines of the tests');
}

/** @param url of a running server */
function tryVitest(tarballs: Tarballs, url: string): void {
  for (const [version, major] of Object.entries(VITESTS)) {
    const node = nodeOf(String(major));
    const ours = ['client', 'vitest'].map((name) => tarballs.get(name) ?? '');
    const { cwd, ms } = project(`vitest-${version}`, [...ours, `vitest@${version}`], node);
    writeFileSync(
      join(cwd, 'mail.test.ts'),
      `import { expect, test } from '@mayfly/vitest';
test('receives a code', async ({ inbox }) => {
  await inbox.inject(${MAIL});
  expect(await inbox.waitForCode()).toBe('482913');
});
test('fails', { timeout: 8_000 }, async ({ inbox }) => {
  await inbox.waitForLink({ kind: 'reset' });
});
`,
    );
    strict(cwd, ['mail.test.ts'], 'vitest');
    const { printed } = runAnyway('npx', ['vitest', 'run'], cwd, node, { MAYFLY_URL: url, NO_COLOR: '1' });
    const isRight =
      /1 failed \| 1 passed/.test(printed) &&
      /No message arrived.*\n +Waited [\d.]+ s.*The limit of the test cut it from 30 s/.test(printed) &&
      /mail\.test\.ts:7:\d+/.test(printed);
    // A line with more than a place is that of the annotation.
    if (!isRight || /❯.*node_modules.@mayfly\S+$/m.test(printed)) throw new Error(printed);
    say(`@mayfly/vitest: install ${ms} ms; a test passes and one fails as it should in Vitest ${version}`);
  }
}

const JEST_CONTRACT = `
const { Mayfly } = require('@mayfly/client');
expect.extend(require('@mayfly/client/expect').matchers);
test('has matchers for inboxes and mails', async () => {
  const inbox = await new Mayfly().createInbox({ ttlMinutes: 5 });
  await inbox.inject('Subject: Code\\r\\n\\r\\nYour code is ' + (100000 + Math.floor(Math.random() * 900000)) + '.');
  await expect(inbox).toHaveReceivedExactly(1, { within: 100 });
  await expect(await inbox.waitForMessage()).toMatchMail('code');
  await inbox.delete();
});
`;

function tryJest(tarballs: Tarballs, url: string): void {
  const { cwd } = project('jest', [tarballs.get('client') ?? '', JEST]);
  const tests = TESTS.replace('RUNNER', 'Jest');
  writeFileSync(
    join(cwd, 'mail.test.js'),
    `const { Mayfly } = require('@mayfly/client');\nconst expectEqual = (a, b) => expect(a).toEqual(b);\n${tests}`,
  );
  writeFileSync(join(cwd, 'contract.test.js'), JEST_CONTRACT);
  for (const args of [['--detectOpenHandles'], ['--runInBand'], ['--maxWorkers=2', '--ci']]) {
    const { printed, status } = runAnyway('npx', ['jest', ...args], cwd, process.execPath, {
      MAYFLY_URL: url,
    });
    if (status !== 0 || !/3 passed/.test(printed) || /open handle|did not exit|force exited/i.test(printed))
      throw new Error(printed);
  }
  say(`@mayfly/client in ${JEST}: waits end before the tests do, no open handle`);
}

function tryNodeTest(tarballs: Tarballs, url: string): void {
  for (const major of Object.keys(NODES)) {
    const node = nodeOf(major);
    const { cwd } = project(`node-test-${major}`, [tarballs.get('client') ?? ''], node);
    mkdirSync(join(cwd, 'test'));
    const imports = `import test from 'node:test';
import assert from 'node:assert';
import { Mayfly } from '@mayfly/client';
const expectEqual = assert.deepStrictEqual;`;
    writeFileSync(join(cwd, 'test/mail.test.mjs'), imports + TESTS.replace('RUNNER', 'node:test'));
    const { printed, status } = runAnyway(node, ['--test'], cwd, node, { MAYFLY_URL: url });
    if (status !== 0 || !/pass 2/.test(printed)) throw new Error(printed);
    say(`@mayfly/client in node:test of Node.js ${major}: waits end, and so does the process`);
  }
}

export async function tryRunners(tarballs: Tarballs): Promise<void> {
  await tryPlaywright(tarballs);
  const server = await startServer(serverProject(tarballs).cwd);
  try {
    tryVitest(tarballs, server.url);
    tryJest(tarballs, server.url);
    tryNodeTest(tarballs, server.url);
  } finally {
    await server.stop();
  }
}
