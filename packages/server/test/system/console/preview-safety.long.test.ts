import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { launchBrowser } from '../browser/browser.ts';
import { describeConsole, first, LOOKS } from './console.ts';
import hostile from './hostile-html.json' with { type: 'json' };

/** HTML that tries to run a script or to request something; `C` is the URL of a server that counts requests. */
const HOSTILE: Record<string, string> = hostile.shown;
/** HTML with an element to click, which has the first `id`. No click may change the page of the console. */
const CLICKED: Record<string, string> = hostile.clicked;

/** Time limit for a preview to load, milliseconds. */
const LOADED_MS = 2_000;

/** The sandbox of the console's frames. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox';

/** An image that is ten pixels wide. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC';

describeConsole('the preview of a hostile mail', {}, (site) => {
  let canary: HttpReceiver;
  let canaryUrl: string;
  const heard: string[] = [];
  let inbox: { id: string; address: string };
  beforeAll(async () => {
    canary = await startHttp((response, { path, headers }) => {
      heard.push(`${path} ${headers.cookie ?? ''}`);
      response.setHeader('access-control-allow-origin', '*').end('');
    });
    canaryUrl = `http://127.0.0.1:${canary.port}`;
    inbox = await site.app.createInbox();
  });
  afterAll(() => canary?.close());

  /** Stores a mail with this HTML. @returns the URL of its preview */
  async function previewOf(html: string, remoteContent = false): Promise<string> {
    const body = `Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html.replaceAll('C/', `${canaryUrl}/`).replaceAll('"C"', `"${canaryUrl}"`)}\r\n`;
    const path = `/v1/inboxes/${inbox.id}/messages/${await site.inject(inbox.id, body)}/preview`;
    return (await site.app.api('POST', path, { body: { remoteContent } })).body.url;
  }

  /** Shows previews in frames on a page of the console's origin. */
  async function show(page: Page, urls: readonly string[], sandbox: string | null = SANDBOX): Promise<void> {
    await page.evaluate(
      `(async () => {
        document.body.replaceChildren();
        window.ran = undefined;
        await Promise.all(${JSON.stringify(urls)}.map((url) => new Promise((done) => {
          const frame = document.createElement('iframe');
          ${sandbox === null ? '' : `frame.setAttribute('sandbox', ${JSON.stringify(sandbox)});`}
          frame.onload = done;
          frame.src = url;
          document.body.append(frame);
          // Blocked frames have no load event.
          setTimeout(done, ${LOADED_MS});
        })));
      })()`,
    );
    // Time for refreshes, fonts and timers after the load event.
    await page.waitForTimeout(400);
  }

  /** Opens a page of the console with little content. */
  const openDomains = (browser?: Browser) => site.show('/domains', first('MX'), browser && { browser });

  it('runs nothing and requests nothing, whatever the mail contains', async () => {
    const { page, complaints } = await openDomains();
    const urls = await Promise.all(Object.values(HOSTILE).map((html) => previewOf(html)));
    await show(page, urls);
    expect(heard).toEqual([]);
    expect(await page.evaluate('[window.ran ?? 0, location.pathname]')).toEqual([0, '/console/domains']);
    // The frames have an opaque origin.
    const frames = page.frames().slice(1);
    expect(frames.length).toBeGreaterThanOrEqual(urls.length);
    // On a busy machine a frame may still be loading.
    const origins = () => Promise.all(frames.map((frame) => frame.evaluate('self.origin')));
    await expect.poll(async () => [...new Set(await origins())]).toEqual(['null']);
    // These are the requests of the mail that the browser blocked.
    complaints.length = 0;
  });

  it('resolves no name that the mail contains', async () => {
    const log = join(site.app.dataDir, 'net-log.json');
    const watched = await launchBrowser([`--log-net-log=${log}`]);
    onTestFinished(() => watched.close());
    const { page, complaints } = await openDomains(watched);
    const names = ['hints', 'prefetch control'].map((name) => previewOf(HOSTILE[name] ?? ''));
    await show(page, await Promise.all(names));
    // The log does contain names that are resolved.
    const asked = page.waitForEvent('requestfailed', (request) => request.url().includes('control.canary'));
    await show(page, [await previewOf('<img src="http://control.canary.test/x.png">', true)]);
    await asked;
    await watched.close();
    complaints.length = 0;
    const written = readFileSync(log, 'utf8');
    expect(written).toContain('control.canary.test');
    expect(written).not.toMatch(/(dns|link)\.canary\.test/);
  });

  it('a click on anything in it changes neither the page of the console nor runs a script', async () => {
    const { page, context } = await openDomains();
    const downloads: string[] = [];
    page.on('download', (download) => downloads.push(download.url()));
    // Another host name than that of the console, because cookies ignore ports.
    const elsewhere = canaryUrl.replace('127.0.0.1', 'localhost');
    for (const [name, given] of Object.entries(CLICKED)) {
      const html = given.replaceAll('C/', `${elsewhere}/`);
      const id = /id=([\w-]+)[^>]*>/.exec(html.replace('<form id=f', ''))?.[1];
      await show(page, [await previewOf(html)]);
      await page.frameLocator('iframe').locator(`#${id}`).click({ force: true, noWaitAfter: true });
      await page.waitForTimeout(150);
      const state = await page.evaluate('[window.ran ?? 0, location.pathname, document.title]');
      expect([name, state]).toEqual([name, [0, '/console/domains', 'Domains · Mayfly']]);
      for (const other of context.pages()) {
        if (other === page) continue;
        await other.waitForLoadState();
        // A new tab has no access to its opener.
        expect([name, await other.evaluate('window.opener')]).toEqual([name, null]);
        expect([name, /^(file|vscode|blob|data):/.test(other.url())]).toEqual([name, false]);
        await other.close();
      }
    }
    expect(downloads).toEqual([]);
    // A form sends nothing; a link opens a new tab and sends no cookie.
    expect(heard.filter((one) => /form|mayfly/.test(one))).toEqual([]);
    heard.length = 0;
  });

  it('holds by the frame alone and by the policy alone: two mutants', async () => {
    const { page, complaints } = await openDomains();
    const scripts = ['script', 'event handlers', 'frame with a script', 'svg', 'form', 'refresh'];
    const urls = await Promise.all(scripts.map((name) => previewOf(HOSTILE[name] ?? '')));
    // The policy alone, with a frame that has no sandbox.
    const all = await Promise.all(Object.values(HOSTILE).map((html) => previewOf(html)));
    await show(page, all, null);
    expect(heard).toEqual([]);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    // The sandbox alone, with responses that have no policy.
    await page.route('**/preview/**', async (route) => {
      const response = await route.fetch();
      const { 'content-security-policy': _, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
    await show(page, all);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    heard.length = 0;
    await show(page, urls);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    const ran = heard.filter(
      (one) => /script|on(error|load)|svg|srcdoc/.test(one) && !/script\.js|svg-image/.test(one),
    );
    expect(ran).toEqual([]);
    // Without both, the script of the mail does run.
    await show(page, urls.slice(0, 1), null);
    await expect.poll(() => page.evaluate('window.ran')).toBe(1);
    heard.length = 0;
    // These are the requests of the mail that the browser blocked.
    complaints.length = 0;
  });

  it('loads remote images when asked to, without a cookie or a referrer, and still runs nothing', async () => {
    const { page } = await openDomains();
    const url = await previewOf(`${HOSTILE.image}${HOSTILE.script}`, true);
    await show(page, [url]);
    await expect.poll(() => heard.map((one) => one.trim())).toContain('/open.gif');
    expect(heard.join()).not.toMatch(/script|mayfly/);
    heard.length = 0;
  });

  it('shows the mail as it is: its own images, its document type, its styles', async () => {
    const html =
      '<!DOCTYPE html><style>:root { color-scheme: light dark } p { color: rgb(1, 2, 3) }</style><p>Hello</p><img id=i src="cid:logo@shop"><a href="#below">down</a><a id=out href="https://shop.example/?a=1&amp;b=2">out</a>';
    const attachments = [{ filename: 'logo.png', cid: 'logo@shop', content: Buffer.from(PNG, 'base64') }];
    await site.app.send({ from: 'a@shop.example', to: inbox.address, subject: 'files', html, attachments });
    const path = `${await site.newest(inbox.id)}?width=375&dark=1`;
    // Without an emulated color scheme, which would hide that of the frame.
    const { page } = await site.show(path, (shown) => shown.frameLocator('iframe').getByText('Hello'), {
      look: { ...LOOKS[0], colorScheme: null },
    });
    expect(
      await page
        .frames()[1]
        ?.evaluate(
          "[document.compatMode, getComputedStyle(document.querySelector('p')).color, document.querySelector('#i').naturalWidth, innerWidth, document.querySelector('#out').href, document.querySelector('base').target, matchMedia('(prefers-color-scheme: dark)').matches]",
        ),
    ).toEqual(['CSS1Compat', 'rgb(1, 2, 3)', 10, 375, 'https://shop.example/?a=1&b=2', '_blank', true]);
  });
});
