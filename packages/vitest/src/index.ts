/**
 * `@mayfly/vitest`: an inbox for each test. `test` extends Vitest's own. For another server or key:
 * `test.extend({ mayfly: async ({}, use) => use(new Mayfly({ url, apiKey })) })`. Outside of the workspaces:
 * otherwise its peer dependency would be installed with every server.
 */
import { type CreateOptions, Inbox, Mayfly } from '@mayfly/client';
import { type MailMatchers, matchers } from '@mayfly/client/expect';
import { test as base, expect as baseExpect, type ExpectStatic, type TestAPI } from 'vitest';

export interface MayflyFixtures {
  /** The client. */
  mayfly: Mayfly;
  /** The inbox of this test, created if the test uses this fixture. */
  inbox: Inbox;
  /** Creates further inboxes. */
  createInbox: (options?: CreateOptions) => Promise<Inbox>;
}

/** An intersection type, because the type parameters of `Matchers` differ between versions of Vitest. */
type MailExpect = (<T>(
  actual: T,
  message?: string,
) => ReturnType<typeof baseExpect<T>> & MailMatchers & { not: MailMatchers }) &
  ExpectStatic;

/** Long enough to examine the inbox of a failed test. */
const TTL_MINUTES = 15;
const MAX_LABEL_VALUE = 256;
/** Environment variables of CI systems that identify the run; its workers share the value. */
const RUN_VARIABLES = ['MAYFLY_RUN', 'GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILD_ID'];
/** Captured at load, because tests may install fake timers later. */
const now = performance.now.bind(performance);

const label = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_LABEL_VALUE);

export const test: TestAPI<MayflyFixtures> = base.extend<MayflyFixtures>({
  // Vitest reads the names of the fixtures out of the first parameter.
  // biome-ignore lint/correctness/noEmptyPattern: there are none.
  mayfly: async ({}, use) => {
    await use(new Mayfly());
  },

  createInbox: async ({ mayfly, task, signal, annotate }, use) => {
    const started = now();
    const ended = new AbortController();
    const end = () =>
      ended.abort(
        new Error(
          'The test ended while it waited for mail. Write "await" in front of the wait, or await its promise later.',
        ),
      );
    signal.addEventListener('abort', end);
    const time = {
      left: () =>
        task.timeout > 0 ? Math.max(0, task.timeout - (now() - started)) : Number.POSITIVE_INFINITY,
      advice: 'Give the test more with its option "timeout", or all with "testTimeout" in the configuration.',
      ended: ended.signal,
    };
    const labels = {
      run: RUN_VARIABLES.map((name) => process.env[name]).find(Boolean) ?? 'local',
      worker: process.env.VITEST_POOL_ID ?? '1',
      file: label(task.file.name),
      test: label(task.name),
    };
    const inboxes: Inbox[] = [];
    await use(async (options = {}) => {
      const { data, token } = await mayfly.createInbox({
        ttlMinutes: TTL_MINUTES,
        ...options,
        labels: { ...labels, ...options.labels },
      });
      const inbox = new Inbox(mayfly.transport, { ...data, token }, time);
      inboxes.push(inbox);
      // Reporters show it for failed tests.
      await annotate(`${inbox.address}: ${inbox.consoleUrl}`, 'mails');
      return inbox;
    });
    end();
    if (task.result?.state === 'fail') return;
    for (const inbox of inboxes) await inbox.delete();
  },

  inbox: async ({ createInbox }, use) => {
    await use(await createInbox());
  },
});

baseExpect.extend(matchers);
/** Vitest's `expect` with matchers for inboxes and mails. */
export const expect: MailExpect = baseExpect as MailExpect;
export { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
