import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import { openConsole, signUpMail } from './console.ts';

/**
 * Presses keys one after the other without a frame or a response between them, as a script or somebody quick does on
 * a slow machine. As text, because the types of the DOM are not those of a test.
 */
const quickly = (page: Page, keys: readonly string[]): Promise<unknown> =>
  page.evaluate(`(async () => {
    for (const key of ${JSON.stringify(keys)}) {
      const target = document.activeElement;
      const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
      if (target.dispatchEvent(event) && target.matches('input')) {
        if (key === 'Enter') target.form?.requestSubmit();
        else {
          target.value += key;
          target.dispatchEvent(new InputEvent('input', { bubbles: true }));
        }
      }
      // What is rendered in microtasks is rendered; no frame comes between.
      for (let turn = 0; turn < 50; turn++) await null;
    }
  })()`);

/** Holds requests of a page back. @returns lets them go */
async function hold(page: Page, method: string, what: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(what, async (route) => {
    if (route.request().method() === method) await promise;
    await route.fallback();
  });
  return resolve;
}

describe.skipIf(!CHROMIUM)('keys and letters that come quickly (skipped where there is no Chromium)', () => {
  let app: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    const plans = { free: { maxLiveInboxes: null, requestsPerSecond: null, burst: null } };
    const env = { MAYFLY_PLANS: JSON.stringify(plans), MAYFLY_SIGNUP_PLAN: 'free' };
    [app, browser] = await Promise.all([startApp(env), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  const inject = async (id: string, subject: string, code = '482913'): Promise<string> => {
    const { body } = await app.api('POST', `/v1/inboxes/${id}/messages`, {
      body: `Subject: ${subject}\r\n\r\nYour code is ${code}\r\n`,
      headers: { 'content-type': 'message/rfc822' },
    });
    return body.id;
  };
  const row = (page: Page, subject: string) => page.getByRole('link', { name: new RegExp(subject) });
  const focused = (page: Page) => expect.poll(() => page.locator(':focus').textContent());

  it('letters after Ctrl K are searched, also before the script of the search is there', async () => {
    const { context, page, open } = await openConsole(browser, app);
    const letGo = await hold(page, 'GET', /palette-.*\.js/);
    await open('/inboxes');
    await page.getByRole('heading', { name: 'Inboxes', exact: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('n usage');
    letGo();
    await page.getByRole('combobox').waitFor();
    expect(await page.getByRole('combobox').inputValue()).toBe('n usage');
    expect(page.url()).not.toContain('new=1');
    await context.close();
  });

  it('Enter in the search of everything opens what was typed, not what was found before', async () => {
    const inbox = await app.createInbox();
    await inject(inbox.id, 'the first', '111222');
    await inject(inbox.id, 'the second', '333444');
    const { context, page, open } = await openConsole(browser, app);
    await open('/inboxes');
    await page.getByRole('link', { name: inbox.address }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('code:111222');
    await page.getByRole('option', { name: 'the first' }).waitFor();
    const letGo = await hold(page, 'GET', /q=code%3A333444/);
    await page.getByRole('combobox').fill('code:333444');
    await page.keyboard.press('Enter');
    letGo();
    await page.getByRole('heading', { name: 'the second' }).waitFor();
    await context.close();
  });

  it('letters after Enter in a search stay in its field', async () => {
    const inbox = await app.createInbox();
    for (const subject of ['confirm', 'confide', 'other']) await inject(inbox.id, subject);
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'other').waitFor();
    const letGo = await hold(page, 'GET', /q=conf/);
    await page.getByLabel('Search messages').fill('conf');
    await page.keyboard.press('Enter');
    await page.keyboard.type('irm');
    letGo();
    await page.getByText('1 of 3', { exact: true }).waitFor();
    await page.keyboard.type('s');
    await page.getByText('No message matches').waitFor();
    expect(await page.getByLabel('Search messages').inputValue()).toBe('confirms');
    await context.close();
  });

  it('a label that is entered leaves the field to the next one', async () => {
    await app.createInbox({ labels: { run: '47', job: '11' } });
    const { context, page, open } = await openConsole(browser, app);
    for (const [path, field] of [
      ['/inboxes', 'Search inboxes'],
      ['/runs', 'Label of the run'],
    ] as const) {
      await open(path);
      await page.getByLabel(field).focus();
      await quickly(page, [...'run=47', 'Enter', ...'job']);
      await page.getByRole('button', { name: 'run=47' }).waitFor();
      expect(await page.getByLabel(field).inputValue()).toBe('job');
    }
    await context.close();
  });

  it('the field of “Why nothing came” shows the address that is explained', async () => {
    const address = `nobody-${Date.now()}@mayfly.test`;
    await app.send(signUpMail(address)).catch(() => undefined);
    const { context, page, open } = await openConsole(browser, app);
    await open('/why');
    await page.getByRole('link', { name: address }).click();
    await page.getByText('No inbox has this address').waitFor();
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(address);
    await context.close();
  });

  it('what was entered for a wait stays when another condition is removed', async () => {
    const inbox = await app.createInbox();
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}/why?hasAttachments=true`);
    await page.getByText('What the test waits for').click();
    await page.getByLabel('Subject').fill('confirm');
    await page.getByRole('button', { name: 'hasAttachments: true' }).click();
    await page.waitForURL(/subject=confirm/);
    expect(page.url()).not.toContain('hasAttachments');
    await page.getByLabel('Subject').waitFor();
    expect(await page.getByLabel('Subject').inputValue()).toBe('confirm');
    await context.close();
  });

  it('each key moves on from the row before: End and k, back and j, Delete three times', async () => {
    const inbox = await app.createInbox();
    for (let n = 0; n < 40; n++) await inject(inbox.id, `row ${n};`);
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'row 39;').waitFor();
    await quickly(page, ['End', 'k']);
    await focused(page).toContain('row 1;');
    await quickly(
      page,
      Array.from({ length: 30 }, () => 'k'),
    );
    await focused(page).toContain('row 31;');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'row 31;' }).waitFor();
    await page.evaluate(`addEventListener('popstate', async () => {
      for (let turn = 0; turn < 50; turn++) await null;
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
    }, { once: true })`);
    await page.keyboard.press('u');
    await focused(page).toContain('row 30;');
    await quickly(page, ['Delete', 'Delete', 'Delete']);
    await focused(page).toContain('row 27;');
    await page.getByText('The message is deleted').nth(2).waitFor();
    await context.close();
  });

  it('the keys of the views work before the mail is there', async () => {
    const inbox = await app.createInbox();
    const id = await inject(inbox.id, 'slow');
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'slow').waitFor();
    const letGo = await hold(page, 'GET', new RegExp(`messages/${id}$`));
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/messages\//);
    await page.keyboard.press('4');
    letGo();
    await page.getByRole('tab', { name: /Headers/, selected: true }).waitFor();
    await context.close();
  });

  it('two tags one after the other are both kept, as are three changes of what was read', async () => {
    const inbox = await app.createInbox();
    const id = await inject(inbox.id, 'tagged');
    const stored = async () => (await app.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`)).body;
    const { context, page, open } = await openConsole(browser, app);
    await open(`/inboxes/${inbox.id}/messages/${id}`);
    await page.getByRole('heading', { name: 'tagged' }).waitFor();
    const letGo = await hold(page, 'PATCH', new RegExp(`messages/${id}$`));
    for (const tag of ['one', 'two']) {
      await page.getByRole('button', { name: 'Tag', exact: true }).click();
      await page.getByLabel('New tag').fill(tag);
      await page.keyboard.press('Enter');
    }
    await page.getByRole('button', { name: 'two' }).waitFor();
    await quickly(page, ['e', 'e', 'e']);
    letGo();
    await expect.poll(async () => (await stored()).tags).toEqual(['one', 'two']);
    await expect.poll(async () => (await stored()).readAt).toBeNull();
    await page.getByRole('button', { name: 'Mark as read' }).waitFor();
    await context.close();
  });

  it('Enter twice in a form creates one key', async () => {
    const { context, page, open } = await openConsole(browser, app);
    await open('/keys?new=1');
    const letGo = await hold(page, 'POST', /\/v1\/keys$/);
    await page.getByLabel('What it is for').fill('only once');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    letGo();
    await page.getByText('API key, shown only now').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'only once' }).waitFor();
    const { body } = await app.api('GET', '/v1/keys');
    expect(body.keys.filter(({ name }: { name: string }) => name === 'only once')).toHaveLength(1);
    await context.close();
  });

  it('text that is selected beyond the edge of a dialog does not close it', async () => {
    const { context, page, open } = await openConsole(browser, app);
    await open('/webhooks?new=1');
    const field = page.getByLabel('URL');
    await field.fill('http://127.0.0.1:3000/hooks');
    const box = await field.boundingBox();
    await page.mouse.move((box?.x ?? 0) + 120, (box?.y ?? 0) + 10);
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await field.inputValue()).toBe('http://127.0.0.1:3000/hooks');
    await page.mouse.click(5, 5);
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await context.close();
  });
});
