import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import { LOOKS, openConsole, signUpMail } from './console.ts';

describe.skipIf(!CHROMIUM)('the console in a browser (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    [app, browser] = await Promise.all([startApp({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' }), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  it.each(inForm(LOOKS.slice(0, 1), [...LOOKS]))(
    'from signing in to deleting a mail, $width px wide and $colorScheme',
    async (look) => {
      const { context, page, complaints } = await openConsole(browser, app, look, null);
      // A pasted link comes back after signing in.
      await page.goto(`${app.url}/console/inboxes?new=1`);
      await page.getByLabel('API key or read token').fill('mfk_wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('API key or read token').fill(TEST_KEY);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('button', { name: 'Open the inbox' }).click();
      const heading = page.getByRole('heading', { name: /@mayfly\.test/ });
      const address = /\S+@mayfly\.test/.exec((await heading.textContent()) ?? '')?.[0] ?? '';
      await page.getByText('Waiting for the first mail').waitFor();

      await app.send(signUpMail(address));
      const row = page.getByRole('link', { name: /Please confirm your address/ });
      await row.waitFor();
      await row.click();
      await page.getByRole('heading', { name: 'Please confirm your address' }).waitFor();
      await page.frameLocator('iframe').getByText('Welcome').waitFor();
      await page.getByRole('tab', { name: /Codes/ }).click();
      await page.getByText('https://shop.example/confirm?token=abc', { exact: true }).waitFor();
      await page
        .getByRole('tabpanel')
        .getByRole('button', { name: /code 482913/ })
        .click();
      await page.getByText('Copied code 482913').waitFor();
      await page.getByRole('tab', { name: 'Text' }).click();
      expect(page.url()).toContain('view=text');

      await page.getByRole('button', { name: 'Delete the message' }).click();
      await page.getByText('Waiting for the first mail').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await row.waitFor();
      expect(complaints).toEqual([]);
      await context.close();
    },
  );

  it('shows why nothing came, with the letters that differ', async () => {
    const inbox = await app.createInbox({ localPart: 'brave.otter' });
    await app.send(signUpMail(inbox.address));
    await app.send(signUpMail('brave.oter@mayfly.test')).catch(() => undefined);
    const { context, page, open } = await openConsole(browser, app);
    await open(`/why?address=${inbox.address}`);
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}/why`));
    await page.getByLabel('Subject').fill('invoice');
    await page.getByRole('button', { name: 'Look again' }).click();
    await page.getByText(/1 message arrived; none has "invoice" in its subject/).waitFor();
    await page.getByText('brave.oter@mayfly.test').first().waitFor();
    expect(page.url()).toContain('subject=invoice');
    await context.close();
  });
});
