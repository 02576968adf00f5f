import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, LOOKS, row, SIGN_UP } from './console.ts';

describeConsole('a page that stays open', { ...SIGN_UP, MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' }, (site) => {
  /** Makes the page believe that it is hidden, or shown again. */
  const setHidden = (page: Page, isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
       dispatchEvent(new Event('visibilitychange'))`,
    );

  it('shows nothing of an account after another tab has signed in with another one', async () => {
    const { body: other } = await site.app.api('POST', '/v1/accounts', { as: null, body: { name: 'other' } });
    const inbox = await site.app.createInbox();
    await site.inject(inbox.id, 'of the first account');
    const { context, page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'of the first account').waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes`);
    await second.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await second.getByLabel('API key or read token').fill(other.key.key ?? other.key);
    await second.keyboard.press('Enter');
    await second.getByText('No inboxes yet').waitFor();
    await page.getByText('There is nothing here').waitFor();
    expect(await row(page, 'of the first account').count()).toBe(0);
  });

  it('signs out when a verb finds that the session has ended, and comes back to the same screen', async () => {
    const inbox = await site.app.createInbox();
    const { context, page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await page.getByText('Waiting for the first mail').waitFor();
    await page.getByText('Live', { exact: true }).last().waitFor();
    // The session ends when the verb is sent: if it ended before, another request of the page could find that first.
    await page.route('**/v1/inboxes/*', async (route) => {
      if (route.request().method() === 'PATCH') await context.clearCookies();
      await route.continue();
    });
    await page.getByRole('button', { name: 'Extend by an hour' }).click();
    await page.getByLabel('API key or read token').fill(TEST_KEY);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}$`));
    await page.getByText('Waiting for the first mail').waitFor();
  });

  it('shows nothing more of an inbox when its time is over', async () => {
    const inbox = await site.app.createInbox({ ttlMinutes: 1 });
    await site.inject(inbox.id, 'until then');
    const { page, open } = await site.openConsole();
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`);
    // From then on the page knows when that is.
    await page
      .getByText(/\d s left/)
      .first()
      .waitFor();
    await row(page, 'until then').click();
    await page.getByRole('tab', { name: 'Text' }).waitFor();
    await site.app.api('POST', `/v1/inboxes/${inbox.id}/expire`);
    await page.clock.fastForward(62_000);
    await page.getByText('This inbox has expired').waitFor();
    expect(await page.getByText('until then').count()).toBe(0);
  });

  it('deletes several messages by the keyboard, and undoes each by itself', async () => {
    const inbox = await site.app.createInbox();
    for (const subject of ['one', 'two', 'three']) await site.inject(inbox.id, subject);
    const { page, open } = await site.openConsole();
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'three').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Delete');
    // The focus goes on to the next row.
    await expect.poll(() => page.locator(':focus').textContent()).toContain('two');
    await page.keyboard.press('Delete');
    await page.getByText('The message is deleted').nth(1).waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await row(page, 'two').waitFor();
    expect(await row(page, 'three').count()).toBe(0);
    await page.clock.fastForward(6_000);
    await expect.poll(() => site.subjects(inbox.id)).toEqual(['two', 'one']);
    await page.getByText('2 mails', { exact: true }).waitFor();
    // An inbox that is deleted from its own screen is not in the list to which that leads.
    await page.getByRole('button', { name: 'Delete the inbox' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inboxes' }).waitFor();
    await row(page, inbox.address).waitFor({ state: 'detached' });
  });

  it('sends a deletion that could still be undone when the page is closed', async () => {
    const inbox = await site.app.createInbox();
    await site.inject(inbox.id, 'last');
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'last').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Delete');
    await page.getByText('The message is deleted').waitFor();
    await page.close();
    await expect.poll(() => site.subjects(inbox.id)).toEqual([]);
  });

  it('begins its stream when the server responds again, though it did not at first', async () => {
    const inbox = await site.app.createInbox();
    const { page, open } = await site.openConsole();
    let isDown = true;
    await page.route(/\/v1\/(events|messages)/, (route) => (isDown ? route.abort() : route.continue()));
    await open(`/inboxes/${inbox.id}`);
    await page.getByText(/No connection to the server/).waitFor();
    isDown = false;
    await site.inject(inbox.id, 'at last');
    await row(page, 'at last').waitFor();
    await page.getByText(/No connection to the server/).waitFor({ state: 'detached' });
  });

  it('says how many mails came for what it shows while it was hidden', async () => {
    const [inbox, other] = [await site.app.createInbox(), await site.app.createInbox()];
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await page.getByText('Live', { exact: true }).last().waitFor();
    expect(await page.title()).toBe(`${inbox.address} · Mayfly`);
    await setHidden(page, true);
    await site.inject(other.id, 'elsewhere');
    await site.inject(inbox.id, 'here');
    await expect.poll(() => page.title()).toBe(`(1) ${inbox.address} · Mayfly`);
    await setHidden(page, false);
    await expect.poll(() => page.title()).toBe(`${inbox.address} · Mayfly`);
  });

  it('gets a little of what comes while it is hidden, and all of it when it is shown again', async () => {
    const inbox = await site.app.createInbox();
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await page.getByText('Live', { exact: true }).last().waitFor();
    await site.inject(inbox.id, 'before');
    await row(page, 'before').waitFor();
    const answers: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      answers.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/events'));
    const counting = page.waitForRequest((request) => request.url().includes('wait=60'));
    await setHidden(page, true);
    await Promise.all([ended, counting]);
    const mails = 100;
    for (let n = 0; n < mails; n++) await site.inject(inbox.id, `hidden ${n};`);
    await expect.poll(() => page.title()).toMatch(/^\([1-9]\+?\) /);
    const bytes = (await Promise.all(answers)).reduce((sum, one) => sum + one, 0);
    expect(bytes / mails).toBeLessThan(300);

    const resumed = page.waitForRequest((request) => request.url().includes('/v1/events'));
    await setHidden(page, false);
    await resumed;
    await row(page, `hidden ${mails - 1};`).waitFor();
    await expect
      .poll(() => page.locator('[aria-setsize]').first().getAttribute('aria-setsize'))
      .toBe(String(mails + 1));
  });

  it('leaves the stream to the tab that is shown', async () => {
    const inbox = await site.app.createInbox();
    const { context, page: first, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await first.getByText('Live', { exact: true }).last().waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes/${inbox.id}`);
    await second.getByText('Live', { exact: true }).last().waitFor();
    const streams: Page[] = [];
    for (const page of [first, second]) {
      page.on('request', (request) => {
        if (request.url().includes('/v1/events')) streams.push(page);
      });
    }
    const taken = second.waitForRequest((request) => request.url().includes('/v1/events'));
    await setHidden(first, true);
    await taken;
    await site.inject(inbox.id, 'to both');
    for (const page of [first, second]) await row(page, 'to both').waitFor();
    // Both are hidden, and the first is shown again: it has what came meanwhile.
    const counting = Promise.race(
      [first, second].map((page) => page.waitForRequest((request) => request.url().includes('wait=60'))),
    );
    await setHidden(second, true);
    await counting;
    await site.inject(inbox.id, 'while both were hidden');
    await setHidden(first, false);
    await row(first, 'while both were hidden').waitFor();
    expect(streams).toEqual([second, first]);
  });

  it('paused, the live list stays as it was, whatever comes and however far one scrolls', async () => {
    const inbox = await site.app.createInbox();
    for (let n = 0; n < 120; n++) await site.inject(inbox.id, `number ${n}`);
    const { page, open } = await site.openConsole();
    await open('/live');
    await row(page, 'number 119').waitFor();
    await page.keyboard.press('p');
    await page.keyboard.press('End');
    // The first page has 50; End goes to the last row of all when they are loaded.
    const isAtEnd = `(() => {
      const row = document.activeElement.closest('li');
      const [size, at] = ['aria-setsize', 'aria-posinset'].map((name) => Number(row?.getAttribute(name)));
      return size > 50 && at === size;
    })()`;
    await expect.poll(() => page.evaluate(isAtEnd)).toBe(true);
    await site.inject(inbox.id, 'held back');
    await page.getByRole('button', { name: 'Resume, 1 new' }).waitFor();
    await page.keyboard.press('Home');
    await expect.poll(() => page.locator(':focus').textContent()).toContain('number 119');
    await page.keyboard.press('p');
    await row(page, 'held back').waitFor();
  });

  it('costs few requests: mail that its filter leaves out, and deliveries that stay pending', async () => {
    const inbox = await site.app.createInbox({ labels: { run: '1' } });
    const other = await site.app.createInbox({ labels: { run: '2' } });
    const { page, open } = await site.openConsole();
    let requests = 0;
    page.on('request', (request) => {
      if (/\/v1\/(inboxes|webhooks)/.test(request.url())) requests += 1;
    });
    await open('/inboxes?label.run=1');
    await row(page, inbox.address).waitFor();
    await page.getByText('Live', { exact: true }).last().waitFor();
    requests = 0;
    for (let n = 0; n < 20; n++) await site.inject(other.id, `left out ${n}`);
    await site.inject(inbox.id, 'listed');
    await page.getByText('1 mail', { exact: true }).waitFor();
    expect(requests).toBeLessThanOrEqual(1);

    // Nothing listens there: attempts go on for hours.
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', {
      body: { url: 'http://127.0.0.1:8099/mail' },
    });
    await site.inject(inbox.id, 'not delivered');
    await page.clock.install();
    await open(`/webhooks/${webhook.id}`);
    await page.locator('tbody tr').first().waitFor();
    requests = 0;
    for (let minute = 0; minute < 60; minute++) await page.clock.runFor(60_000);
    expect(requests).toBeLessThanOrEqual(60);
  }, 120_000);

  it('copies without the permission for the clipboard, also in a dialog, and says when it cannot', async () => {
    const { page, open } = await site.openConsole(LOOKS[0]);
    await page.addInitScript(
      `Object.defineProperty(navigator, 'clipboard', { value: undefined });
       window.copied = [];
       document.addEventListener('copy', () => copied.push(document.activeElement.value));`,
    );
    await open('/keys?new=1');
    await page.getByLabel('What it is for').fill('copied');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const button = page.getByRole('button', { name: 'Copy the key' });
    await button.click();
    await page.getByText('Copied the key').waitFor();
    expect(await page.evaluate('copied')).toEqual([expect.stringMatching(/^mfk_/)]);
    await page.evaluate('document.execCommand = () => false');
    await button.click();
    await page.getByText(/The browser does not let this page copy. Select the key/).waitFor();
  });
});
