import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    // Two cores: more workers only make the sockets of one test wait for another's.
    maxWorkers: 2,
    // Threads and servers that tests start find their modules compiled, as those of `npm start` do.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/mayfly', import.meta.url)) },
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
