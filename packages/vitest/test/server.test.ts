import { afterEach, expect, it, vi } from 'vitest';
import setup from '../src/server.ts';

afterEach(() => vi.unstubAllEnvs());

// With the package: npm run try-packages -- in-process.
it('starts nothing where MAYFLY_URL names a server', async () => {
  vi.stubEnv('MAYFLY_URL', 'http://127.0.0.1:8025');
  expect(await setup()).toBeUndefined();
});

it('says what to install where the server is not installed', async () => {
  vi.stubEnv('MAYFLY_URL', '');
  await expect(setup()).rejects.toThrow(/"mayfly" cannot be loaded\. Install it .* or set MAYFLY_URL/);
});
