import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { bundledThreads } from './scripts/test/bundled-threads.ts';
import { LongestFirst } from './scripts/test/longest-first.ts';
import { RequireAll } from './scripts/test/require-all.ts';

/** Tests of whole programs: each starts processes, such as the server, npm, a browser or a mail library. */
const SYSTEM = 'packages/*/test/system/**/*.test.ts';
/** Tests that `npm test` leaves out: they take long, or what they assert varies on a busy machine. */
const LONG = '**/*.long.test.ts';

/** Tests of routes that `npm run test:all` runs on PostgreSQL, too. */
const ROUTES = `packages/server/test/{${[
  ...['accounts/*', 'http/routes/**', 'inbound/catch-all', 'inboxes/*', 'messages/streams', 'recordings/*'],
  ...['refusals/*', 'reports/*', 'waits/{explained,wait*}', 'webhooks/webhooks'],
]}}.test.ts`;

export default defineConfig(({ mode }) => {
  const plugins = [bundledThreads()];
  const project = (
    name: string,
    include: string,
    exclude: string[] = [],
    env = {},
  ): TestProjectConfiguration => ({
    plugins,
    test: {
      name,
      include: [include],
      // Projects are run by tests, with runners of their own.
      exclude: [
        ...['**/node_modules/**', 'packages/*/test/system/project/**'],
        ...(mode === 'all' ? [] : [LONG]),
        ...exclude,
      ],
      // Nothing is shared that a file could spoil for the next: servers, stores and clocks are made anew, and
      // no module is mocked. A process and all modules anew for each file would take a quarter of the time.
      isolate: false,
      // Two cores: with more workers the sockets of one test wait for those of another.
      maxWorkers: 2,
      // Concurrent tests of a file start processes: more at a time only make each other late.
      maxConcurrency: 2,
      // Threads and servers that tests start find their modules compiled, as those of `npm start` do.
      env: {
        NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/mayfly', import.meta.url)),
        ...env,
      },
      // These end what hangs. They are no promise about speed: the machine may be busy with other things.
      testTimeout: 120_000,
      hookTimeout: 300_000,
      expect: { poll: { interval: 10, timeout: 60_000 } },
    },
  });
  return {
    test: {
      projects: [
        project('in-process', 'packages/*/test/**/*.test.ts', [SYSTEM]),
        project('system', SYSTEM),
        ...(mode === 'all' ? [project('on PostgreSQL', ROUTES, [], { TEST_ENGINE: 'PostgreSQL' })] : []),
      ],
      globalSetup: ['scripts/test/processes-left.ts', 'scripts/test/postgres.ts'],
      reporters: process.env.REQUIRE_ALL === '1' ? ['default', new RequireAll()] : ['default'],
      sequence: { sequencer: LongestFirst },
    },
  };
});
