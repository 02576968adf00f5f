import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

describe('addresses of the console', () => {
  let router: typeof import('../src/lib/router.ts');
  beforeAll(async () => {
    // The module reads the address of the page, which exists in a browser only.
    vi.stubGlobal('location', new URL('http://127.0.0.1:8025/console/live?q=from%3Ashop'));
    vi.stubGlobal('addEventListener', () => undefined);
    router = await import('../src/lib/router.ts');
  });
  afterAll(() => vi.unstubAllGlobals());

  it('are read from the page', () => {
    expect(router.path.value).toBe('/live');
    expect(router.query.value.get('q')).toBe('from:shop');
  });

  it('leave out parameters without a value', () => {
    expect(router.href('/why', { address: 'a+b@x.test', since: null, q: '' })).toBe(
      '/console/why?address=a%2Bb%40x.test',
    );
    expect(router.href('/inboxes')).toBe('/console/inboxes');
  });

  it.each([
    ['/inboxes/:id', '/inboxes/inb_1', { id: 'inb_1' }],
    ['/inboxes/:id', '/inboxes/inb_1/', { id: 'inb_1' }],
    ['/inboxes/:id', '/inboxes', null],
    ['/inboxes/:id', '/keys/key_1', null],
    ['/inboxes/:id/messages/:messageId', '/inboxes/a%20b/messages/%zz', { id: 'a b', messageId: '%zz' }],
  ])('%s and %s', (pattern, given, params) => {
    expect(router.match(pattern, given)).toEqual(params);
  });
});
