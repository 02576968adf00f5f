import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from './browser.ts';

interface Called {
  status: number;
  location: string | null;
  requestId: string | null;
  body: unknown;
}

describe.skipIf(!CHROMIUM)(
  'a web page of another origin in a browser (skipped where there is no Chromium)',
  () => {
    let page: Server;
    let app: TestApp;
    let browser: Browser;
    /** Two origins of one page. */
    let allowed: string;
    let other: string;
    beforeAll(async () => {
      page = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title>');
      }).listen(0, '127.0.0.1');
      await once(page, 'listening');
      const { port } = page.address() as AddressInfo;
      allowed = `http://127.0.0.1:${port}`;
      other = `http://localhost:${port}`;
      app = await startApp({ MAYFLY_CORS_ORIGINS: allowed });
      browser = await launchBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await app?.stop();
      page?.close();
    });

    /** Creates an inbox by `fetch` in the page. @returns the text of the error where the browser refuses */
    async function createFrom(origin: string, key: string): Promise<Called | string> {
      const tab = await browser.newPage();
      await tab.goto(origin);
      const called = await tab.evaluate(
        async ({ url, credential }) => {
          try {
            const response = await fetch(`${url}/v1/inboxes`, {
              method: 'POST',
              headers: {
                authorization: `Bearer ${credential}`,
                'content-type': 'application/json',
                'idempotency-key': crypto.randomUUID?.() ?? String(performance.now()),
              },
              body: JSON.stringify({ ttlMinutes: 10 }),
            });
            const { status, headers } = response;
            return {
              status,
              location: headers.get('location'),
              requestId: headers.get('x-request-id'),
              body: await response.json(),
            };
          } catch (error) {
            return String(error);
          }
        },
        { url: app.url, credential: key },
      );
      await tab.close();
      return called;
    }

    test('creates an inbox and reads the response and its headers', async () => {
      expect(await createFrom(allowed, TEST_KEY)).toMatchObject({
        status: 201,
        location: expect.stringContaining('/v1/inboxes/inb_'),
        requestId: expect.any(String),
        body: { address: expect.stringContaining('@mayfly.test') },
      });
    });

    test('reads an error as any client does', async () => {
      expect(await createFrom(allowed, 'not-a-key')).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      });
    });

    test('is refused by the browser where its origin is not allowed', async () => {
      expect(await createFrom(other, TEST_KEY)).toContain('Failed to fetch');
    });
  },
);
