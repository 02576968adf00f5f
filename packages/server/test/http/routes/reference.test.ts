import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../start-http.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.stop());

/** Unlike `fetch`, it leaves the dots of a path where they are, and says nothing of caches by itself. */
const statusOf = (path: string, headers: Record<string, string> = {}) =>
  new Promise((resolve, reject) => {
    get({ port: http.port, path, headers }, (answer) => resolve(answer.resume().statusCode)).on(
      'error',
      reject,
    );
  });

describe('the reference pages', () => {
  it('are there for all who ask first, at the same time', async () => {
    const paths = ['/docs', '/openapi.json', '/docs/json', '/docs/yaml', '/docs', '/openapi.json'];
    const answers = await Promise.all(paths.map((path) => http.api('GET', path, { as: null })));
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
    expect(answers[2]?.body).toEqual(answers[1]?.body);
  });

  it('say that a file is not there as any other path does', async () => {
    const { status, headers, body } = await http.api('GET', '/docs/static/none.js', { as: null });
    expect([status, body.code]).toEqual([404, 'not_found']);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';/);
  });

  it('send a file again only when it has changed', async () => {
    const path = '/docs/static/index.css';
    const { headers } = await http.api('GET', path, { as: null });
    const etag = headers.get('etag') ?? '';
    expect(await statusOf(path, { 'if-none-match': etag })).toBe(304);
    expect(await statusOf(path, { 'if-none-match': 'W/"another"' })).toBe(200);
  });

  it.each([
    '/docs/static/../../v1/inboxes',
    '/docs/static/%2e%2e/%2e%2e/v1/inboxes',
    '/docs/static/..%2f..%2fpackage.json',
  ])('lead nowhere else: %s', async (path) => {
    expect(await statusOf(path)).toBe(404);
  });
});
