import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { appOfTest, TEST_KEY } from '../../support/start-app.ts';
import { startHttp } from '../../webhooks/receivers.ts';
import {
  describeConsole,
  expectAccessible,
  focused,
  LOOKS,
  numbered,
  press,
  row,
  SIGN_UP,
  signUpMail,
} from './console.ts';

const ENV = { ...SIGN_UP, MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

describeConsole('the console of two accounts', ENV, (site) => {
  it('by the keyboard alone', async () => {
    const inbox = await site.app.createInbox({ localPart: `keys-${Date.now()}` });
    for (const code of ['111111', '222222', '333333']) await site.app.send(signUpMail(inbox.address, code));
    const { page } = await site.show('/inboxes');
    await page.getByRole('link', { name: new RegExp(inbox.address) }).waitFor();
    await page.keyboard.press('j');
    await focused(page).toContain(inbox.address);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /333333/ }).waitFor();
    await press(page, 'j', 'j');
    await focused(page).toContain('222222');
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'HTML' }).waitFor();
    await page.keyboard.press('2');
    await page.getByText('Your code is 222222.').last().waitFor();
    expect(page.url()).toContain('view=text');
    await page.keyboard.press('x');
    await page.getByText('Copied code 222222').waitFor();
    await press(page, 'g', 'u');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('webhooks');
    await page
      .getByRole('option', { name: /Webhooks/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  });

  it('never loses the focus: after undoing, deleting the only row, filtering and going elsewhere', async () => {
    const inbox = await site.inboxWithSignUp({ labels: { run: 'focus' } });
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', {
      body: { url: 'http://127.0.0.1:8099/focus', inboxId: inbox.id },
    });
    await site.app.send(signUpMail(inbox.address, '555555'));
    const { page, open } = await site.openConsole();
    await open(`/inboxes?label.run=focus`);
    await page.getByRole('link', { name: inbox.address }).waitFor();
    await press(page, 'j', 'Delete');
    await page.getByText('No inbox matches').waitFor();
    await focused(page).toContain('Inboxes');
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await page.getByRole('link', { name: inbox.address }).waitFor();
    await focused(page).toContain('Inboxes');
    await press(page, 'j', 'Enter');
    await page.getByRole('link', { name: /555555/ }).waitFor();
    await focused(page).toContain(inbox.address);
    await open('/runs?label.run=focus');
    await page.getByText('All inboxes of the run').waitFor();
    await page.getByRole('button', { name: 'run=focus' }).press('Enter');
    await focused(page).toContain('Test runs');
    await open(`/webhooks/${webhook.id}`);
    const failed = page.getByRole('button', { name: 'failed', exact: true });
    await failed.press('Enter');
    await page.getByText('No delivery is in that state.').waitFor();
    await focused(page).toBe('failed');
  });

  it('says of an address that no inbox has where its mail goes, and lists what was refused', async () => {
    await site.app.send(signUpMail('nobody.takes.it@mayfly.test')).catch(() => undefined);
    const { page } = await site.show('/why');
    const refusal = page.getByRole('link', { name: 'nobody.takes.it@mayfly.test' });
    await refusal.click();
    await page.getByText(/is refused with 550 5\.1\.1/).waitFor();
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe(
      'nobody.takes.it@mayfly.test',
    );

    const taking = await appOfTest({ MAYFLY_SINK: 'on' });
    await taking.send(signUpMail('nobody.takes.it@mayfly.test'));
    const other = await site.openConsole(LOOKS[0], TEST_KEY, taking);
    await other.open('/why?address=nobody.takes.it@mayfly.test');
    await other.page.getByText('No inbox has this address: the sink takes its mail').waitFor();
    await other.page.getByRole('link', { name: 'Show the mail for this address' }).click();
    await other.page.getByRole('link', { name: /Please confirm your address/ }).waitFor();
    // The search field follows the URL.
    const search = other.page.getByLabel('Search messages');
    expect(await search.inputValue()).toBe('to:nobody.takes.it@mayfly.test');
    await search.fill('Subject:nothing');
    await other.page.keyboard.press('Enter');
    await other.page.getByText('No message matches').waitFor();
    await search.fill('sender:nobody');
    await other.page.keyboard.press('Enter');
    await other.page.getByText('"sender:" in "q" is no search operator').waitFor();
    await search.fill('-nobody confirm "your address" -confirm');
    await other.page.keyboard.press('Enter');
    await other.page.getByRole('button', { name: 'Show all messages' }).click();
    await other.page.getByRole('link', { name: /Please confirm your address/ }).waitFor();
    expect(await search.inputValue()).toBe('');
  });

  it('keeps no key: nothing in storage, the address, or what scripts can read', async () => {
    const { context, page } = await site.openConsole(LOOKS[0], null);
    await page.goto(`${site.app.url}/console/sign-in`);
    await page.getByLabel('API key or read token').fill(TEST_KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Live' }).waitFor();
    const readable = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    expect(readable).not.toContain(TEST_KEY);
    expect(readable).not.toContain('mfs_');
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  });

  it('a link with a read token opens its inbox and nothing else', async () => {
    const inbox = await site.inboxWithSignUp();
    const { page, open } = await site.show(`/open#${inbox.token}`, LOOKS[0], null);
    await page.getByRole('link', { name: /Please confirm/ }).waitFor();
    expect(page.url()).not.toContain('mft_');
    await open('/keys');
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}$`));
    // New mail is shown too.
    await site.app.send({ ...signUpMail(inbox.address), subject: 'A second one' });
    await page.getByRole('link', { name: /A second one/ }).waitFor();
  });

  it('replays all deliveries that failed, and shows those of one state', async () => {
    let status = 410;
    const endpoint = await startHttp((response) => response.writeHead(status).end());
    const body = { url: `http://127.0.0.1:${endpoint.port}/mail` };
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body });
    const inbox = await site.app.createInbox();
    const states = async () =>
      (await site.app.api('GET', `/v1/webhooks/${webhook.id}/deliveries`)).body.deliveries.map(
        (one: { state: string }) => one.state,
      );
    // A 410 fails at once and disables the endpoint.
    await site.app.send(signUpMail(inbox.address));
    await expect.poll(states).toEqual(['failed']);
    status = 204;
    await site.app.api('PATCH', `/v1/webhooks/${webhook.id}`, { body: { enabled: true } });
    await site.app.send(signUpMail(inbox.address));
    await expect.poll(states).toEqual(['delivered', 'failed']);

    const { page } = await site.show(`/webhooks/${webhook.id}?state=failed`);
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText('1 delivery is attempted again').waitFor();
    await expect.poll(states).toEqual(['delivered', 'delivered']);
    await page.getByRole('button', { name: 'delivered' }).click();
    await expect.poll(() => rows.count()).toBe(2);
    await site.app.api('DELETE', `/v1/webhooks/${webhook.id}`);
    await endpoint.close();
  });

  it('creates an inbox with a telephone number, and shows the SMS that it gets', async () => {
    const { page } = await site.show('/inboxes', LOOKS[1]);
    await page.getByRole('button', { name: 'New inbox' }).first().click();
    await page.getByLabel('Address').selectOption('Telephone number (SMS)');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Telephone number', { exact: true }).waitFor();
    const { body } = await site.app.api('GET', '/v1/inboxes?limit=1');
    const [{ phoneNumber }] = body.inboxes;
    const sent = await fetch(`${site.app.url}/providers/twilio/2010-04-01/Accounts/AC1/Messages.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`AC1:${TEST_KEY}`)}` },
      body: new URLSearchParams({ From: '+15005550006', To: phoneNumber, Body: 'Your code is 482913' }),
    });
    expect(sent.status).toBe(201);
    await page.getByRole('button', { name: 'Open the inbox' }).click();
    await page.getByText(phoneNumber).first().waitFor();
    const row = page.getByRole('link', { name: /\+15005550006.*\(no subject\).*Your code is 482913/s });
    await row.waitFor();
    await expectAccessible(page, 'an inbox with a telephone number');
    await row.click();
    await page.getByRole('heading', { name: '(no subject)' }).waitFor();
    await page.getByText('Twilio').first().waitFor();
    await expectAccessible(page, 'an SMS');
  });

  it('replies to a mail, and lists what went back and what becomes of the next mails', async () => {
    const [inbox, shop] = [await site.app.createInbox(), await site.app.createInbox()];
    await site.app.send({ ...signUpMail(inbox.address), from: shop.address });
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await page.getByRole('link', { name: /Please confirm your address/ }).click();
    await page.getByRole('button', { name: 'Reply' }).click();
    await page.getByRole('textbox', { name: new RegExp(shop.address) }).fill('Thanks, that helped.');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(`Thanks, that helped. · ${shop.address}`).waitFor();
    const { body: list } = await site.app.api('GET', `/v1/inboxes/${shop.id}/messages?wait=20`);
    expect(list.messages[0].subject).toBe('Re: Please confirm your address');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('1 mail: bounces.').waitFor();
    const { body: outcomes } = await site.app.api('GET', `/v1/inboxes/${inbox.id}/outcomes`);
    expect(outcomes.rules).toMatchObject([{ outcome: 'bounce', left: 1 }]);
  });

  /** Emulates that the page is hidden or shown. */
  const setHidden = (page: Page, isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
     dispatchEvent(new Event('visibilitychange'))`,
    );

  it('shows nothing of an account after another tab has signed in with another one', async () => {
    const other = await site.app.newAccount();
    const inbox = await site.inboxWith('of the first account');
    const { context, page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'of the first account').waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes`);
    await second.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await second.getByLabel('API key or read token').fill(other);
    await second.keyboard.press('Enter');
    await second.getByText('No inboxes yet').waitFor();
    await page.getByText('There is nothing here').waitFor();
    expect(await row(page, 'of the first account').count()).toBe(0);
  });

  it('signs out when a verb finds that the session has ended, and comes back to the same screen', async () => {
    const inbox = await site.app.createInbox();
    const { context, page } = await site.show(`/inboxes/${inbox.id}`);
    await page.getByText('Waiting for the first mail').waitFor();
    await page.getByText('Live', { exact: true }).last().waitFor();
    // The session ends only with this request, because another request of the page could notice it before.
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
    // The page knows the time of expiry now.
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
    const inbox = await site.inboxWith('one', 'two', 'three');
    const { page, open } = await site.openConsole();
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'three').waitFor();
    await press(page, 'j', 'Delete');
    // The focus moves to the next row.
    await focused(page).toContain('two');
    await page.keyboard.press('Delete');
    await page.getByText('The message is deleted').nth(1).waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await row(page, 'two').waitFor();
    expect(await row(page, 'three').count()).toBe(0);
    await page.clock.fastForward(6_000);
    await expect.poll(() => site.subjects(inbox.id)).toEqual(['two', 'one']);
    await page.getByText('2 mails', { exact: true }).waitFor();
    // Deleting an inbox leads to the list, which does not contain it.
    await page.getByRole('button', { name: 'Delete the inbox' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inboxes' }).waitFor();
    await row(page, inbox.address).waitFor({ state: 'detached' });
  });

  it('sends a deletion that could still be undone when the page is closed', async () => {
    const inbox = await site.inboxWith('last');
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'last').waitFor();
    await press(page, 'j', 'Delete');
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

  it('hidden, says how many mails came for what it shows, and gets a little of them; shown again, all', async () => {
    const [inbox, other] = [await site.app.createInbox(), await site.app.createInbox()];
    const { page } = await site.show(`/inboxes/${inbox.id}`);
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
    await site.inject(other.id, 'elsewhere');
    await page.waitForTimeout(500);
    expect(await page.title()).toBe(`${inbox.address} · Mayfly`);
    await site.inject(inbox.id, 'hidden 0;');
    await expect.poll(() => page.title()).toBe(`(1) ${inbox.address} · Mayfly`);
    for (let n = 1; n < mails; n++) await site.inject(inbox.id, `hidden ${n};`);
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
    await expect.poll(() => page.title()).toBe(`${inbox.address} · Mayfly`);
  });

  it('has one stream for all its tabs: that of one that is shown, and another one goes on with it', async () => {
    const inbox = await site.app.createInbox();
    const { context, page: first, open } = await site.openConsole();
    const streams: Page[] = [];
    context.on('request', (request) => {
      if (request.url().includes('/v1/events')) streams.push(request.frame().page());
    });
    await open(`/inboxes/${inbox.id}`);
    await first.getByText('Live', { exact: true }).last().waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes/${inbox.id}`);
    await second.getByText('Live', { exact: true }).last().waitFor();
    const taken = second.waitForRequest((request) => request.url().includes('/v1/events'));
    await setHidden(first, true);
    await taken;
    await site.inject(inbox.id, 'to both');
    for (const page of [first, second]) await row(page, 'to both').waitFor();
    // Both are hidden; the first one, shown again, has the mail that arrived meanwhile.
    const counting = Promise.race(
      [first, second].map((page) => page.waitForRequest((request) => request.url().includes('wait=60'))),
    );
    await setHidden(second, true);
    await counting;
    await site.inject(inbox.id, 'while both were hidden');
    await setHidden(first, false);
    await row(first, 'while both were hidden').waitFor();
    expect(streams).toEqual([first, second, first]);
    await setHidden(second, false);
    await first.close();
    await site.inject(inbox.id, 'to the one that is left');
    await row(second, 'to the one that is left').waitFor();
  });

  it('paused, the live list stays as it was, whatever comes and however far one scrolls', async () => {
    const inbox = await site.inboxWith(...numbered(120, (n) => `number ${n}`));
    const { page } = await site.show('/live');
    await row(page, 'number 119').waitFor();
    await press(page, 'p', 'End');
    // The first page of the list has 50 rows; End loads the others and moves to the last one.
    const isAtEnd = `(() => {
    const row = document.activeElement.closest('li');
    const [size, at] = ['aria-setsize', 'aria-posinset'].map((name) => Number(row?.getAttribute(name)));
    return size > 50 && at === size;
  })()`;
    await expect.poll(() => page.evaluate(isAtEnd)).toBe(true);
    await site.inject(inbox.id, 'held back');
    await page.getByRole('button', { name: 'Resume, 1 new' }).waitFor();
    await page.keyboard.press('Home');
    await focused(page).toContain('number 119');
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

    // Nothing listens there, so attempts are repeated for hours.
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
