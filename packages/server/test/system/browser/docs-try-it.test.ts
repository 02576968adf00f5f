import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const QUIET = ['--disable-gpu', '--disable-background-networking', '--no-first-run', '--no-sandbox'];
/** Operations that take bytes, which no example can fill in. */
const WITHOUT_PREFILLED_BODY: string[] = [];

interface Operation {
  id: string;
  tag: string;
  method: string;
  path: string;
  hasBody: boolean;
}

/** Each of these ends inboxes: a new one is created before. */
const ENDS_INBOXES = ['deleteInbox', 'deleteInboxes', 'expireInbox'];

/** What creates something comes first and what deletes something last; in between the order of the page. */
function order({ method, path, id }: Operation): number {
  if (id === 'createInbox') return 0;
  if (ENDS_INBOXES.includes(id)) return 200;
  // What is within a thing is deleted before the thing.
  if (method === 'delete') return 100 - path.split('/').length;
  return method === 'post' ? 1 : 2;
}

describe.skipIf(!CHROMIUM)('"Try it" on the reference page (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  let page: Page;
  let operations: Operation[];

  beforeAll(async () => {
    app = await startApp({ MAYFLY_SIGNUP_PLAN: 'free', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
    const { body } = await app.api('GET', '/openapi.json', { as: null });
    operations = Object.entries<Body>(body.paths)
      .flatMap(([path, methods]) =>
        Object.entries<Body>(methods).map(([method, { operationId, tags, requestBody }]) => ({
          ...{ id: operationId, tag: tags[0], method, path, hasBody: requestBody !== undefined },
        })),
      )
      .toSorted((left, right) => order(left) - order(right));
    browser = await chromium.launch({ ...(CHROMIUM && { executablePath: CHROMIUM }), args: QUIET });
    page = await browser.newPage();
    await page.goto(`${app.url}/docs`, { waitUntil: 'networkidle' });
    await page.locator('.opblock').first().waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  /**
   * Opens an operation, sends it as it is filled in, and reads the status and the text that the page shows.
   * Opening and closing are events without a mouse: to wait until a long page stands still takes a second.
   */
  async function execute({ id, tag, path, hasBody }: Operation): Promise<{ status: string; text: string }> {
    const block = page.locator(`#operations-${tag}-${id}`);
    await block.locator('.opblock-summary-control').dispatchEvent('click');
    // A moment after it has opened the operation, the page fills in what is required and the body.
    for (const field of [
      ...(path.includes('{') ? ['tr[data-param-in=path] input'] : []),
      ...(hasBody ? ['textarea'] : []),
    ]) {
      const last = block.locator(field).last();
      await expect.poll(() => last.inputValue(), { timeout: 30_000 }).not.toBe('');
    }
    await block.locator('.execute').click();
    const response = block.locator('.live-responses-table .response').first();
    await response.waitFor({ state: 'attached' });
    const status = (await response.locator('.response-col_status').textContent()) ?? '';
    const text = (await response.locator('.response-col_description').textContent()) ?? '';
    await block.locator('.opblock-summary-control').dispatchEvent('click');
    return { status: status.slice(0, 3), text };
  }

  test('takes an API key in the Authorize dialog', async () => {
    await page.locator('.btn.authorize').first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input').first().fill(TEST_KEY);
    await dialog.locator('button.authorize').first().click();
    await dialog.locator('button.btn-done').first().click();
    expect(await page.locator('.btn.authorize.locked').count()).toBe(1);
  });

  test('succeeds for every operation with the example that is filled in', async () => {
    const results: string[] = [];
    const [createInbox] = operations;
    for (const operation of operations) {
      if (createInbox && ENDS_INBOXES.includes(operation.id)) await execute(createInbox);
      if (WITHOUT_PREFILLED_BODY.includes(operation.id)) continue;
      const { status, text } = await execute(operation);
      results.push(`${operation.id} ${status}`);
      if (!/^20[0-6]$/.test(status)) results.push(text);
      if (operation.id === 'createInbox') {
        const [, address = ''] = /"address": "([^"]+)"/.exec(text) ?? [];
        const attachments = [{ filename: 'terms.txt', content: 'The terms.' }];
        await app.send({ from: 'a@example.org', to: address, subject: 'hello', text: 'hi', attachments });
      }
    }
    expect(results.filter((line) => !/^\w+ 20[0-6]$/.test(line))).toEqual([]);
    expect(results).toHaveLength(operations.length - WITHOUT_PREFILLED_BODY.length);
  });
});
