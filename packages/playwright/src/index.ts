/**
 * `@mayfly/playwright`: an inbox for each test. `test` replaces Playwright's own and works with `mergeTests`;
 * `fixtures` is for `myTest.extend(fixtures)`.
 */
import { type CreateOptions, Mayfly } from '@mayfly/client';
import { matchers } from '@mayfly/client/expect';
import {
  test as base,
  expect as baseExpect,
  type Expect,
  type Fixtures,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestInfo,
  type TestType,
} from '@playwright/test';
import { TestInbox } from './inbox.ts';
import { mailMatchers } from './matchers.ts';
import { attachMails } from './report.ts';

/** Options of `use` in the configuration; these are the same for all tests of a worker. */
export interface MayflyWorkerOptions {
  /** Default: `MAYFLY_URL`, else `http://127.0.0.1:8025`. */
  mayflyUrl: string | undefined;
  /** Default: `MAYFLY_API_KEY`; on this machine none is needed. */
  mayflyKey: string | undefined;
}

/** Options of `use`, also of `test.use` in a file or a `describe`. */
export interface MayflyTestOptions {
  /** Lifetime of the inboxes. Default: 15. */
  mayflyTtlMinutes: number;
  /** Default: the first domain of the server. */
  mayflyDomain: string | undefined;
  /** Labels in addition to those of the run and the test. */
  mayflyLabels: Record<string, string>;
  /** Which inboxes are kept for the console. Default: those of failed tests. */
  mayflyKeep: 'never' | 'on-failure' | 'always';
}

/** For `defineConfig<MayflyOptions>()`. */
export type MayflyOptions = MayflyWorkerOptions & MayflyTestOptions;

export interface MayflyWorkerFixtures {
  /** The client of the worker. */
  mayfly: Mayfly;
}
export interface MayflyFixtures {
  /** The inbox of this test, created if the test uses this fixture. */
  inbox: TestInbox;
  /** Creates further inboxes. */
  createInbox: (options?: CreateOptions) => Promise<TestInbox>;
}
/** Internal fixture: start of the test in milliseconds, so that waits end before its time limit. */
interface Hidden {
  _mayflyTestStart: number;
}
type TestFixtures = MayflyFixtures & MayflyTestOptions;
type WorkerFixtures = MayflyWorkerFixtures & MayflyWorkerOptions;
type TestArgs = PlaywrightTestArgs & PlaywrightTestOptions;
type WorkerArgs = PlaywrightWorkerArgs & PlaywrightWorkerOptions;

const MAX_LABEL_VALUE = 256;

/** Environment variables of CI systems that identify the run; its workers share the value. */
const RUN_VARIABLES = ['MAYFLY_RUN', 'GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILD_ID'];
const run = () => RUN_VARIABLES.map((name) => process.env[name]).find(Boolean) ?? 'local';

/** Labels must not contain control characters. */
const label = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_LABEL_VALUE);

const labelsOf = (testInfo: TestInfo): Record<string, string> => ({
  run: run(),
  project: label(testInfo.project.name || 'default'),
  worker: String(testInfo.parallelIndex),
  test: testInfo.testId,
  title: label(testInfo.titlePath.slice(1).join(' › ')),
  retry: String(testInfo.retry),
});

const allFixtures: Fixtures<TestFixtures & Hidden, WorkerFixtures, TestArgs, WorkerArgs> = {
  mayflyUrl: [undefined, { option: true, scope: 'worker' }],
  mayflyKey: [undefined, { option: true, scope: 'worker' }],
  mayflyTtlMinutes: [15, { option: true }],
  mayflyDomain: [undefined, { option: true }],
  mayflyLabels: [{}, { option: true }],
  mayflyKeep: ['on-failure', { option: true }],

  mayfly: [
    async ({ mayflyUrl, mayflyKey }, use) => {
      await use(new Mayfly({ url: mayflyUrl, apiKey: mayflyKey }));
    },
    { scope: 'worker' },
  ],

  _mayflyTestStart: [
    // Playwright reads the names of the fixtures out of the first parameter.
    // biome-ignore lint/correctness/noEmptyPattern: there are none.
    async ({}, use) => {
      await use(Date.now());
    },
    { scope: 'test', auto: true, box: true },
  ],

  createInbox: [
    async (
      { mayfly, mayflyTtlMinutes, mayflyDomain, mayflyLabels, mayflyKeep, _mayflyTestStart },
      use,
      testInfo,
    ) => {
      const inboxes: TestInbox[] = [];
      await use(async (options = {}) => {
        const { data, token } = await mayfly.createInbox({
          ttlMinutes: mayflyTtlMinutes,
          ...(mayflyDomain !== undefined && { domain: mayflyDomain }),
          ...options,
          labels: { ...labelsOf(testInfo), ...mayflyLabels, ...options.labels },
        });
        const inbox = new TestInbox(mayfly.transport, { ...data, token }, testInfo, _mayflyTestStart);
        inboxes.push(inbox);
        return inbox;
      });
      const hasFailed = testInfo.status !== testInfo.expectedStatus;
      for (const inbox of inboxes) {
        inbox.end();
        if (hasFailed) await attachMails(inbox, testInfo);
        if (mayflyKeep === 'never' || (mayflyKeep === 'on-failure' && !hasFailed)) await inbox.delete();
      }
    },
    { scope: 'test', title: 'inboxes', box: true },
  ],

  inbox: [
    async ({ createInbox }, use) => {
      await use(await createInbox());
    },
    { scope: 'test', title: 'inbox' },
  ],
};

export const fixtures = allFixtures as Fixtures<TestFixtures, WorkerFixtures, TestArgs, WorkerArgs>;
export const test: TestType<TestArgs & TestFixtures, WorkerArgs & WorkerFixtures> = base.extend(fixtures);
/** Playwright's `expect` with matchers for inboxes and mails. */
export const expect: Expect<typeof matchers & typeof mailMatchers> = baseExpect.extend({
  ...matchers,
  ...mailMatchers,
});
export { TestInbox } from './inbox.ts';
export type { MailScreenshotOptions } from './matchers.ts';
