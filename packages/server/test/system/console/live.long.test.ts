import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { describeConsole, LOOKS } from './console.ts';

const DIST = resolve(import.meta.dirname, '../../../../web/dist');
const KIB = 1024;

/** A proxy that cuts all its connections when it is told to. */
async function cuttingProxy(target: string): Promise<{ url: string; cut(): void; close(): void }> {
  const open = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const server: Server = createServer((from) => {
    const to = connect(Number(port), hostname);
    for (const socket of [from, to]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        from.destroy();
        to.destroy();
      });
    }
    from.pipe(to).pipe(from);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close() {
      server.close();
      cut();
    },
  };
}

describeConsole('live lists of the console', {}, (site) => {
  it('show every message once and in order while the connection is cut again and again', async () => {
    const mails = inForm(120, 1_000);
    const cuts = inForm(6, 20);
    const inbox = await site.app.createInbox();
    const proxy = await cuttingProxy(site.app.url);
    const { page } = await site.openConsole(LOOKS[0], TEST_KEY, { url: proxy.url });
    await page.goto(`${proxy.url}/console/inboxes/${inbox.id}`);
    await page.getByText('Waiting for the first mail').waitFor();
    for (let n = 0; n < mails; n++) {
      await site.inject(inbox.id, `mail ${String(n).padStart(5, '0')}`);
      if (n % Math.floor(mails / cuts) === 1) proxy.cut();
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
      // On a busy machine the rows of a place come after one has scrolled there.
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
    proxy.close();
    await page.getByText(/No connection to the server/).waitFor();
  });

  it('show a message that arrives while the list is loaded, also with a filter', async () => {
    const inbox = await site.app.createInbox();
    for (const search of ['', '?q=subject:race']) {
      const { page, open } = await site.openConsole();
      const subject = `race${search.length}`;
      const held = Promise.withResolvers<void>();
      const hold = async (route: Route): Promise<void> => {
        const response = await route.fetch();
        // The stream is open, and the response was made before the message came.
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
    const inbox = await site.app.createInbox();
    for (let n = 0; n < 150; n++) await site.inject(inbox.id, `row ${n}`);
    const { page, open } = await site.openConsole();
    await open(`/inboxes/${inbox.id}`);
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

  it('two tabs share one stream, and the second goes on when the first is closed', async () => {
    const inbox = await site.app.createInbox();
    const { page: first, context, open } = await site.openConsole();
    const streams: string[] = [];
    context.on('request', (request) => {
      if (request.url().includes('/v1/events')) streams.push(request.url());
    });
    await open(`/inboxes/${inbox.id}`);
    await first.getByText('Waiting for the first mail').waitFor();
    const second = await context.newPage();
    await second.goto(`${site.app.url}/console/inboxes/${inbox.id}`);
    await second.getByText('Waiting for the first mail').waitFor();
    await site.inject(inbox.id, 'to both');
    for (const page of [first, second]) await page.getByRole('link', { name: /to both/ }).waitFor();
    expect(streams).toHaveLength(1);
    await first.close();
    await site.inject(inbox.id, 'to the one that is left');
    await second.getByRole('link', { name: /the one that is left/ }).waitFor();
  });
});

describe('the built console', () => {
  const size = (path: string) => readFileSync(join(DIST, path)).length;
  const assets = readdirSync(join(DIST, 'assets')).map((name) => `assets/${name}`);
  const scripts = assets.filter((path) => path.endsWith('.js.gz'));

  it('sends at most 45 KiB for the first screen and 80 KiB for all screens', () => {
    const first = readFileSync(join(DIST, 'index.html'), 'utf8');
    const needed = scripts.filter((path) => first.includes(path.replace('.gz', '')));
    const sum = (paths: string[]) => paths.reduce((total, path) => total + size(path), 0);
    expect(sum(['index.html.gz', ...needed])).toBeLessThanOrEqual(45 * KIB);
    expect(sum(['index.html.gz', ...scripts])).toBeLessThanOrEqual(80 * KIB);
  });

  it('needs the page and one script for the first screen: style and icon are part of them', () => {
    const first = readFileSync(join(DIST, 'index.html'), 'utf8');
    const links = [...first.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, link]) => link);
    expect(links).toEqual([expect.stringMatching(/^\/console\/assets\/index-.+\.js$/)]);
    expect(assets.filter((path) => !/\.js(\.(br|gz))?$/.test(path))).toEqual([]);
  });

  it('never makes markup of text', () => {
    for (const name of readdirSync(join(DIST, 'assets')).filter((one) => one.endsWith('.js'))) {
      const code = readFileSync(join(DIST, 'assets', name), 'utf8');
      // Preact has the property in it; the console never gives it.
      expect(code).not.toMatch(/dangerouslySetInnerHTML:|\.innerHTML=(?!\w+&&|\w+\.__html|\w+\|\||"")/);
    }
  });
});
