/**
 * `@mayfly/playwright`: an inbox for each test. `test` replaces Playwright's own and works with `mergeTests`;
 * `fixtures` is for `myTest.extend(fixtures)`.
 */
import { type MayflyOptions as ClientOptions, Mayfly } from '@mayfly/client';
import {
  test as base,
  type Fixtures,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestInfo,
} from '@playwright/test';
import { TestInbox } from './inbox.ts';
import { attachMails } from './report.ts';

/** The option `mayfly` of `use` in the configuration. All fields are optional. */
export interface MayflySettings extends Pick<ClientOptions, 'url' | 'apiKey' | 'headers'> {
  /** Lifetime of the inboxes. Default: 15. */
  ttlMinutes?: number;
  domain?: string;
  labels?: Record<string, string>;
  /** Which inboxes are left to look at in the console. Default: those of failed tests. */
  keep?: 'never' | 'on-failure' | 'always';
}

/** What an inbox may have of its own. */
export interface InboxSettings {
  ttlMinutes?: number;
  domain?: string;
  localPart?: string;
  labels?: Record<string, string>;
}

export interface MayflyOptions {
  mayfly: MayflySettings;
}
export interface MayflyWorkerFixtures {
  /** A client of the worker. */
  mailClient: Mayfly;
}
export interface MayflyFixtures {
  /** The inbox of this test; it is created when a test names it. */
  inbox: TestInbox;
  /** More inboxes. */
  createInbox: (settings?: InboxSettings) => Promise<TestInbox>;
  /** When the test began, in ms: waits end before the test's own timeout. */
  testStart: number;
}

const DEFAULT_TTL_MINUTES = 15;
const MAX_LABEL_VALUE = 256;

/** Names of the run in CI systems; workers of one run share it. */
const RUN_VARIABLES = ['MAYFLY_RUN', 'GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILD_ID'];
const run = () => RUN_VARIABLES.map((name) => process.env[name]).find(Boolean) ?? 'local';

/** Labels take no control characters. */
const label = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_LABEL_VALUE);

function labelsOf(testInfo: TestInfo, settings: MayflySettings): Record<string, string> {
  return {
    run: run(),
    project: label(testInfo.project.name || 'default'),
    worker: String(testInfo.parallelIndex),
    test: testInfo.testId,
    title: label(testInfo.titlePath.slice(1).join(' › ')),
    retry: String(testInfo.retry),
    ...settings.labels,
  };
}

export const fixtures: Fixtures<
  MayflyFixtures,
  MayflyOptions & MayflyWorkerFixtures,
  PlaywrightTestArgs & PlaywrightTestOptions,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions
> = {
  mayfly: [{}, { option: true, scope: 'worker' }],

  mailClient: [
    async ({ mayfly }, use) => {
      await use(new Mayfly({ url: mayfly.url, apiKey: mayfly.apiKey, headers: mayfly.headers }));
    },
    { scope: 'worker' },
  ],

  testStart: [
    // Playwright reads the names of the fixtures out of the first parameter.
    // biome-ignore lint/correctness/noEmptyPattern: there are none.
    async ({}, use) => {
      await use(Date.now());
    },
    { scope: 'test', auto: true, box: true },
  ],

  createInbox: [
    async ({ mailClient, mayfly, testStart }, use, testInfo) => {
      const inboxes: TestInbox[] = [];
      await use(async (settings = {}) => {
        const inbox = await mailClient.inboxes.create({
          ttlMinutes: settings.ttlMinutes ?? mayfly.ttlMinutes ?? DEFAULT_TTL_MINUTES,
          ...((settings.domain ?? mayfly.domain) !== undefined && {
            domain: settings.domain ?? mayfly.domain,
          }),
          ...(settings.localPart !== undefined && { localPart: settings.localPart }),
          labels: { ...labelsOf(testInfo, mayfly), ...settings.labels },
        } as Parameters<typeof mailClient.inboxes.create>[0]);
        const testInbox = new TestInbox(mailClient.transport, inbox.data, testInfo, testStart);
        inboxes.push(testInbox);
        return testInbox;
      });
      const hasFailed = testInfo.status !== testInfo.expectedStatus;
      const { keep = 'on-failure' } = mayfly;
      for (const inbox of inboxes) {
        inbox.end();
        if (hasFailed) await attachMails(inbox, testInfo);
        if (keep === 'never' || (keep === 'on-failure' && !hasFailed)) await inbox.delete();
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

export const test = base.extend<MayflyFixtures, MayflyOptions & MayflyWorkerFixtures>(fixtures);
export { expect } from '@playwright/test';
export { TestInbox } from './inbox.ts';
