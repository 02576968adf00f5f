import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    // Two cores: more workers only make the sockets of one test wait for another's.
    maxWorkers: 2,
    // Nothing is shared that a file could spoil for the next: servers, stores and clocks are made anew, and
    // no module is mocked. A process and all modules anew for each file would take a quarter of the time.
    isolate: false,
    // Threads and servers that tests start find their modules compiled, as those of `npm start` do.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/mayfly', import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
