import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import {
  describeConsole,
  exact,
  expectAccessible,
  first,
  focused,
  heading,
  hold,
  LIVE,
  NARROW,
  numbered,
  role,
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

describeConsole('the console of an account without settings', {}, (site) => {
  it('shows each attempt to send as it happens, until the first mail is there with its code', async () => {
    const { page, open, click, sees } = await site.show('/', 'Listening', { look: NARROW });
    // Host and port of this server, and code for the selected framework.
    await sees(exact(`${site.app.smtp.host}:${site.app.smtp.port}`));
    await click('Django', `EMAIL_PORT = ${site.app.smtp.port}`);
    await expectAccessible(page, 'listening');
    await click('A fresh inbox');
    // A client that disconnects without a mail is shown too.
    const client = connect(site.app.smtp.port, site.app.smtp.host);
    client.once('data', () => client.end('EHLO site.app.example\r\nQUIT\r\n'));
    await sees(/connected and left without naming a recipient/);

    await site.app.send(signUpMail('nobody@mayfly.test')).catch(() => undefined);
    await sees('550 5.1.1', role('link', 'nobody@mayfly.test'));
    await click('Send a test mail');
    await click(() => page.locator('.big-code').getByRole('button'), /Copied code \d{6}/);
    await expectAccessible(page, 'listening, with mail');
    await click('Show all mail', row('Confirm your e-mail address'));
    // With mail, the same path shows the list.
    await open('/', row('Confirm your e-mail address'));
    expect(new URL(page.url()).pathname).toBe('/console/live');
  });

  it('one field finds mails, inboxes and runs as one types, opens them, and copies their codes', async () => {
    const inbox = await site.app.createInbox({ localPart: 'bright.lamp', labels: { run: 'r-99' } });
    await site.app.send({ ...signUpMail('bright.lamp+ada@mayfly.test', '515151'), subject: 'Welcome, Ada' });
    await site.app.send({ ...signUpMail(inbox.address, '626262'), subject: 'Welcome, Bob' });
    const { page, click, press, sees } = await site.show('/usage', heading('Usage'));
    const field = page.getByRole('combobox');
    const ofBob = role('option', /Welcome, Bob/);
    await press('Control+k');
    await field.fill('welcome from:shop');
    await sees(ofBob);
    await press('ArrowDown x', 'Copied code 515151');
    await press('Enter', heading('Welcome, Ada'));
    // Codes can be searched; x copies a code only after an arrow key.
    await press('Control+k');
    await field.fill('626262');
    await sees(ofBob);
    await field.pressSequentially('x');
    await sees('Nothing matches');
    await field.fill('sender:nobody');
    await sees('"sender:" in "q" is no search operator');
    await field.fill('r-99');
    await click(role('option', 'run=r-99 test run'), 'All inboxes of the run');
    await press('Control+k');
    await field.fill('bright.lamp@');
    await sees(role('option', /bright\.lamp@mayfly\.test inbox/));
    await press('Enter', row('Welcome, Bob'));
  });

  it('show every message once and in order while the connection is cut again and again', async () => {
    const mails = inForm(120, 1_000);
    const cuts = inForm(6, 20);
    const inbox = await site.app.createInbox();
    const proxy = await startTcpProxy(() => Number(new URL(site.app.url).port));
    const app = { url: `http://127.0.0.1:${proxy.port}` };
    const { page, sees } = await site.show(`/inboxes/${inbox.id}`, 'Waiting for the first mail', { app });
    const subjects = numbered(mails, (n) => `mail ${String(n).padStart(5, '0')}`);
    for (const [n, subject] of subjects.entries()) {
      await site.inject(inbox.id, subject);
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
    expect(seen).toEqual(subjects.toReversed());
    await proxy.close();
    await sees(/No connection to the server\. Last update \d+ s ago/);
    await expectAccessible(page, 'server gone');
  });

  it('show a message that arrives while the list is loaded, also with a filter', async () => {
    const inbox = await site.app.createInbox();
    for (const search of ['', '?q=subject:race']) {
      const { page, open, sees } = await site.openConsole();
      const subject = `race${search.length}`;
      const held = Promise.withResolvers<void>();
      const hold = async (route: Route): Promise<void> => {
        const response = await route.fetch();
        // The response was made before the message arrived, and the stream is open.
        await sees(LIVE);
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
      await sees(row(subject));
    }
  });

  it('keep few rows in the page, and hold still while one reads', async () => {
    const inbox = await site.inboxWith(...numbered(150, (n) => `row ${n}`));
    const { page, find, click, sees } = await site.show(`/inboxes/${inbox.id}`, row('row 149'));
    expect(await page.locator('.pane-list li').count()).toBeLessThanOrEqual(80);
    await page.locator('.pane-list .window').evaluate((element) => {
      element.scrollTop = 760;
    });
    const shown = find(row('row 138 '));
    await shown.waitFor();
    const before = await shown.boundingBox();
    await site.inject(inbox.id, 'while reading');
    await sees(role('button', '1 new'));
    const pill = (await find(role('button', '1 new')).boundingBox())?.height ?? 0;
    const moved = ((await shown.boundingBox())?.y ?? 0) - (before?.y ?? 0);
    expect(Math.abs(moved)).toBeLessThan(pill + 20);
    await click('1 new', row('while reading'));
  });

  it('shows characters that reverse a name, a subject or the name of a file, instead of obeying them', async () => {
    const inbox = await site.app.createInbox();
    await site.app.send({
      ...{ from: '"Bank \u202Egro.knab@" <a@evil.example>', to: inbox.address },
      ...{ subject: 'Invoice \u202Efdp.exe', text: 'Hello' },
      attachments: [{ filename: 'photo\u202Egpj.exe', content: 'x' }],
    });
    const { page, sees } = await site.show(`${await site.newest(inbox.id)}?view=parts`);
    await sees(heading('Invoice [U+202E]fdp.exe'), role('link', 'Download photo[U+202E]gpj.exe'));
    expect(await page.locator('main').textContent()).not.toMatch(/\u202e/);
    expect(await page.title()).not.toMatch(/\u202e/);
  });

  it('lists the first hundred of 900 attachments, and all when asked to', async () => {
    const inbox = await site.app.createInbox();
    const part = (n: number) => `--b\r\nContent-Disposition: attachment; filename="${n}.bin"\r\n\r\n${n}\r\n`;
    const id = await site.inject(
      inbox.id,
      `Subject: many\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${numbered(900, part).join('')}--b--\r\n`,
    );
    const path = `/inboxes/${inbox.id}/messages/${id}?view=parts`;
    const { page, find, click } = await site.show(path, role('button', /Show 80\d more parts/));
    const downloads = find(row('^Download \\d+\\.bin'));
    expect(await downloads.count()).toBe(100);
    await expectAccessible(page, 'parts, many');
    await click(/more parts/);
    await expect.poll(() => downloads.count()).toBe(900);
  });

  it.each([3, -3])(
    'goes by the clock of the server, where that of the browser is wrong by %i hours',
    async (hours) => {
      const inbox = await site.app.createInbox({ ttlMinutes: 90 });
      const end = async () =>
        Date.parse((await site.app.api('GET', `/v1/inboxes/${inbox.id}`)).body.expiresAt);
      const before = await end();
      const { page, open, click } = await site.openConsole();
      const wrong = `const now = Date.now.bind(Date); Date.now = () => now() + ${hours * HOUR_MS};`;
      await page.addInitScript(wrong);
      await open(`/inboxes/${inbox.id}`, 'Waiting for the first mail', first('1 h left'));
      await click('Extend by an hour', 'Extended: 2 h left');
      expect(Math.abs((await end()) - before - HOUR_MS)).toBeLessThan(0.1 * HOUR_MS);
    },
  );

  it('a link to a message shows where it is in the list', async () => {
    const inbox = await site.app.createInbox();
    const oldest = await site.inject(inbox.id, 'the oldest');
    for (let n = 0; n < 40; n++) await site.inject(inbox.id, `number ${n}`);
    const { page } = await site.show(`/inboxes/${inbox.id}/messages/${oldest}`, heading('the oldest'));
    const current = page.locator('.pane-list a[aria-current=true]');
    await expect.poll(() => current.textContent()).toContain('the oldest');
    // Visible, not only in the DOM.
    const isInSight = `(() => {
    const row = document.querySelector('.pane-list a[aria-current=true]').getBoundingClientRect();
    return row.top >= 0 && row.bottom <= innerHeight;
  })()`;
    await expect.poll(() => page.evaluate(isInSight)).toBe(true);
  });

  it('letters after Ctrl K are searched, also before the script of the search is there', async () => {
    const { page, open, press, type } = await site.openConsole();
    const letGo = await hold(page, 'GET', /palette-.*\.js/);
    await open('/inboxes', role('heading', 'Inboxes', { exact: true }));
    await press('Control+k');
    await type('n usage');
    letGo();
    expect(await page.getByRole('combobox').inputValue()).toBe('n usage');
    expect(page.url()).not.toContain('new=1');
  });

  it('Enter in the search of everything opens what was typed, not what was found before', async () => {
    const inbox = await site.inboxWith('Subject: the first\r\n\r\nYour code is 111222');
    await site.inject(inbox.id, 'Subject: the second\r\n\r\nYour code is 333444');
    const { page, press, sees } = await site.show('/inboxes', row(inbox.address));
    await press('Control+k');
    await page.getByRole('combobox').fill('code:111222');
    await sees(role('option', 'the first'));
    const letGo = await hold(page, 'GET', /q=code%3A333444/);
    await page.getByRole('combobox').fill('code:333444');
    await press('Enter');
    letGo();
    await sees(heading('the second'));
  });

  it('letters after Enter in a search stay in its field', async () => {
    const inbox = await site.inboxWith('confirm', 'confide', 'other');
    const { page, press, type, fill, sees } = await site.show(`/inboxes/${inbox.id}`, row('other'));
    const letGo = await hold(page, 'GET', /q=conf/);
    await fill('Search messages', 'conf');
    await press('Enter');
    await type('irm');
    letGo();
    await sees(exact('1 of 3'));
    await type('s', 'No message matches');
    expect(await page.getByLabel('Search messages').inputValue()).toBe('confirms');
  });

  it('a label that is entered leaves the field to the next one', async () => {
    await site.app.createInbox({ labels: { run: '47', job: '11' } });
    const { page, open, sees } = await site.openConsole();
    for (const [path, field] of [
      ['/inboxes', 'Search inboxes'],
      ['/runs', 'Label of the run'],
    ] as const) {
      await open(path);
      await page.getByLabel(field).focus();
      await quickly(page, [...'run=47', 'Enter', ...'job']);
      await sees(role('button', 'run=47'));
      expect(await page.getByLabel(field).inputValue()).toBe('job');
    }
  });

  it('what was entered for a wait stays when another condition is removed', async () => {
    const inbox = await site.app.createInbox();
    const { page, find, click, fill } = await site.show(`/inboxes/${inbox.id}/why?hasAttachments=true`);
    await find('What the test waits for').click();
    await fill('Subject', 'confirm');
    await click('hasAttachments: true');
    await page.waitForURL(/subject=confirm/);
    expect(page.url()).not.toContain('hasAttachments');
    expect(await page.getByLabel('Subject').inputValue()).toBe('confirm');
  });

  it('each key moves on from the row before: End and k, back and j, Delete three times', async () => {
    const inbox = await site.inboxWith(...numbered(40, (n) => `row ${n};`));
    const { page, press, sees } = await site.show(`/inboxes/${inbox.id}`, row('row 39;'));
    await quickly(page, ['End', 'k']);
    await sees(focused('row 1;'));
    await quickly(page, [...'k'.repeat(30)]);
    await sees(focused('row 31;'));
    await press('Enter', heading('row 31;'));
    await page.evaluate(`addEventListener('popstate', async () => {
    for (let turn = 0; turn < 50; turn++) await null;
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
  }, { once: true })`);
    await press('u', focused('row 30;'));
    await quickly(page, ['Delete', 'Delete', 'Delete']);
    await sees(focused('row 27;'), () => page.getByText('The message is deleted').nth(2));
  });

  it('the keys of the views work before the mail is there', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(inbox.id, 'slow');
    const { page, press } = await site.show(`/inboxes/${inbox.id}`, row('slow'));
    const letGo = await hold(page, 'GET', new RegExp(`messages/${id}$`));
    await press('j Enter');
    await page.waitForURL(/messages\//);
    await press('4');
    letGo();
    await page.getByRole('tab', { name: /Headers/, selected: true }).waitFor();
  });

  it('two tags one after the other are both kept, as are three changes of what was read', async () => {
    const inbox = await site.app.createInbox();
    const id = await site.inject(inbox.id, 'tagged');
    const stored = async () => (await site.app.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`)).body;
    const path = `/inboxes/${inbox.id}/messages/${id}`;
    const { page, click, press, fill, sees } = await site.show(path, heading('tagged'));
    const letGo = await hold(page, 'PATCH', new RegExp(`messages/${id}$`));
    for (const tag of ['one', 'two']) {
      await click(/^Tag$/);
      await fill('New tag', tag);
      await press('Enter');
    }
    await sees(role('button', 'two'));
    await quickly(page, ['e', 'e', 'e']);
    letGo();
    await expect.poll(async () => (await stored()).tags).toEqual(['one', 'two']);
    await expect.poll(async () => (await stored()).readAt).toBeNull();
    await sees(role('button', 'Mark as read'));
  });

  it('Enter twice in a form creates one key', async () => {
    const { page, click, press, fill, sees } = await site.show('/keys?new=1');
    const letGo = await hold(page, 'POST', /\/v1\/keys$/);
    await fill('What it is for', 'only once');
    await press('Enter Enter');
    letGo();
    await sees('API key, shown only now');
    await click('Done', role('cell', 'only once'));
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
