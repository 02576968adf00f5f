import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEST_KEY, useApp } from '../../support/start-app.ts';
import { expectAccessible } from '../console/console.ts';
import { CHROMIUM, launchBrowser } from './browser.ts';

describe.skipIf(!CHROMIUM)('the reference page in a browser (skipped where there is no Chromium)', () => {
  const app = useApp({ MAYFLY_SIGNUP_PLAN: 'free', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
  let browser: Browser;
  let page: Page;
  /** Requested URLs and errors of the browser until the page was shown. */
  const requested: string[] = [];
  const errors: string[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
    page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    page.on('request', (request) => requested.push(request.url()));
    page.on('requestfailed', (request) => errors.push(`${request.url()} failed`));
    page.on('console', (message) => {
      // Requests that the Content-Security-Policy blocks are errors on the console.
      if (['error', 'warning'].includes(message.type())) errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.locator('[data-entry]').first().waitFor();
  });
  afterAll(() => browser?.close());

  test('requests nothing from other hosts, and the browser reports no errors', () => {
    expect(requested.length).toBeGreaterThan(3);
    expect(requested.filter((url) => !url.startsWith(`${app.url}/`) && !url.startsWith('data:'))).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('shows every operation', async () => {
    // Requests of the server are in `webhooks` (OpenAPI 3.1).
    const { paths, webhooks } = (await app.api('GET', '/openapi.json', { as: null })).body;
    const expected = Object.entries<object>({ ...paths, ...webhooks }).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = await page.locator('main .operation code').allTextContents();
    expect(expected.length).toBeGreaterThan(10);
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  test('carries the title, icon and logo of Mayfly', async () => {
    expect(await page.title()).toBe('Mayfly API');
    const icon = (await page.locator('link[rel=icon]').getAttribute('href')) ?? '';
    const logo = await app.api('GET', new URL(icon, `${app.url}/docs`).pathname, { as: null });
    expect([logo.status, logo.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(logo.body).toContain('aria-label="Mayfly"');
    expect(await page.evaluate("document.querySelector('header img').naturalWidth")).toBeGreaterThan(0);
  });

  test('is all there before a script runs', async () => {
    const plain = await browser.newPage({ javaScriptEnabled: false });
    await plain.goto(`${app.url}/docs`);
    expect(await plain.locator('main .operation').count()).toBeGreaterThan(40);
    expect(await plain.locator('#createInbox .curl').innerText()).toContain('$API/v1/inboxes');
    await plain.close();
  });

  test('shows nothing that the guidelines for accessibility forbid, light and narrow or dark and wide', async () => {
    for (const [colorScheme, width] of [
      ['light', 390],
      ['dark', 1440],
    ] as const) {
      const other = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      await other.goto(`${app.url}/docs`);
      await expectAccessible(other, `${colorScheme}, ${width} px`);
      await other.close();
    }
  });

  test('may not request anything from another host: the Content-Security-Policy refuses it', async () => {
    await page.evaluate("fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined)");
    await expect.poll(() => errors.join('\n')).toMatch(/Content Security Policy/);
  });

  const entries = () => page.locator('main [data-entry]:visible h3').allTextContents();

  test('finds operations by the words of their text, and says how many', async () => {
    const search = page.getByRole('searchbox');
    const all = await entries();
    await search.fill('fault rules inbox');
    expect(await entries()).toContain('Let mail to an inbox fail');
    expect(await entries()).not.toContain('Create an API key');
    expect(await page.locator('nav li:visible').allTextContents()).toEqual(await entries());
    expect(await page.locator('#found').textContent()).toBe(`${(await entries()).length} of ${all.length}`);
    await page.locator('#setFaults h3').click();
    // A link to an operation that the search hides shows all of them again.
    await page.evaluate("location.hash = '#createKey'");
    await expect.poll(entries).toEqual(all);
    expect(await search.inputValue()).toBe('');
  });

  test('shows each example in curl, TypeScript and Python, as chosen, and keeps the choice', async () => {
    const example = page.locator('#setFaults .example:visible');
    expect(await example.textContent()).toMatch(/^curl .*-X PUT "\$API\/v1\/inboxes\/\$ID\/faults"/);
    await page.locator('#setFaults').getByRole('button', { name: 'Python' }).click();
    expect(await example.textContent()).toContain('inbox.set_faults({"at": "data", "delayMs": 2000})');
    await page.locator('#setFaults').getByRole('button', { name: 'TypeScript' }).click();
    await page.reload();
    expect(await example.textContent()).toContain("await inbox.setFaults([{ at: 'data', delayMs: 2000 }]);");
  });

  /** Clicks "Try it" and "Send". @returns the response that is shown */
  async function send(operation: string): Promise<string> {
    const article = page.locator(`#${operation}`);
    await article.getByRole('button', { name: 'Try it' }).click();
    await article.getByRole('button', { name: 'Send' }).click();
    const response = article.locator('.response');
    await expect.poll(() => response.textContent(), { interval: 20 }).toMatch(/^\d{3} [\s\S]*\n\n/);
    return (await response.textContent()) ?? '';
  }

  test('sends the example of an operation, and the next one with the id of the response', async () => {
    await page.getByLabel('API key').fill(TEST_KEY);
    expect(await send('createInbox')).toMatch(/^201 /);
    expect(await send('getInbox')).toMatch(/^200 [\s\S]*"run": "4711"/);
  });

  test('says which part of a path is to be completed, and sends no request', async () => {
    const article = page.locator('#getWait');
    await article.getByRole('button', { name: 'Try it' }).click();
    await article.getByRole('button', { name: 'Send' }).click();
    expect(await article.locator('.response').textContent()).toMatch(/^Complete the path: .*\{waitId\}$/);
  });
});
