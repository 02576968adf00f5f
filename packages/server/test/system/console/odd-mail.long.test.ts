import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import { expectAccessible, openConsole } from './console.ts';

const HOUR_MS = 3_600_000;

describe.skipIf(!CHROMIUM)('odd mail and odd machines (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    [app, browser] = await Promise.all([startApp(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  const inject = async (id: string, source: string): Promise<string> => {
    const { body } = await app.api('POST', `/v1/inboxes/${id}/messages`, {
      body: source,
      headers: { 'content-type': 'message/rfc822' },
    });
    return body.id;
  };

  it('shows characters that reverse a name, a subject or the name of a file, instead of obeying them', async () => {
    const inbox = await app.createInbox();
    const id = await inject(
      inbox.id,
      [
        'From: "Bank \u202Egro.knab@" <a@evil.example>',
        'Subject: Invoice \u202Efdp.exe',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        '',
        'Hello',
        '--b',
        "Content-Disposition: attachment; filename*=utf-8''photo%E2%80%AEgpj.exe",
        '',
        'x',
        '--b--',
      ].join('\r\n'),
    );
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    await page.getByRole('heading', { name: 'Invoice [U+202E]fdp.exe' }).waitFor();
    await page.getByRole('link', { name: 'Download photo[U+202E]gpj.exe' }).waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/\u202e/);
    expect(await page.title()).not.toMatch(/\u202e/);
    await context.close();
  });

  it('lists the first hundred of 900 attachments, and all when asked to', async () => {
    const inbox = await app.createInbox();
    const parts = Array.from(
      { length: 900 },
      (_, n) => `--b\r\nContent-Disposition: attachment; filename="${n}.bin"\r\n\r\n${n}\r\n`,
    );
    const id = await inject(
      inbox.id,
      `Subject: many\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    );
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    const downloads = page.getByRole('link', { name: /^Download \d+\.bin/ });
    await page.getByRole('button', { name: /Show 80\d more parts/ }).waitFor();
    expect(await downloads.count()).toBe(100);
    await expectAccessible(page, 'parts, many');
    await page.getByRole('button', { name: /more parts/ }).click();
    await expect.poll(() => downloads.count()).toBe(900);
    await context.close();
  });

  it.each([3, -3])(
    'goes by the clock of the server, where that of the browser is wrong by %i hours',
    async (hours) => {
      const inbox = await app.createInbox({ ttlMinutes: 90 });
      const before = (await app.api('GET', `/v1/inboxes/${inbox.id}`)).body.expiresAt;
      const { context, page, open } = await openConsole(browser, app);
      await page.addInitScript(
        `const now = Date.now.bind(Date); Date.now = () => now() + ${hours * HOUR_MS};`,
      );
      await open(`/inboxes/${inbox.id}`);
      await page.getByText('Waiting for the first mail').waitFor();
      await page.getByText('1 h left').first().waitFor();
      await page.getByRole('button', { name: 'Extend by an hour' }).click();
      await page.getByText('Extended: 2 h left').waitFor();
      const { expiresAt } = (await app.api('GET', `/v1/inboxes/${inbox.id}`)).body;
      const added = Date.parse(expiresAt) - Date.parse(before);
      expect(added).toBeGreaterThan(0.9 * HOUR_MS);
      expect(added).toBeLessThan(1.1 * HOUR_MS);
      await context.close();
    },
  );

  it('a link to a message shows where it is in the list', async () => {
    const inbox = await app.createInbox();
    const first = await inject(inbox.id, 'Subject: the oldest\r\n\r\nx\r\n');
    for (let n = 0; n < 40; n++) await inject(inbox.id, `Subject: number ${n}\r\n\r\nx\r\n`);
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}/messages/${first}`);
    await page.getByRole('heading', { name: 'the oldest' }).waitFor();
    const row = page.locator('.pane-list a[aria-current=true]');
    await expect.poll(() => row.textContent()).toContain('the oldest');
    // In sight, not only in the page.
    const isInSight = `(() => {
      const row = document.querySelector('.pane-list a[aria-current=true]').getBoundingClientRect();
      return row.top >= 0 && row.bottom <= innerHeight;
    })()`;
    await expect.poll(() => page.evaluate(isInSight)).toBe(true);
    await context.close();
  });
});
