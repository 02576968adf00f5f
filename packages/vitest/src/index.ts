/**
 * `@mayfly/vitest`: an inbox for each test. `test` extends Vitest's own. Another server, or a key:
 * `test.extend({ mayfly: async ({}, use) => use(new Mayfly({ url, apiKey })) })`. Outside of the workspaces: its peer
 * would otherwise be installed with every server.
 */
import { type CreateOptions, Inbox, Mayfly } from '@mayfly/client';
import { type MailMatchers, matchers } from '@mayfly/client/expect';
import { test as base, expect as baseExpect, type ExpectStatic, type TestAPI } from 'vitest';

export interface MayflyFixtures {
  /** The client. */
  mayfly: Mayfly;
  /** The inbox of this test; it is created when a test names it. */
  inbox: Inbox;
  /** More inboxes. */
  createInbox: (options?: CreateOptions) => Promise<Inbox>;
}

/** By intersection, because the type parameters of `Matchers` differ between the versions of Vitest. */
type MailExpect = (<T>(
  actual: T,
  message?: string,
) => ReturnType<typeof baseExpect<T>> & MailMatchers & { not: MailMatchers }) &
  ExpectStatic;

/** Long enough to look at the inbox of a failed test. */
const TTL_MINUTES = 15;
const MAX_LABEL_VALUE = 256;
/** Names of the run in CI systems; workers of one run share it. */
const RUN_VARIABLES = ['MAYFLY_RUN', 'GITHUB_RUN_ID', 'CI_PIPELINE_ID', 'BUILD_ID'];
/** Tests may install fake timers later. */
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
/** Vitest's own, with the matchers of inboxes and mails. */
export const expect: MailExpect = baseExpect as MailExpect;
export { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
