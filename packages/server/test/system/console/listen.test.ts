import { connect } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import { expectAccessible, LOOKS, openConsole, signUpMail } from './console.ts';

describe.skipIf(!CHROMIUM)('the first screen (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    [app, browser] = await Promise.all([startApp(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  it('shows each attempt to send as it happens, until the first mail is there with its code', async () => {
    const { context, page, open, complaints } = await openConsole(browser, app, LOOKS[1]);
    await open('/');
    await page.getByText('Listening').waitFor();
    // Host and port of this server, and code for a framework that is chosen.
    await page.getByText(`${app.smtp.host}:${app.smtp.port}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Django' }).click();
    await page.getByText(`EMAIL_PORT = ${app.smtp.port}`).waitFor();
    await expectAccessible(page, 'listening');
    await page.getByRole('button', { name: 'A fresh inbox' }).click();
    // A client that leaves without a mail is told of too.
    const client = connect(app.smtp.port, app.smtp.host);
    client.once('data', () => client.end('EHLO app.example\r\nQUIT\r\n'));
    await page.getByText(/connected and left without naming a recipient/).waitFor();

    await app.send(signUpMail('nobody@mayfly.test')).catch(() => undefined);
    await page.getByText('550 5.1.1').waitFor();
    await page.getByRole('link', { name: 'nobody@mayfly.test' }).waitFor();
    await page.getByRole('button', { name: 'Send a test mail' }).click();
    const code = page.locator('.big-code').getByRole('button');
    await code.click();
    await page.getByText(/Copied code \d{6}/).waitFor();
    await expectAccessible(page, 'listening, with mail');
    await page.getByRole('button', { name: 'Show all mail' }).click();
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    // With mail, the same address shows the list at once.
    await open('/');
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/live');
    expect(complaints).toEqual([]);
    await context.close();
  });
});
