import { get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { useHttp } from './start-http.ts';

const http = useHttp();

/** Unlike `fetch`, it leaves the dots of a path where they are, and says nothing of caches by itself. */
const statusOf = (path: string, headers: Record<string, string> = {}) =>
  new Promise((resolve, reject) => {
    get({ port: http.port, path, headers }, (answer) => resolve(answer.resume().statusCode)).on(
      'error',
      reject,
    );
  });

describe('/llms.txt', () => {
  it('is there without a credential, as text, compressed, and 304 for those who have it', async () => {
    const answer = await fetch(`http://127.0.0.1:${http.port}/llms.txt`);
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    expect(text).toMatch(/^# Mayfly\n\n> /);
    // A page: a model reads it whole.
    expect(text.length).toBeLessThan(6_000);
    const etag = answer.headers.get('etag') ?? '';
    expect(await statusOf('/llms.txt', { 'if-none-match': etag, 'accept-encoding': 'gzip' })).toBe(304);
  });

  it('names only operations, fields and conditions that the API description has', async () => {
    const text = await (await fetch(`http://127.0.0.1:${http.port}/llms.txt`)).text();
    const { body: document } = await http.api('GET', '/openapi.json', { as: null });
    const operations = [...text.matchAll(/`([A-Z]+) (\/v1\/[^`?]*)`/g)];
    expect(operations.length).toBeGreaterThan(8);
    for (const [, method = '', path = ''] of operations)
      expect(document.paths[path]?.[method.toLowerCase()], `${method} ${path}`).toBeDefined();
    const inbox = await http.createInbox();
    for (const path of ['wait', 'faults']) {
      const [, example = ''] = new RegExp(`/${path}\` with \`([^\`]*)\``).exec(text) ?? [];
      const body = { ...JSON.parse(example), ...(path === 'wait' && { timeoutSeconds: 0 }) };
      const action = path === 'wait' ? 'POST' : 'PUT';
      expect((await http.api(action, `/v1/inboxes/${inbox.id}/${path}`, { body })).status).toBe(200);
    }
    const conditions = /Conditions are optional: ([^\n]*)\./.exec(text)?.[1] ?? '';
    const { properties } = document.components.schemas.MessageMatch;
    for (const [, name = ''] of conditions.matchAll(/`(\w+)`/g))
      expect(Object.keys(properties)).toContain(name);
  });
});

describe('the reference pages', () => {
  it('say that a file is not there as any other path does', async () => {
    const { status, headers, body } = await http.api('GET', '/docs/static/none.js', { as: null });
    expect([status, body.code]).toEqual([404, 'not_found']);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';/);
  });

  it('send a file again only when it has changed', async () => {
    const path = '/docs/static/page.css';
    const { headers } = await http.api('GET', path, { as: null });
    const etag = headers.get('etag') ?? '';
    const gzip = { 'accept-encoding': 'gzip' };
    expect(await statusOf(path, { 'if-none-match': etag, ...gzip })).toBe(304);
    expect(await statusOf(path, { 'if-none-match': 'W/"another"', ...gzip })).toBe(200);
  });

  it.each([
    '/docs/static/../../v1/inboxes',
    '/docs/static/%2e%2e/%2e%2e/v1/inboxes',
    '/docs/static/..%2f..%2fpackage.json',
  ])('lead nowhere else: %s', async (path) => {
    expect(await statusOf(path)).toBe(404);
  });
});
