import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from './browser.ts';

describe.skipIf(!CHROMIUM)('the reference page in a browser (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  let document: Body;
  /** URLs that the page requested, and what the browser reported as errors, until it was shown. */
  const requested: string[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    app = await startApp({ MAYFLY_SIGNUP_PLAN: 'free', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
    ({ body: document } = await app.api('GET', '/openapi.json', { as: null }));
    browser = await launchBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    page.on('request', (request) => requested.push(request.url()));
    page.on('requestfailed', (request) => errors.push(`${request.url()} failed`));
    page.on('console', (message) => {
      // A request that the Content-Security-Policy refuses is an error on the console.
      if (['error', 'warning'].includes(message.type())) errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.locator('.opblock').first().waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  test('requests nothing from other hosts, and the browser reports no errors', () => {
    expect(requested.length).toBeGreaterThan(3);
    expect(requested.filter((url) => !url.startsWith(`${app.url}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('shows every operation', async () => {
    // Requests that the server sends are described like those that it receives (OpenAPI 3.1, `webhooks`).
    const described = { ...document.paths, ...document.webhooks };
    const expected = Object.entries<object>(described).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = await page.locator('.opblock-summary').evaluateAll((summaries) =>
      summaries.map((summary) => {
        const text = (selector: string) => summary.querySelector(selector)?.textContent ?? '';
        // Zero-width spaces let a long path break.
        return `${text('.opblock-summary-method')} ${text('.opblock-summary-path')}`.replace(/\u200b/g, '');
      }),
    );
    expect(expected.length).toBeGreaterThan(10);
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  test('carries the title, icon and logo of Mayfly and no foreign brand', async () => {
    expect(await page.title()).toBe('Mayfly API');
    const icon = (await page.locator('link[rel=icon]').getAttribute('href')) ?? '';
    const logo = await app.api('GET', new URL(icon, app.url).pathname, { as: null });
    expect([logo.status, logo.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(logo.body).toContain('aria-label="Mayfly"');
    const bar = await page.evaluate("getComputedStyle(document.body, '::before').backgroundImage");
    expect(bar).toContain('data:image/svg+xml');
    expect(await page.locator('body').innerText()).not.toMatch(/swagger|smartbear/i);
    expect(await page.locator('img, .topbar').count()).toBe(0);
  });

  test('may not request anything from another host: the Content-Security-Policy refuses it', async () => {
    await page.evaluate("fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined)");
    await expect.poll(() => errors.join('\n')).toMatch(/Content Security Policy/);
  });

  async function authorize(): Promise<void> {
    await page.locator('.btn.authorize').first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input').first().fill(TEST_KEY);
    await dialog.locator('button.authorize').first().click();
    await dialog.locator('button.btn-done').first().click();
  }

  test('takes an API key in the Authorize dialog', async () => {
    await authorize();
    await expect.poll(() => page.locator('.btn.authorize.locked').count()).toBe(1);
  });

  test('sends an operation with its example, and shows the response', async () => {
    const block = page.locator('#operations-Inboxes-createInbox');
    await block.locator('.opblock-summary-control').dispatchEvent('click');
    await expect.poll(() => block.locator('textarea').last().inputValue(), { interval: 20 }).not.toBe('');
    await block.locator('.execute').click();
    const response = block.locator('.live-responses-table .response').first();
    await response.waitFor({ state: 'attached' });
    expect(await response.locator('.response-col_status').textContent()).toContain('201');
  });
});
