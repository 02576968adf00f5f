import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
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

/** More messages than a page of a list, and than the API returns at once. */
const MANY = 230;

/** Clicks into the shown mail, and waits until its frame, which is another process, has returned the focus. */
async function clickIntoMail(page: Page): Promise<void> {
  const text = page.frameLocator('iframe').getByText('Welcome');
  await text.waitFor();
  // Code as text, because tests are compiled without the types of the DOM.
  const back = await page.evaluateHandle<{ promise: Promise<void> }>(`(() => {
    const { promise, resolve } = Promise.withResolvers();
    document.addEventListener('focusin', ({ target }) => {
      if (target instanceof Element && target.matches('[role=tabpanel]')) resolve();
    });
    return { promise };
  })()`);
  await text.click();
  await back.evaluate(({ promise }) => promise);
}

const env = { ...SIGN_UP, MAYFLY_SINK: 'on', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

describeConsole('the console with a sink', { env }, (site) => {
  it('searches as one types; Enter goes to the first row, from which j goes on', async () => {
    const inbox = await site.inboxWith('red one', 'red two', 'blue', 'green');
    const { find, press, type, fill } = await site.show(`/inboxes/${inbox.id}`, row('blue'));
    await press('/', 'Enter goes to the first result');
    await type('red', exact('2 of 4'));
    // The help does not cover the results.
    await find('Enter goes to the first result').waitFor({ state: 'hidden' });
    await press('Enter', focused('red two'));
    await press('j', focused('red one'));
    // An operator without a value is not searched.
    await fill('Search messages', 'subject:');
    await fill('Search messages', 'subject:blue', exact('1 of 4'));
  });

  it('keeps letters that are typed while the search for the former ones begins', async () => {
    const inbox = await site.inboxWith('red', 'rose');
    const { page, open, fill, sees } = await site.openConsole();
    // The next letter is typed whenever a search begins.
    await page.addInitScript(`
    const { replaceState } = history;
    history.replaceState = (state, title, url) => {
      replaceState.call(history, state, title, url);
      const typed = new URL(location.href).searchParams.get('q') ?? '';
      if (typed === '' || typed === 'rose') return;
      const input = document.querySelector('input[type=search]');
      input.value = 'rose'.slice(0, typed.length + 1);
      input.dispatchEvent(new InputEvent('input', { bubbles: true }));
    };
  `);
    for (const [path, field, found] of [
      [`/inboxes/${inbox.id}`, 'Search messages', '1 of 2'],
      ['/live', 'Search all messages', 'rose'],
      ['/inboxes', 'Search inboxes', 'No inbox matches'],
    ] as const) {
      await open(path);
      await fill(field, 'r');
      await page.waitForURL(/q=rose/);
      await sees(first(exact(found)));
      expect(await page.getByLabel(field).inputValue()).toBe('rose');
    }
  });

  it('comes back to the same row: from a message to Live, to a search, and to the inboxes', async () => {
    const inbox = await site.inboxWith(...numbered(12, (n) => `back ${n};`));
    for (let n = 0; n < 3; n++) await site.app.createInbox();
    const { page, open, click, press, sees } = await site.show('/live?q=back');
    await click(row('back 4;'), heading('back 4;'));
    await press('u');
    await page.waitForURL(/live\?q=back/);
    await sees(focused('back 4;'));
    await page.goBack();
    await open('/inboxes');
    await click(row(inbox.address));
    await click(row('back 7;'), role('tab', 'Text'));
    await page.goBack();
    await sees(focused('back 7;'));
    await press('u', focused(inbox.address));
  });

  it('selects many by keys and with Shift, and marks, tags and deletes them', async () => {
    const inbox = await site.inboxWith(...numbered(6, (n) => `many ${n};`));
    const { page, open, find, click, press, type, sees, gone } = await site.openConsole({ look: NARROW });
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`, row('many 5;'));
    await press('j s');
    await find(row('many 3;')).click({ modifiers: ['Shift'] });
    await sees('3 messages selected');
    await expectAccessible(page, 'inbox, selected');
    await click(/^Read$/);
    await expect.poll(() => site.subjects(inbox.id, 'q=is:read')).toEqual(['many 5;', 'many 4;', 'many 3;']);
    await click('Tag');
    await type('checked');
    await press('Enter');
    await expect.poll(() => site.subjects(inbox.id, 'q=tag:checked')).toHaveLength(3);
    await click(/^Delete$/, '3 messages are deleted');
    await gone(row('many 4;'));
    await click('Undo', row('many 4;'));
    await click('Select messages');
    await page.getByLabel('Select many 0;').click();
    await click(/^Delete$/, 'The message is deleted');
    await page.clock.fastForward(6_000);
    await expect.poll(() => site.subjects(inbox.id)).toHaveLength(5);
  });

  it('shows what was not read, in all tabs, and whom a mail of the sink was sent to', async () => {
    // A blind copy, for which the header has another recipient.
    const envelope = { from: 'no-reply@shop.example', to: 'somebody.else@mayfly.test' };
    await site.app.send({ ...signUpMail('all@shop.example'), subject: 'for the sink', envelope });
    const { body } = await site.app.api('GET', '/v1/inboxes?label.mayfly=sink');
    const [sink] = body.inboxes;
    const unread = row('Unread.*to somebody\\.else@mayfly\\.test.*for the sink');
    const { context, click, press } = await site.show(`/inboxes/${sink.id}`, unread);
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/live`);
    await row('Unread.*somebody\\.else@mayfly\\.test in')(second).waitFor();
    await click(row('for the sink'), heading('for the sink'));
    await row('Unread.*for the sink')(second).waitFor({ state: 'detached' });
    await row('for the sink')(second).waitFor();
    // e marks it as unread, and it stays unread while it is shown.
    await press('e');
    await row('Unread.*for the sink')(second).waitFor();
  });

  it('shows attachments that are safe to show, and tags of a mail', async () => {
    const inbox = await site.app.createInbox();
    const event = 'BEGIN:VEVENT\r\nSUMMARY:Lunch\\, outside\r\nDTSTART:20260304T050607Z\r\nEND:VEVENT';
    await site.app.send({
      ...signUpMail(inbox.address),
      attachments: [
        { filename: 'list.csv', contentType: 'text/csv', content: 'name;total\n"Ada; ""A""";3\n' },
        { filename: 'data.json', contentType: 'application/json', content: '{"a":[1]}' },
        { filename: 'lunch.ics', contentType: 'text/calendar', content: `BEGIN:VCALENDAR\r\n${event}\r\n` },
        { filename: 'page.html', contentType: 'text/html', content: '<script>alert(1)</script>' },
        { filename: 'terms.pdf', content: '%PDF-1.4' },
      ],
    });
    const { page, click, type, press, gone } = await site.show(`/inboxes/${inbox.id}`);
    await click(row('Please confirm'));
    for (const [file, text] of [
      ['list.csv', 'Ada; "A"'],
      ['data.json', '"a": ['],
      ['lunch.ics', 'Lunch, outside'],
      ['lunch.ics', '2026-03-04 05:06 UTC'],
      ['page.html', '<script>alert(1)</script>'],
      // The browser without windows has no viewer for PDF.
      ['terms.pdf', 'no viewer for PDF'],
    ] as const) {
      const dialog = role('dialog', file);
      await click(new RegExp(`^${file}`), () => dialog(page).getByText(text).first());
      await expectAccessible(page, file);
      await press('Escape');
      await gone(dialog);
    }
    await click(/^Tag$/);
    await type('urgent');
    await press('Enter');
    const remove = () => page.getByTitle('Remove the tag urgent');
    await click(remove);
    await gone(remove);
    await expect.poll(() => site.subjects(inbox.id, 'q=tag:urgent')).toEqual([]);
  });

  it('shows a PDF in the viewer of the browser, and nothing that is only called one', async () => {
    const inbox = await site.app.createInbox();
    const mail = signUpMail(inbox.address);
    const attachments = [...mail.attachments, { filename: 'no.pdf', content: '<script>alert(1)</script>' }];
    await site.app.send({ ...mail, attachments });
    const browser = await launchBrowser([], CHROMIUM);
    onTestFinished(() => browser.close());
    const { page, click } = await site.show(`/inboxes/${inbox.id}`, row('Please confirm'), { browser });
    await click(row('Please confirm'));
    await click(/^terms.pdf/, () => page.locator('iframe[src^="blob:"]'));
    // The viewer is an extension of the browser.
    const viewers = () => page.frames().filter((frame) => frame.url().startsWith('chrome-extension:'));
    await expect.poll(() => viewers().length).toBe(1);
    await click('Close');
    await click(/^no.pdf/, 'This is no PDF');
    expect(viewers()).toEqual([]);
  });

  it('a number is the same view for every mail, also after a click into the mail', async () => {
    const inbox = await site.inboxWith('only text');
    await site.app.send(signUpMail(inbox.address));
    const { page, click, press } = await site.show(`/inboxes/${inbox.id}`);
    await click(row('Please confirm'));
    await clickIntoMail(page);
    await press('5', 'Attachments and inline parts');
    await press('1');
    await clickIntoMail(page);
    await press('j', heading('only text'));
    await press('5', 'Attachments and inline parts');
  });

  it('inverts a mail that has no dark scheme, as clients do, and says so', async () => {
    const inbox = await site.inboxWithSignUp();
    const own = '<meta name="color-scheme" content="light dark"><p>Own scheme</p>';
    await site.app.send({ ...signUpMail(inbox.address), subject: 'dark by itself', html: own });
    const { page, find, click, press } = await site.show(`/inboxes/${inbox.id}?dark=1`);
    await click(row('Please confirm'), 'the mail has no dark scheme');
    await expectAccessible(page, 'inverted');
    await press('k', heading('dark by itself'), () => page.frameLocator('iframe').getByText('Own scheme'));
    expect(await find('the mail has no dark scheme').count()).toBe(0);
  });

  it('says why somebody was signed out, and whether it is this machine that is offline', async () => {
    const { body: key } = await site.app.api('POST', '/v1/keys', { body: { name: 'short', scope: 'full' } });
    const { context, page, press, sees } = await site.show('/inboxes', LIVE, { as: key.key });
    await context.setOffline(true);
    await sees(/This machine is offline · last update/);
    await context.setOffline(false);
    await sees(last(/^(Live|Reconnecting)/));
    await site.app.api('DELETE', `/v1/keys/${key.id}`);
    await press('r', 'You were signed out.');
    await expectAccessible(page, 'signed out');
  });

  it('opens a list of hundreds of inboxes with two requests, and searches all of them with one more', async () => {
    const oldest = await site.app.createInbox({ localPart: 'the-oldest-of-all' });
    for (let n = 0; n < 2 * MANY; n++) await site.app.createInbox();
    const { page, open, click, press, type, fill } = await site.openConsole();
    let requests = 0;
    page.on('request', (request) => {
      if (/\/v1\/inboxes\?/.test(request.url())) requests++;
    });
    await open('/inboxes', /^400\+ live inboxes/);
    expect(requests).toBe(2);
    await fill('Search inboxes', 'oldest-of-all', row(oldest.address));
    expect(requests).toBe(3);
    await fill('Search inboxes', 'no such inbox', 'No inbox matches');
    await click('Show all inboxes', /^400\+ live inboxes/);
    // The palette finds an inbox that is not in the first page.
    await press('Control+k');
    await type('oldest-of', role('option', new RegExp(oldest.address)));
  });

  it('lists all webhooks, and older deliveries when asked to', async () => {
    const inbox = await site.app.createInbox();
    // Nothing listens there.
    const hook = (n: number) => ({ url: `http://127.0.0.1:8099/hook-${n}`, inboxId: inbox.id });
    const webhooks: { id: string }[] = [];
    for (let n = 0; n < 60; n++)
      webhooks.push((await site.app.api('POST', '/v1/webhooks', { body: hook(n) })).body);
    const { page, open, find, click, sees } = await site.show('/webhooks', role('link', /hook-59$/));
    expect(await find(role('link', /\/hook-\d+$/)).count()).toBe(60);
    const path = `/webhooks/${webhooks.shift()?.id}`;
    for (const { id } of webhooks) await site.app.api('DELETE', `/v1/webhooks/${id}`);
    for (let n = 0; n < MANY; n++) await site.inject(inbox.id, 'x');
    await open(path);
    await click('Show older deliveries');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(MANY);
    expect(await find(role('button', 'Show older deliveries')).count()).toBe(0);

    // The dialog warns that pausing cancels pending deliveries.
    await click(/^Pause$/);
    const dialog = find(role('dialog', 'Pause the webhook'));
    await dialog.getByText(/Pending deliveries are cancelled/).waitFor();
    expect((await site.app.api('GET', `/v1${path}`)).body.enabled).toBe(true);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await sees(exact('paused'));
  });

  it('says whose sink takes the mail that no inbox takes', async () => {
    const { click } = await site.show('/connect');
    await click(role('link', 'the sink of this account'), 'permanent');
    await site.show('/connect', 'goes to the sink of another account', { as: await site.app.newAccount() });
  });

  it('keeps room for the list at 400 % zoom', async () => {
    const inbox = await site.app.createInbox({ labels: { run: '1', branch: 'main' } });
    await site.app.send({ from: 'a@b.example', to: inbox.address, subject: 'Hello', text: 'x' });
    // 1280 by 1024 at 400 % (WCAG 2.2, 1.4.10).
    const look = { width: 320, height: 256, colorScheme: 'light' } as const;
    const { page, open } = await site.openConsole({ look });
    const hasRoom =
      "document.querySelector('.window').clientHeight >= 2 * document.querySelector('.window li').clientHeight";
    for (const path of ['/inboxes', `/inboxes/${inbox.id}`, '/live']) {
      await open(path, () => page.locator('.window li').first());
      expect([path, await page.evaluate(hasRoom)]).toEqual([path, true]);
      await expectAccessible(page, `${path}, low`);
    }
  });
});
