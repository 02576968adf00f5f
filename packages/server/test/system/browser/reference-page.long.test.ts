import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from './browser.ts';

interface Operation {
  id: string;
  tag: string;
  method: string;
  path: string;
  hasBody: boolean;
}

/** Each of these ends inboxes: a new one is created before. */
const ENDS_INBOXES = ['deleteInbox', 'deleteInboxes', 'expireInbox'];

/** Operations that create come first and operations that delete last; the others in the order of the page. */
function order({ method, path, id }: Operation): number {
  if (id === 'createInbox') return 0;
  if (ENDS_INBOXES.includes(id)) return 200;
  // What a resource contains is deleted before the resource.
  if (method === 'delete') return 100 - path.split('/').length;
  return method === 'post' ? 1 : 2;
}

/** What the page has to fill in differs only by this. */
const shapeOf = ({ method, path, hasBody }: Operation): string =>
  `${method} ${path.includes('{') ? 'with' : 'without'} path parameters, ${hasBody ? 'with' : 'without'} body`;

/** The first operation of each shape, and the one that creates what the others need. */
function oneOfEachShape(operations: Operation[]): Operation[] {
  return operations.filter(
    (operation, index) =>
      operation.id === 'createWebhook' ||
      operations.findIndex((one) => shapeOf(one) === shapeOf(operation)) === index,
  );
}

function operationsOf(document: Body): Operation[] {
  return Object.entries<Body>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries<Body>(methods).map(([method, { operationId, tags, requestBody }]) => ({
        ...{ id: operationId, tag: tags[0], method, path, hasBody: requestBody !== undefined },
      })),
    )
    .toSorted((left, right) => order(left) - order(right));
}

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

  /**
   * Opens an operation, sends it as it is filled in, and reads the status and the text that the page shows.
   * It is opened and closed by events without a mouse: to wait until a long page stands still takes a second.
   */
  async function execute({ id, tag, path, hasBody }: Operation): Promise<{ status: string; text: string }> {
    const block = page.locator(`#operations-${tag}-${id}`);
    await block.locator('.opblock-summary-control').dispatchEvent('click');
    // The page fills in required parameters and the body shortly after it has opened the operation.
    for (const field of [
      ...(path.includes('{') ? ['tr[data-param-in=path] input'] : []),
      ...(hasBody ? ['textarea'] : []),
    ]) {
      const last = block.locator(field).last();
      await expect.poll(() => last.inputValue(), { interval: 20 }).not.toBe('');
    }
    await block.locator('.execute').click();
    const response = block.locator('.live-responses-table .response').first();
    await response.waitFor({ state: 'attached' });
    const status = (await response.locator('.response-col_status').textContent()) ?? '';
    const text = (await response.locator('.response-col_description').textContent()) ?? '';
    await block.locator('.opblock-summary-control').dispatchEvent('click');
    return { status: status.slice(0, 3), text };
  }

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

  /**
   * Shows the page with these operations only, and without their errors: with all operations and examples of
   * all errors each click costs a second of layout.
   */
  async function showOnly(operations: Operation[]): Promise<void> {
    const paths: Body = {};
    for (const { path, method } of operations) {
      const { responses, ...operation } = document.paths[path][method];
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
      const shown = { ...operation, responses: Object.fromEntries(successes) };
      paths[path] = { ...paths[path], [method]: shown };
    }
    const shown = { ...document, paths, webhooks: {} };
    await page.route('**/openapi.json', (route) => route.fulfill({ json: shown }));
    await page.goto(`${app.url}/docs`);
    await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length);
  }

  // The short form tries one operation of each shape: http/openapi/openapi-examples.test.ts sends the examples
  // of all operations, and what the page makes of them depends on the shape only.
  const which = inForm('one operation of each shape', 'every operation');
  test(
    `succeeds with the filled-in example of ${which}`,
    async () => {
      const all = operationsOf(document);
      const tried = inForm(oneOfEachShape(all), all);
      expect(tried.length).toBeGreaterThan(7);
      const [createInbox] = all;
      await showOnly(tried);
      await authorize();
      const failures: string[] = [];
      for (const operation of tried) {
        if (createInbox && ENDS_INBOXES.includes(operation.id)) await execute(createInbox);
        const { status, text } = await execute(operation);
        if (!/^20[0-6]$/.test(status)) failures.push(`${operation.id} ${status} ${text}`);
        if (operation.id === 'createInbox') {
          const [, address = ''] = /"address": "([^"]+)"/.exec(text) ?? [];
          const attachments = [{ filename: 'terms.txt', content: 'The terms.' }];
          await app.send({ from: 'a@example.org', to: address, subject: 'hello', text: 'hi', attachments });
        }
      }
      expect(failures).toEqual([]);
    },
    timeLimit(300_000),
  );
});
