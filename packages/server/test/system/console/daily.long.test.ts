import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';
import {
  describeConsole,
  expectAccessible,
  focused,
  LOOKS,
  numbered,
  openConsole,
  press,
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

const AT_ONCE = 41;

const ENV = { ...SIGN_UP, MAYFLY_SINK: 'on', MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' };

describeConsole('the console with a sink', ENV, (site) => {
  it('searches as one types; Enter goes to the first row, from which j goes on', async () => {
    const inbox = await site.inboxWith('red one', 'red two', 'blue', 'green');
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'blue').waitFor();
    await page.keyboard.press('/');
    await page.getByText('Enter goes to the first result').waitFor();
    await page.keyboard.type('red');
    await page.getByText('2 of 4', { exact: true }).waitFor();
    // The help does not cover the results.
    await page.getByText('Enter goes to the first result').waitFor({ state: 'hidden' });
    await page.keyboard.press('Enter');
    await focused(page).toContain('red two');
    await page.keyboard.press('j');
    await focused(page).toContain('red one');
    // An operator without a value is not searched.
    await page.getByLabel('Search messages').fill('subject:');
    await page.getByLabel('Search messages').fill('subject:blue');
    await page.getByText('1 of 4', { exact: true }).waitFor();
  });

  it('keeps letters that are typed while the search for the former ones begins', async () => {
    const inbox = await site.inboxWith('red', 'rose');
    const { page } = await site.openConsole();
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
      await page.goto(`${site.app.url}/console${path}`);
      await page.getByLabel(field).fill('r');
      await page.waitForURL(/q=rose/);
      await page.getByText(found, { exact: true }).first().waitFor();
      expect(await page.getByLabel(field).inputValue()).toBe('rose');
    }
  });

  it('comes back to the same row: from a message to Live, to a search, and to the inboxes', async () => {
    const inbox = await site.inboxWith(...numbered(12, (n) => `back ${n};`));
    for (let n = 0; n < 3; n++) await site.app.createInbox();
    const { page, open } = await site.show('/live?q=back');
    await row(page, 'back 4;').click();
    await page.getByRole('heading', { name: 'back 4;' }).waitFor();
    await page.keyboard.press('u');
    await page.waitForURL(/live\?q=back/);
    await focused(page).toContain('back 4;');
    await page.goBack();
    await open('/inboxes');
    await row(page, inbox.address).click();
    await row(page, 'back 7;').click();
    await page.getByRole('tab', { name: 'Text' }).waitFor();
    await page.goBack();
    await focused(page).toContain('back 7;');
    await page.keyboard.press('u');
    await focused(page).toContain(inbox.address);
  });

  it('selects many by keys and with Shift, and marks, tags and deletes them', async () => {
    const inbox = await site.inboxWith(...numbered(6, (n) => `many ${n};`));
    const { page, open } = await site.openConsole(LOOKS[1]);
    await page.clock.install();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'many 5;').waitFor();
    await press(page, 'j', 's');
    await row(page, 'many 3;').click({ modifiers: ['Shift'] });
    await page.getByText('3 messages selected').waitFor();
    await expectAccessible(page, 'inbox, selected');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await expect.poll(() => site.subjects(inbox.id, 'q=is:read')).toEqual(['many 5;', 'many 4;', 'many 3;']);
    await page.getByRole('button', { name: 'Tag' }).click();
    await page.keyboard.type('checked');
    await page.keyboard.press('Enter');
    await expect.poll(() => site.subjects(inbox.id, 'q=tag:checked')).toHaveLength(3);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('3 messages are deleted').waitFor();
    await row(page, 'many 4;').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await row(page, 'many 4;').waitFor();
    await page.getByRole('button', { name: 'Select messages' }).click();
    await page.getByLabel('Select many 0;').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The message is deleted').waitFor();
    await page.clock.fastForward(6_000);
    await expect.poll(() => site.subjects(inbox.id)).toHaveLength(5);
  });

  it('shows what was not read, in all tabs, and whom a mail of the sink was sent to', async () => {
    // A blind copy, for which the header has another recipient.
    const envelope = { from: 'no-reply@shop.example', to: 'somebody.else@mayfly.test' };
    await site.app.send({ ...signUpMail('all@shop.example'), subject: 'for the sink', envelope });
    const { body } = await site.app.api('GET', '/v1/inboxes?label.mayfly=sink');
    const [sink] = body.inboxes;
    const { context, page } = await site.show(`/inboxes/${sink.id}`);
    await row(page, 'Unread.*to somebody\\.else@mayfly\\.test.*for the sink').waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/live`);
    await row(second, 'Unread.*somebody\\.else@mayfly\\.test in').waitFor();
    await row(page, 'for the sink').click();
    await page.getByRole('heading', { name: 'for the sink' }).waitFor();
    await row(second, 'Unread.*for the sink').waitFor({ state: 'detached' });
    await row(second, 'for the sink').waitFor();
    // e marks it as unread, and it stays unread while it is shown.
    await page.keyboard.press('e');
    await row(second, 'Unread.*for the sink').waitFor();
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
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'Please confirm').click();
    const shown: [file: string, text: string][] = [
      ['list.csv', 'Ada; "A"'],
      ['data.json', '"a": ['],
      ['lunch.ics', 'Lunch, outside'],
      ['lunch.ics', '2026-03-04 05:06 UTC'],
      ['page.html', '<script>alert(1)</script>'],
      // The browser without windows has no viewer for PDF.
      ['terms.pdf', 'no viewer for PDF'],
    ];
    for (const [file, text] of shown) {
      await page.getByRole('button', { name: new RegExp(`^${file}`) }).click();
      const dialog = page.getByRole('dialog', { name: file });
      await dialog.getByText(text).first().waitFor();
      await expectAccessible(page, file);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Tag', exact: true }).click();
    await page.keyboard.type('urgent');
    await page.keyboard.press('Enter');
    await page.getByTitle('Remove the tag urgent').click();
    await page.getByTitle('Remove the tag urgent').waitFor({ state: 'detached' });
    await expect.poll(() => site.subjects(inbox.id, 'q=tag:urgent')).toEqual([]);
  });

  it('shows a PDF in the viewer of the browser, and nothing that is only called one', async () => {
    const inbox = await site.app.createInbox();
    const mail = signUpMail(inbox.address);
    const attachments = [...mail.attachments, { filename: 'no.pdf', content: '<script>alert(1)</script>' }];
    await site.app.send({ ...mail, attachments });
    const withViewer = await launchBrowser([], CHROMIUM);
    try {
      const { page, open, complaints } = await openConsole(withViewer, site.app);
      await open(`/inboxes/${inbox.id}`);
      await row(page, 'Please confirm').click();
      await page.getByRole('button', { name: /^terms.pdf/ }).click();
      await page.locator('iframe[src^="blob:"]').waitFor();
      // The viewer is an extension of the browser.
      const viewers = () => page.frames().filter((frame) => frame.url().startsWith('chrome-extension:'));
      await expect.poll(() => viewers().length).toBe(1);
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: /^no.pdf/ }).click();
      await page.getByText('This is no PDF').waitFor();
      expect(viewers()).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await withViewer.close();
    }
  });

  it('a number is the same view for every mail, also after a click into the mail', async () => {
    const inbox = await site.inboxWith('only text');
    await site.app.send(signUpMail(inbox.address));
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'Please confirm').click();
    await clickIntoMail(page);
    await page.keyboard.press('5');
    await page.getByText('Attachments and inline parts').waitFor();
    await page.keyboard.press('1');
    await clickIntoMail(page);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'only text' }).waitFor();
    await page.keyboard.press('5');
    await page.getByText('Attachments and inline parts').waitFor();
  });

  it('inverts a mail that has no dark scheme, as clients do, and says so', async () => {
    const inbox = await site.inboxWithSignUp();
    const own = '<meta name="color-scheme" content="light dark"><p>Own scheme</p>';
    await site.app.send({ ...signUpMail(inbox.address), subject: 'dark by itself', html: own });
    const { page } = await site.show(`/inboxes/${inbox.id}?dark=1`);
    await row(page, 'Please confirm').click();
    await page.getByText('the mail has no dark scheme').waitFor();
    await expectAccessible(page, 'inverted');
    await page.keyboard.press('k');
    await page.getByRole('heading', { name: 'dark by itself' }).waitFor();
    await page.frameLocator('iframe').getByText('Own scheme').waitFor();
    expect(await page.getByText('the mail has no dark scheme').count()).toBe(0);
  });

  it('says why somebody was signed out, and whether it is this machine that is offline', async () => {
    const { body: key } = await site.app.api('POST', '/v1/keys', {
      body: { name: 'short', scope: 'full' },
    });
    const { context, page } = await site.show('/inboxes', LOOKS[0], key.key);
    await page.getByText('Live', { exact: true }).last().waitFor();
    await context.setOffline(true);
    await page.getByText(/This machine is offline · last update/).waitFor();
    await context.setOffline(false);
    await page
      .getByText(/^(Live|Reconnecting)/)
      .last()
      .waitFor();
    await site.app.api('DELETE', `/v1/keys/${key.id}`);
    await page.keyboard.press('r');
    await page.getByText('You were signed out.').waitFor();
    await expectAccessible(page, 'signed out');
  });

  it('opens a list of hundreds of inboxes with two requests, and searches all of them with one more', async () => {
    const oldest = await site.app.createInbox({ localPart: 'the-oldest-of-all' });
    for (let n = 0; n < 2 * MANY; n++) await site.app.createInbox();
    const { page, open } = await site.openConsole();
    let requests = 0;
    page.on('request', (request) => {
      if (/\/v1\/inboxes\?/.test(request.url())) requests++;
    });
    await open('/inboxes');
    await page.getByText(/^400\+ live inboxes/).waitFor();
    expect(requests).toBe(2);
    await page.getByLabel('Search inboxes').fill('oldest-of-all');
    await row(page, oldest.address).waitFor();
    expect(requests).toBe(3);
    await page.getByLabel('Search inboxes').fill('no such inbox');
    await page.getByText('No inbox matches').waitFor();
    await page.getByRole('button', { name: 'Show all inboxes' }).click();
    await page.getByText(/^400\+ live inboxes/).waitFor();
    // The palette finds an inbox that is not in the first page.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('oldest-of');
    await page.getByRole('option', { name: new RegExp(oldest.address) }).waitFor();
  });

  /** Calls `work` `count` times, some of them concurrently. */
  async function times<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
    const results: T[] = [];
    while (results.length < count) {
      const size = Math.min(AT_ONCE, count - results.length);
      results.push(...(await Promise.all(Array.from({ length: size }, (_, n) => work(results.length + n)))));
    }
    return results;
  }

  it('lists all webhooks, and older deliveries when asked to', async () => {
    const inbox = await site.app.createInbox();
    // Nothing listens there.
    const hook = (n: number) => ({ url: `http://127.0.0.1:8099/hook-${n}`, inboxId: inbox.id });
    const webhooks = await times(60, (n) => site.app.api('POST', '/v1/webhooks', { body: hook(n) }));
    const [first] = webhooks.map(({ body }) => body);
    const { page, open } = await site.show('/webhooks');
    await page.getByRole('link', { name: /hook-59$/ }).waitFor();
    expect(await page.getByRole('link', { name: /\/hook-\d+$/ }).count()).toBe(60);
    for (const { body } of webhooks.slice(1)) await site.app.api('DELETE', `/v1/webhooks/${body.id}`);
    await times(MANY, () => site.inject(inbox.id, 'x'));
    await open(`/webhooks/${first.id}`);
    const rows = page.locator('tbody tr');
    await page.getByRole('button', { name: 'Show older deliveries' }).click();
    await expect.poll(() => rows.count()).toBe(MANY);
    expect(await page.getByRole('button', { name: 'Show older deliveries' }).count()).toBe(0);

    // The dialog warns that pausing cancels pending deliveries.
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause the webhook' });
    await dialog.getByText(/Pending deliveries are cancelled/).waitFor();
    expect((await site.app.api('GET', `/v1/webhooks/${first.id}`)).body.enabled).toBe(true);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
  });

  it('says whose sink takes the mail that no inbox takes', async () => {
    const own = await site.openConsole();
    await own.open('/connect');
    await own.page.getByRole('link', { name: 'the sink of this account' }).click();
    await own.page.getByText('permanent').waitFor();
    const foreign = await site.openConsole(LOOKS[0], await site.app.newAccount());
    await foreign.open('/connect');
    await foreign.page.getByText('goes to the sink of another account').waitFor();
  });

  it('keeps room for the list at 400 % zoom', async () => {
    const inbox = await site.app.createInbox({ labels: { run: '1', branch: 'main' } });
    await site.app.send({ from: 'a@b.example', to: inbox.address, subject: 'Hello', text: 'x' });
    // 1280 by 1024 at 400 % (WCAG 2.2, 1.4.10).
    const low = { width: 320, height: 256, colorScheme: 'light' } as const;
    const { page, open } = await site.openConsole(low);
    for (const path of ['/inboxes', `/inboxes/${inbox.id}`, '/live']) {
      await open(path);
      await page.locator('.window li').first().waitFor();
      const heights = (await page.evaluate(
        "[document.querySelector('.window').clientHeight, document.querySelector('.window li').clientHeight]",
      )) as number[];
      expect([path, (heights[0] ?? 0) >= 2 * (heights[1] ?? 0)]).toEqual([path, true]);
      await expectAccessible(page, `${path}, low`);
    }
  });
});
