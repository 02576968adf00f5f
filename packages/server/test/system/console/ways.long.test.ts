import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { appOfTest, TEST_KEY } from '../../support/start-app.ts';
import { startHttp } from '../../webhooks/receivers.ts';
import {
  describeConsole,
  exact,
  expectAccessible,
  first,
  focused,
  heading,
  LIVE,
  last,
  NARROW,
  numbered,
  role,
  row,
  SIGN_UP,
  signUpMail,
} from './console.ts';

const env = { ...SIGN_UP, MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

describeConsole('the console of two accounts', { env }, (site) => {
  it('by the keyboard alone', async () => {
    const inbox = await site.app.createInbox({ localPart: `keys-${Date.now()}` });
    for (const code of ['111111', '222222', '333333']) await site.app.send(signUpMail(inbox.address, code));
    const { page, press, type } = await site.show('/inboxes', row(inbox.address));
    await press('j', focused(inbox.address));
    await press('Enter', row('333333'));
    await press('j j', focused('222222'));
    await press('Enter', role('tab', 'HTML'));
    await press('2', last('Your code is 222222.'));
    expect(page.url()).toContain('view=text');
    await press('x', 'Copied code 222222');
    await press('g u', heading('Usage'));
    await press('?', role('dialog', 'Keys'));
    await press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
    await press('Control+k', () => page.locator('[role=combobox]:focus'));
    await type('webhooks', first(role('option', /Webhooks/)));
    await press('Enter', role('heading', 'Webhooks', { level: 1 }));
  });

  it('never loses the focus: after undoing, deleting the only row, filtering and going elsewhere', async () => {
    const inbox = await site.inboxWithSignUp({ labels: { run: 'focus' } });
    const hook = { url: 'http://127.0.0.1:8099/focus', inboxId: inbox.id };
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body: hook });
    await site.app.send(signUpMail(inbox.address, '555555'));
    const { open, find, press, sees } = await site.show('/inboxes?label.run=focus', row(inbox.address));
    await press('j Delete', 'No inbox matches', focused('Inboxes'));
    await find(role('button', 'Undo')).press('Enter');
    await sees(row(inbox.address), focused('Inboxes'));
    await press('j Enter', row('555555'), focused(inbox.address));
    await open('/runs?label.run=focus', 'All inboxes of the run');
    await find(role('button', 'run=focus')).press('Enter');
    await sees(focused('Test runs'));
    await open(`/webhooks/${webhook.id}`);
    await find(role('button', 'failed', { exact: true })).press('Enter');
    await sees('No delivery is in that state.', focused('^failed$'));
  });

  it('says of an address that no inbox has where its mail goes, and lists what was refused', async () => {
    await site.app.send(signUpMail('nobody.takes.it@mayfly.test')).catch(() => undefined);
    const { page, click } = await site.show('/why');
    await click(role('link', 'nobody.takes.it@mayfly.test'), /is refused with 550 5\.1\.1/);
    const address = page.getByLabel('Address', { exact: true });
    expect(await address.inputValue()).toBe('nobody.takes.it@mayfly.test');

    const app = await appOfTest({ MAYFLY_SINK: 'on' });
    await app.send(signUpMail('nobody.takes.it@mayfly.test'));
    const taken = 'No inbox has this address: the sink takes its mail';
    const ofSink = await site.show('/why?address=nobody.takes.it@mayfly.test', taken, { app });
    await ofSink.click(role('link', 'Show the mail for this address'), row('Please confirm your address'));
    // The search field follows the URL.
    const search = ofSink.page.getByLabel('Search messages');
    expect(await search.inputValue()).toBe('to:nobody.takes.it@mayfly.test');
    for (const [query, answer] of [
      ['Subject:nothing', 'No message matches'],
      ['sender:nobody', '"sender:" in "q" is no search operator'],
      ['-nobody confirm "your address" -confirm', role('button', 'Show all messages')],
    ] as const) {
      await search.fill(query);
      await ofSink.press('Enter', answer);
    }
    await ofSink.click('Show all messages', row('Please confirm your address'));
    expect(await search.inputValue()).toBe('');
  });

  it('keeps no key: nothing in storage, the address, or what scripts can read', async () => {
    const { context, page, open, press, fill } = await site.openConsole({ as: null });
    await open('/sign-in');
    await fill('API key or read token', TEST_KEY);
    await press('Enter', heading('Live'));
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
    const path = `/open#${inbox.token}`;
    const { page, open, sees } = await site.show(path, row('Please confirm'), { as: null });
    expect(page.url()).not.toContain('mft_');
    await open('/keys');
    await page.waitForURL(new RegExp(`/inboxes/${inbox.id}$`));
    // New mail is shown too.
    await site.app.send({ ...signUpMail(inbox.address), subject: 'A second one' });
    await sees(row('A second one'));
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

    const { page, click } = await site.show(`/webhooks/${webhook.id}?state=failed`);
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(1);
    await click('Replay…');
    await click(/^Replay$/, '1 delivery is attempted again');
    await expect.poll(states).toEqual(['delivered', 'delivered']);
    await click('delivered');
    await expect.poll(() => rows.count()).toBe(2);
    await site.app.api('DELETE', `/v1/webhooks/${webhook.id}`);
    await endpoint.close();
  });

  it('creates an inbox with a telephone number, and shows the SMS that it gets', async () => {
    const { page, click } = await site.show('/inboxes', undefined, { look: NARROW });
    await click(first(role('button', 'New inbox')));
    await page.getByLabel('Address').selectOption('Telephone number (SMS)');
    await click(/^Create$/, exact('Telephone number'));
    const { body } = await site.app.api('GET', '/v1/inboxes?limit=1');
    const [{ phoneNumber }] = body.inboxes;
    const sent = await fetch(`${site.app.url}/providers/twilio/2010-04-01/Accounts/AC1/Messages.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`AC1:${TEST_KEY}`)}` },
      body: new URLSearchParams({ From: '+15005550006', To: phoneNumber, Body: 'Your code is 482913' }),
    });
    expect(sent.status).toBe(201);
    const sms = role('link', /\+15005550006.*\(no subject\).*Your code is 482913/s);
    await click('Open the inbox', first(phoneNumber), sms);
    await expectAccessible(page, 'an inbox with a telephone number');
    await click(sms, heading('(no subject)'), first('Twilio'));
    await expectAccessible(page, 'an SMS');
  });

  it('replies to a mail, and lists what went back and what becomes of the next mails', async () => {
    const [inbox, shop] = [await site.app.createInbox(), await site.app.createInbox()];
    await site.app.send({ ...signUpMail(inbox.address), from: shop.address });
    const { find, click } = await site.show(`/inboxes/${inbox.id}`);
    await click(row('Please confirm your address'));
    await click('Reply');
    await find(role('textbox', new RegExp(shop.address))).fill('Thanks, that helped.');
    await click('Send', `Thanks, that helped. · ${shop.address}`);
    const { body: list } = await site.app.api('GET', `/v1/inboxes/${shop.id}/messages?wait=20`);
    expect(list.messages[0].subject).toBe('Re: Please confirm your address');
    await click('Add', '1 mail: bounces.');
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
    const { context, find, sees } = await site.show(`/inboxes/${inbox.id}`, row('of the first account'));
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes`);
    await second.getByRole('button', { name: 'Sign out' }).click();
    await sees(role('button', 'Sign in'));
    await second.getByLabel('API key or read token').fill(other);
    await second.keyboard.press('Enter');
    await second.getByText('No inboxes yet').waitFor();
    await sees('There is nothing here');
    expect(await find(row('of the first account')).count()).toBe(0);
  });

  it('signs out when a verb finds that the session has ended, and comes back to the same screen', async () => {
    const inbox = await site.app.createInbox();
    const path = `/inboxes/${inbox.id}`;
    const { context, page, click, press, fill, sees } = await site.show(path, 'Waiting for the first mail');
    await sees(LIVE);
    // The session ends only with this request, because another request of the page could notice it before.
    await page.route('**/v1/inboxes/*', async (route) => {
      if (route.request().method() === 'PATCH') await context.clearCookies();
      await route.continue();
    });
    await click('Extend by an hour');
    await fill('API key or read token', TEST_KEY);
    await press('Enter', 'Waiting for the first mail');
    expect(page.url()).toMatch(new RegExp(`${path}$`));
  });

  it('shows nothing more of an inbox when its time is over', async () => {
    const inbox = await site.app.createInbox({ ttlMinutes: 1 });
    await site.inject(inbox.id, 'until then');
    const { page, open, find, click, sees } = await site.openConsole();
    await page.clock.install();
    // The page knows the time of expiry now.
    await open(`/inboxes/${inbox.id}`, first(/\d s left/));
    await click(row('until then'), role('tab', 'Text'));
    await site.app.api('POST', `/v1/inboxes/${inbox.id}/expire`);
    await page.clock.fastForward(62_000);
    await sees('This inbox has expired');
    expect(await find('until then').count()).toBe(0);
  });

  it('deletes several messages by the keyboard, and undoes each by itself', async () => {
    const inbox = await site.inboxWith('one', 'two', 'three');
    const { page, open, find, click, press, sees, gone } = await site.openConsole();
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`, row('three'));
    // The focus moves to the next row.
    await press('j Delete', focused('two'));
    await press('Delete', () => page.getByText('The message is deleted').nth(1));
    await click(last(role('button', 'Undo')), row('two'));
    expect(await find(row('three')).count()).toBe(0);
    await page.clock.fastForward(6_000);
    await expect.poll(() => site.subjects(inbox.id)).toEqual(['two', 'one']);
    await sees(exact('2 mails'));
    // Deleting an inbox leads to the list, which does not contain it.
    await click('Delete the inbox', role('heading', 'Inboxes', { level: 1 }));
    await gone(row(inbox.address));
  });

  it('sends a deletion that could still be undone when the page is closed', async () => {
    const inbox = await site.inboxWith('last');
    const { page, press } = await site.show(`/inboxes/${inbox.id}`, row('last'));
    await press('j Delete', 'The message is deleted');
    await page.close();
    await expect.poll(() => site.subjects(inbox.id)).toEqual([]);
  });

  it('begins its stream when the server responds again, though it did not at first', async () => {
    const inbox = await site.app.createInbox();
    const { page, open, sees, gone } = await site.openConsole();
    let isDown = true;
    await page.route(/\/v1\/(events|messages)/, (route) => (isDown ? route.abort() : route.continue()));
    await open(`/inboxes/${inbox.id}`, /No connection to the server/);
    isDown = false;
    await site.inject(inbox.id, 'at last');
    await sees(row('at last'));
    await gone(/No connection to the server/);
  });

  it('hidden, says how many mails came for what it shows, and gets a little of them; shown again, all', async () => {
    const [inbox, other] = [await site.app.createInbox(), await site.app.createInbox()];
    const { page, sees } = await site.show(`/inboxes/${inbox.id}`, LIVE);
    await site.inject(inbox.id, 'before');
    await sees(row('before'));
    const answers: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      answers.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/events'));
    const counting = page.waitForRequest(/wait=60/);
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

    const resumed = page.waitForRequest(/\/v1\/events/);
    await setHidden(page, false);
    await resumed;
    await sees(row(`hidden ${mails - 1};`));
    const size = () => page.locator('[aria-setsize]').first().getAttribute('aria-setsize');
    await expect.poll(size).toBe(String(mails + 1));
    await expect.poll(() => page.title()).toBe(`${inbox.address} · Mayfly`);
  });

  it('has one stream for all its tabs: that of one that is shown, and another one goes on with it', async () => {
    const inbox = await site.app.createInbox();
    const { context, page: first, open } = await site.openConsole();
    const streams: Page[] = [];
    context.on('request', (request) => {
      if (request.url().includes('/v1/events')) streams.push(request.frame().page());
    });
    await open(`/inboxes/${inbox.id}`, LIVE);
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes/${inbox.id}`);
    await LIVE(second).waitFor();
    const taken = second.waitForRequest(/\/v1\/events/);
    await setHidden(first, true);
    await taken;
    await site.inject(inbox.id, 'to both');
    for (const page of [first, second]) await row('to both')(page).waitFor();
    // Both are hidden; the first one, shown again, has the mail that arrived meanwhile.
    const counting = Promise.race([first, second].map((page) => page.waitForRequest(/wait=60/)));
    await setHidden(second, true);
    await counting;
    await site.inject(inbox.id, 'while both were hidden');
    await setHidden(first, false);
    await row('while both were hidden')(first).waitFor();
    expect(streams).toEqual([first, second, first]);
    await setHidden(second, false);
    await first.close();
    await site.inject(inbox.id, 'to the one that is left');
    await row('to the one that is left')(second).waitFor();
  });

  it('paused, the live list stays as it was, whatever comes and however far one scrolls', async () => {
    const inbox = await site.inboxWith(...numbered(120, (n) => `number ${n}`));
    const { page, press, sees } = await site.show('/live', row('number 119'));
    await press('p End');
    // The first page of the list has 50 rows; End loads the others and moves to the last one.
    const isAtEnd = `(() => {
    const row = document.activeElement.closest('li');
    const [size, at] = ['aria-setsize', 'aria-posinset'].map((name) => Number(row?.getAttribute(name)));
    return size > 50 && at === size;
  })()`;
    await expect.poll(() => page.evaluate(isAtEnd)).toBe(true);
    await site.inject(inbox.id, 'held back');
    await sees(role('button', 'Resume, 1 new'));
    await press('Home', focused('number 119'));
    await press('p', row('held back'));
  });

  it('costs few requests: mail that its filter leaves out, and deliveries that stay pending', async () => {
    const inbox = await site.app.createInbox({ labels: { run: '1' } });
    const other = await site.app.createInbox({ labels: { run: '2' } });
    const { page, open, sees } = await site.openConsole();
    let requests = 0;
    page.on('request', (request) => {
      if (/\/v1\/(inboxes|webhooks)/.test(request.url())) requests += 1;
    });
    await open('/inboxes?label.run=1', row(inbox.address), LIVE);
    requests = 0;
    for (let n = 0; n < 20; n++) await site.inject(other.id, `left out ${n}`);
    await site.inject(inbox.id, 'listed');
    await sees(exact('1 mail'));
    expect(requests).toBeLessThanOrEqual(1);

    // Nothing listens there, so attempts are repeated for hours.
    const hook = { url: 'http://127.0.0.1:8099/mail' };
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body: hook });
    await site.inject(inbox.id, 'not delivered');
    await page.clock.install();
    await open(`/webhooks/${webhook.id}`, () => page.locator('tbody tr').first());
    requests = 0;
    for (let minute = 0; minute < 60; minute++) await page.clock.runFor(60_000);
    expect(requests).toBeLessThanOrEqual(60);
  }, 120_000);

  it('copies without the permission for the clipboard, also in a dialog, and says when it cannot', async () => {
    const { page, open, click, fill } = await site.openConsole();
    await page.addInitScript(
      `Object.defineProperty(navigator, 'clipboard', { value: undefined });
     window.copied = [];
     document.addEventListener('copy', () => copied.push(document.activeElement.value));`,
    );
    await open('/keys?new=1');
    await fill('What it is for', 'copied');
    await click(/^Create$/);
    await click('Copy the key', 'Copied the key');
    expect(await page.evaluate('copied')).toEqual([expect.stringMatching(/^mfk_/)]);
    await page.evaluate('document.execCommand = () => false');
    await click('Copy the key', /The browser does not let this page copy. Select the key/);
  });
});
