import { afterAll, beforeAll, beforeEach } from 'vitest';
import { startHttp, type TestHttp } from './start-http.ts';

/**
 * Starts one server for the tests of a file, with accounts of its own for each test.
 * @param prepare called before each test with what it uses
 * @param options as those of `startHttp`
 */
export function forEachTest(
  prepare: (http: TestHttp) => void | Promise<void>,
  ...options: Parameters<typeof startHttp>
): void {
  let server: TestHttp;
  beforeAll(async () => {
    server = await startHttp(...options);
  });
  afterAll(() => server.stop());
  beforeEach(async () => prepare(await server.newAccounts()));
}
