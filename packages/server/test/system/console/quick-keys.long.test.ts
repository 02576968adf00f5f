import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeConsole, focused, row } from './console.ts';

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

describeConsole('keys and letters that come quickly', {}, (site) => {
  it('letters after Ctrl K are searched, also before the script of the search is there', async () => {
    const { page, open } = await site.openConsole();
    const letGo = await hold(page, 'GET', /palette-.*\.js/);
    await open('/inboxes');
    await page.getByRole('heading', { name: 'Inboxes', exact: true }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('n usage');
    letGo();
    await page.getByRole('combobox').waitFor();
    expect(await page.getByRole('combobox').inputValue()).toBe('n usage');
    expect(page.url()).not.toContain('new=1');
  });

  it('Enter in the search of everything opens what was typed, not what was found before', async () => {
    const inbox = await site.app.createInbox();
    await site.inject(inbox.id, 'Subject: the first\r\n\r\nYour code is 111222');
    await site.inject(inbox.id, 'Subject: the second\r\n\r\nYour code is 333444');
    const { page, open } = await site.openConsole();
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
  });

  it('letters after Enter in a search stay in its field', async () => {
    const inbox = await site.app.createInbox();
    for (const subject of ['confirm', 'confide', 'other']) await site.inject(inbox.id, subject);
    const { page, open } = await site.openConsole();
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
  });

  it('a label that is entered leaves the field to the next one', async () => {
    await site.app.createInbox({ labels: { run: '47', job: '11' } });
    const { page, open } = await site.openConsole();
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
  });

  it('what was entered for a wait stays when another condition is removed', async () => {
    const inbox = await site.app.createInbox();
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}/why?hasAttachments=true`);
    await page.getByText('What the test waits for').click();
    await page.getByLabel('Subject').fill('confirm');
    await page.getByRole('button', { name: 'hasAttachments: true' }).click();
    await page.waitForURL(/subject=confirm/);
    expect(page.url()).not.toContain('hasAttachments');
    await page.getByLabel('Subject').waitFor();
    expect(await page.getByLabel('Subject').inputValue()).toBe('confirm');
  });

  it('each key moves on from the row before: End and k, back and j, Delete three times', async () => {
    const inbox = await site.app.createInbox();
    for (let n = 0; n < 40; n++) await site.inject(inbox.id, `row ${n};`);
    const { page, open } = await site.openConsole();
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
  });

  it('the keys of the views work before the mail is there', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(inbox.id, 'slow');
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
    await row(page, 'slow').waitFor();
    const letGo = await hold(page, 'GET', new RegExp(`messages/${id}$`));
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/messages\//);
    await page.keyboard.press('4');
    letGo();
    await page.getByRole('tab', { name: /Headers/, selected: true }).waitFor();
  });

  it('two tags one after the other are both kept, as are three changes of what was read', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(inbox.id, 'tagged');
    const stored = async () => (await site.app.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`)).body;
    const { page, open } = await site.openConsole();
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
  });

  it('Enter twice in a form creates one key', async () => {
    const { page, open } = await site.openConsole();
    await open('/keys?new=1');
    const letGo = await hold(page, 'POST', /\/v1\/keys$/);
    await page.getByLabel('What it is for').fill('only once');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    letGo();
    await page.getByText('API key, shown only now').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'only once' }).waitFor();
    const { body } = await site.app.api('GET', '/v1/keys');
    expect(body.keys.filter(({ name }: { name: string }) => name === 'only once')).toHaveLength(1);
  });

  it('text that is selected beyond the edge of a dialog does not close it', async () => {
    const { page, open } = await site.openConsole();
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
  });
});
