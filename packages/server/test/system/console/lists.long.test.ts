import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import {
  describeConsole,
  expectAccessible,
  focused,
  LOOKS,
  numbered,
  press,
  row,
  signUpMail,
} from './console.ts';

const DIST = resolve(import.meta.dirname, '../../../../web/dist');
const KIB = 1024;

const HOUR_MS = 3_600_000;

/**
 * Presses keys without a frame or a response between them, as a fast user does on a slow machine. The code is text,
 * because tests are compiled without the types of the DOM.
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
      // Microtasks run, so that the page renders, but no frame is painted.
      for (let turn = 0; turn < 50; turn++) await null;
    }
  })()`);

/** Delays requests of a page. @returns a function that sends them */
async function hold(page: Page, method: string, what: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(what, async (route) => {
    if (route.request().method() === method) await promise;
    await route.fallback();
  });
  return resolve;
}

describeConsole('the console of an account without settings', {}, (site) => {
  it('shows each attempt to send as it happens, until the first mail is there with its code', async () => {
    const { page, open } = await site.show('/', LOOKS[1]);
    await page.getByText('Listening').waitFor();
    // Host and port of this server, and code for the selected framework.
    await page.getByText(`${site.app.smtp.host}:${site.app.smtp.port}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Django' }).click();
    await page.getByText(`EMAIL_PORT = ${site.app.smtp.port}`).waitFor();
    await expectAccessible(page, 'listening');
    await page.getByRole('button', { name: 'A fresh inbox' }).click();
    // A client that disconnects without a mail is shown too.
    const client = connect(site.app.smtp.port, site.app.smtp.host);
    client.once('data', () => client.end('EHLO site.app.example\r\nQUIT\r\n'));
    await page.getByText(/connected and left without naming a recipient/).waitFor();

    await site.app.send(signUpMail('nobody@mayfly.test')).catch(() => undefined);
    await page.getByText('550 5.1.1').waitFor();
    await page.getByRole('link', { name: 'nobody@mayfly.test' }).waitFor();
    await page.getByRole('button', { name: 'Send a test mail' }).click();
    const code = page.locator('.big-code').getByRole('button');
    await code.click();
    await page.getByText(/Copied code \d{6}/).waitFor();
    await expectAccessible(page, 'listening, with mail');
    await page.getByRole('button', { name: 'Show all mail' }).click();
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    // With mail, the same path shows the list.
    await open('/');
    await page.getByRole('link', { name: /Confirm your e-mail address/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/live');
  });

  it('one field finds mails, inboxes and runs as one types, opens them, and copies their codes', async () => {
    const inbox = await site.app.createInbox({ localPart: 'bright.lamp', labels: { run: 'r-99' } });
    await site.app.send({
      ...signUpMail('bright.lamp+ada@mayfly.test', '515151'),
      subject: 'Welcome, Ada',
    });
    await site.app.send({ ...signUpMail(inbox.address, '626262'), subject: 'Welcome, Bob' });
    const { page } = await site.show('/usage');
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    const field = page.getByRole('combobox');
    const find = async (words: string) => {
      await page.keyboard.press('Control+k');
      await field.fill(words);
    };
    await find('welcome from:shop');
    await page.getByRole('option', { name: /Welcome, Bob/ }).waitFor();
    await press(page, 'ArrowDown', 'x');
    await page.getByText('Copied code 515151').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Welcome, Ada' }).waitFor();
    // Codes can be searched; x copies a code only after an arrow key.
    await find('626262');
    await page.getByRole('option', { name: /Welcome, Bob/ }).waitFor();
    await field.pressSequentially('x');
    await page.getByText('Nothing matches').waitFor();
    await field.fill('sender:nobody');
    await page.getByText('"sender:" in "q" is no search operator').waitFor();
    await field.fill('r-99');
    await page.getByRole('option', { name: 'run=r-99 test run' }).click();
    await page.getByText('All inboxes of the run').waitFor();
    await find('bright.lamp@');
    await page.getByRole('option', { name: /bright\.lamp@mayfly\.test inbox/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /Welcome, Bob/ }).waitFor();
  });

  it('show every message once and in order while the connection is cut again and again', async () => {
    const mails = inForm(120, 1_000);
    const cuts = inForm(6, 20);
    const inbox = await site.app.createInbox();
    const proxy = await startTcpProxy(() => Number(new URL(site.app.url).port));
    const url = `http://127.0.0.1:${proxy.port}`;
    const { page } = await site.openConsole(LOOKS[0], TEST_KEY, { url });
    await page.goto(`${url}/console/inboxes/${inbox.id}`);
    await page.getByText('Waiting for the first mail').waitFor();
    for (let n = 0; n < mails; n++) {
      await site.inject(inbox.id, `mail ${String(n).padStart(5, '0')}`);
      if (n % Math.floor(mails / cuts) !== 1) continue;
      for (const connection of proxy.connections()) connection.reset();
    }
    const setSize = page.locator('.pane-list li').first();
    await expect.poll(() => setSize.getAttribute('aria-setsize')).toBe(String(mails));
    const isCovered = `(() => {
    const box = document.querySelector('.pane-list .window').getBoundingClientRect();
    const rows = [...document.querySelectorAll('.pane-list li')].map((row) => row.getBoundingClientRect());
    const ofBottom = rows.some((row) => row.bottom >= box.bottom - 1);
    return rows.some((row) => row.top <= box.top + 1) && ofBottom;
  })()`;
    const seen: string[] = [];
    for (let top = 0; seen.length < mails; top += 600) {
      await page.locator('.pane-list .window').evaluate((box, to) => {
        box.scrollTop = to;
      }, top);
      // On a busy machine the rows are rendered a while after scrolling.
      await expect.poll(() => page.evaluate(isCovered)).toBe(true);
      for (const text of await page.locator('.pane-list li').allTextContents()) {
        const subject = /mail \d{5}/.exec(text)?.[0] ?? '';
        if (!seen.includes(subject)) seen.push(subject);
      }
      if (top > mails * 90) break;
    }
    const expected = Array.from(
      { length: mails },
      (_, n) => `mail ${String(mails - 1 - n).padStart(5, '0')}`,
    );
    expect(seen).toEqual(expected);
    await proxy.close();
    await page.getByText(/No connection to the server\. Last update \d+ s ago/).waitFor();
    await expectAccessible(page, 'server gone');
  });

  it('show a message that arrives while the list is loaded, also with a filter', async () => {
    const inbox = await site.app.createInbox();
    for (const search of ['', '?q=subject:race']) {
      const { page, open } = await site.openConsole();
      const subject = `race${search.length}`;
      const held = Promise.withResolvers<void>();
      const hold = async (route: Route): Promise<void> => {
        const response = await route.fetch();
        // The response was made before the message arrived, and the stream is open.
        await page.getByText('Live', { exact: true }).last().waitFor();
        await site.inject(inbox.id, subject);
        await page.waitForTimeout(300);
        await route.fulfill({ response });
      };
      await page.route(/\/messages\?limit=100/, (route) => hold(route).then(held.resolve, held.reject), {
        times: 1,
      });
      await open(`/inboxes/${inbox.id}${search}`);
      await held.promise;
      await page.waitForTimeout(200);
      await page.getByRole('link', { name: subject }).waitFor();
    }
  });

  it('keep few rows in the page, and hold still while one reads', async () => {
    const inbox = await site.inboxWith(...numbered(150, (n) => `row ${n}`));
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await page.getByRole('link', { name: /row 149/ }).waitFor();
    expect(await page.locator('.pane-list li').count()).toBeLessThanOrEqual(80);
    const box = page.locator('.pane-list .window');
    await box.evaluate((element) => {
      element.scrollTop = 760;
    });
    const row = page.getByRole('link', { name: /row 138 / });
    await row.waitFor();
    const before = (await row.boundingBox())?.y;
    await site.inject(inbox.id, 'while reading');
    await page.getByRole('button', { name: '1 new' }).waitFor();
    const pill = (await page.getByRole('button', { name: '1 new' }).boundingBox())?.height ?? 0;
    const moved = ((await row.boundingBox())?.y ?? 0) - (before ?? 0);
    expect(Math.abs(moved)).toBeLessThan(pill + 20);
    await page.getByRole('button', { name: '1 new' }).click();
    await page.getByRole('link', { name: /while reading/ }).waitFor();
  });

  it('shows characters that reverse a name, a subject or the name of a file, instead of obeying them', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(
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
    const { page } = await site.show(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    await page.getByRole('heading', { name: 'Invoice [U+202E]fdp.exe' }).waitFor();
    await page.getByRole('link', { name: 'Download photo[U+202E]gpj.exe' }).waitFor();
    expect(await page.locator('main').textContent()).not.toMatch(/\u202e/);
    expect(await page.title()).not.toMatch(/\u202e/);
  });

  it('lists the first hundred of 900 attachments, and all when asked to', async () => {
    const inbox = await site.app.createInbox();
    const parts = Array.from(
      { length: 900 },
      (_, n) => `--b\r\nContent-Disposition: attachment; filename="${n}.bin"\r\n\r\n${n}\r\n`,
    );
    const id = await site.inject(
      inbox.id,
      `Subject: many\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`,
    );
    const { page } = await site.show(`/inboxes/${inbox.id}/messages/${id}?view=parts`);
    const downloads = page.getByRole('link', { name: /^Download \d+\.bin/ });
    await page.getByRole('button', { name: /Show 80\d more parts/ }).waitFor();
    expect(await downloads.count()).toBe(100);
    await expectAccessible(page, 'parts, many');
    await page.getByRole('button', { name: /more parts/ }).click();
    await expect.poll(() => downloads.count()).toBe(900);
  });

  it.each([3, -3])(
    'goes by the clock of the server, where that of the browser is wrong by %i hours',
    async (hours) => {
      const inbox = await site.app.createInbox({ ttlMinutes: 90 });
      const before = (await site.app.api('GET', `/v1/inboxes/${inbox.id}`)).body.expiresAt;
      const { page, open } = await site.openConsole();
      await page.addInitScript(
        `const now = Date.now.bind(Date); Date.now = () => now() + ${hours * HOUR_MS};`,
      );
      await open(`/inboxes/${inbox.id}`);
      await page.getByText('Waiting for the first mail').waitFor();
      await page.getByText('1 h left').first().waitFor();
      await page.getByRole('button', { name: 'Extend by an hour' }).click();
      await page.getByText('Extended: 2 h left').waitFor();
      const { expiresAt } = (await site.app.api('GET', `/v1/inboxes/${inbox.id}`)).body;
      const added = Date.parse(expiresAt) - Date.parse(before);
      expect(added).toBeGreaterThan(0.9 * HOUR_MS);
      expect(added).toBeLessThan(1.1 * HOUR_MS);
    },
  );

  it('a link to a message shows where it is in the list', async () => {
    const inbox = await site.app.createInbox();
    const first = await site.inject(inbox.id, 'Subject: the oldest\r\n\r\nx\r\n');
    for (let n = 0; n < 40; n++) await site.inject(inbox.id, `Subject: number ${n}\r\n\r\nx\r\n`);
    const { page } = await site.show(`/inboxes/${inbox.id}/messages/${first}`);
    await page.getByRole('heading', { name: 'the oldest' }).waitFor();
    const row = page.locator('.pane-list a[aria-current=true]');
    await expect.poll(() => row.textContent()).toContain('the oldest');
    // Visible, not only in the DOM.
    const isInSight = `(() => {
    const row = document.querySelector('.pane-list a[aria-current=true]').getBoundingClientRect();
    return row.top >= 0 && row.bottom <= innerHeight;
  })()`;
    await expect.poll(() => page.evaluate(isInSight)).toBe(true);
  });

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
    const inbox = await site.inboxWith('Subject: the first\r\n\r\nYour code is 111222');
    await site.inject(inbox.id, 'Subject: the second\r\n\r\nYour code is 333444');
    const { page } = await site.show('/inboxes');
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
    const inbox = await site.inboxWith('confirm', 'confide', 'other');
    const { page } = await site.show(`/inboxes/${inbox.id}`);
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
    const { page } = await site.show(`/inboxes/${inbox.id}/why?hasAttachments=true`);
    await page.getByText('What the test waits for').click();
    await page.getByLabel('Subject').fill('confirm');
    await page.getByRole('button', { name: 'hasAttachments: true' }).click();
    await page.waitForURL(/subject=confirm/);
    expect(page.url()).not.toContain('hasAttachments');
    await page.getByLabel('Subject').waitFor();
    expect(await page.getByLabel('Subject').inputValue()).toBe('confirm');
  });

  it('each key moves on from the row before: End and k, back and j, Delete three times', async () => {
    const inbox = await site.inboxWith(...numbered(40, (n) => `row ${n};`));
    const { page } = await site.show(`/inboxes/${inbox.id}`);
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
    const { page } = await site.show(`/inboxes/${inbox.id}`);
    await row(page, 'slow').waitFor();
    const letGo = await hold(page, 'GET', new RegExp(`messages/${id}$`));
    await press(page, 'j', 'Enter');
    await page.waitForURL(/messages\//);
    await page.keyboard.press('4');
    letGo();
    await page.getByRole('tab', { name: /Headers/, selected: true }).waitFor();
  });

  it('two tags one after the other are both kept, as are three changes of what was read', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(inbox.id, 'tagged');
    const stored = async () => (await site.app.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`)).body;
    const { page } = await site.show(`/inboxes/${inbox.id}/messages/${id}`);
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
    const { page } = await site.show('/keys?new=1');
    const letGo = await hold(page, 'POST', /\/v1\/keys$/);
    await page.getByLabel('What it is for').fill('only once');
    await press(page, 'Enter', 'Enter');
    letGo();
    await page.getByText('API key, shown only now').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('cell', { name: 'only once' }).waitFor();
    const { body } = await site.app.api('GET', '/v1/keys');
    expect(body.keys.filter(({ name }: { name: string }) => name === 'only once')).toHaveLength(1);
  });

  it('text that is selected beyond the edge of a dialog does not close it', async () => {
    const { page } = await site.show('/webhooks?new=1');
    const field = page.getByRole('textbox', { name: /^URL/ });
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

describe('the built console', () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  const names = readdirSync(join(DIST, 'assets'));
  const code = new Map(names.map((name) => [name, readFileSync(join(DIST, 'assets', name), 'utf8')]));

  it('sends at most 45 KiB for the first screen and 80 KiB for all screens', () => {
    const sum = (texts: string[]) => texts.reduce((total, text) => total + gzipSync(text).length, 0);
    const needed = names.filter((name) => page.includes(name)).map((name) => code.get(name) ?? '');
    expect(sum([page, ...needed])).toBeLessThanOrEqual(45 * KIB);
    expect(sum([page, ...code.values()])).toBeLessThanOrEqual(80 * KIB);
  });

  it('needs the page and one script for the first screen: style and icon are part of them', () => {
    const links = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, link]) => link);
    expect(links).toEqual([expect.stringMatching(/^\/console\/assets\/index-.+\.js$/)]);
    expect(names.filter((name) => !name.endsWith('.js'))).toEqual([]);
  });

  it('never makes markup of text', () => {
    for (const text of code.values()) {
      // Preact contains the property; the console never sets it.
      expect(text).not.toMatch(/dangerouslySetInnerHTML:|\.innerHTML=(?!\w+&&|\w+\.__html|\w+\|\||"")/);
    }
  });
});
