import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../support/start-app.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
/** Chromium asks its maker for many things by itself; none of that belongs to the page. */
const QUIET = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
  // As root, in a container, there is no other way.
  '--no-sandbox',
];

describe.skipIf(!CHROMIUM)('the reference page in a browser (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    app = await startApp();
    browser = await chromium.launch({ ...(CHROMIUM && { executablePath: CHROMIUM }), args: QUIET });
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  test('shows every operation, asks nobody else for anything, and has no complaint', async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
    page.on('console', (message) => {
      // A refusal by the Content-Security-Policy is an error on the console.
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));

    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.locator('.opblock').first().waitFor();

    const { body: document } = await app.api('GET', '/openapi.json', { as: null });
    // What we send to others is described like what others ask of us (OpenAPI 3.1, `webhooks`).
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

    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((url) => !url.startsWith(`${app.url}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('carries the title, icon and logo of Mayfly and no foreign brand', async () => {
    const page = await browser.newPage();
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.locator('.opblock').first().waitFor();
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

  test('the browser would tell: a page that asks another host is refused by the policy', async () => {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.evaluate("fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined)");
    await expect.poll(() => complaints.join('\n')).toMatch(/Content Security Policy/);
  });
});
