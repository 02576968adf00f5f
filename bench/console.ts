import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { openSenders } from './support/load.ts';
import { type Inbox, type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, compared, type Row, skipped } from './support/rows.ts';
import { onTheWire } from './support/smtp-client.ts';
import { percentile } from './support/stats.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const ROUNDS = 5;
/** As a mid-range phone against this machine. */
const CPU_RATE = 4;
const MANY = 10_000;
const LIVE_MAILS = 200;
/** 20 mails a second. */
const LIVE_EVERY_MS = 50;
const OPENED = 50;
const MIB = 1024 * 1024;
const SENDERS = 10;
const MAILS_EACH = 200;

async function inject(mayfly: Mayfly, inbox: Inbox, subject: string): Promise<void> {
  const response = await fetch(`${mayfly.url}/v1/inboxes/${inbox.id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${mayfly.key}`, 'content-type': 'message/rfc822' },
    body: `Subject: ${subject}\r\nContent-Type: text/html\r\n\r\n<p>Your code is 482913.</p>\r\n`,
  });
  if (response.status !== 201) throw new Error(`not injected: ${response.status}`);
}

async function signedIn(browser: Browser, mayfly: Mayfly): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const headers = { authorization: `Bearer ${mayfly.key}` };
  await context.request.post(`${mayfly.url}/console/session`, { headers });
  return context.newPage();
}

/** Requests and times until the first mails are shown, with an empty cache and a slow processor. */
async function firstScreen(browser: Browser, mayfly: Mayfly): Promise<Row[]> {
  const paints: number[] = [];
  const lists: number[] = [];
  let requests = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const page = await signedIn(browser, mayfly);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_RATE });
    requests = 0;
    page.on('request', () => {
      requests++;
    });
    const started = performance.now();
    await page.goto(`${mayfly.url}/console/live`, { waitUntil: 'commit' });
    await page.locator('.window li a').first().waitFor();
    lists.push(performance.now() - started);
    paints.push(
      Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")),
    );
    await page.context().close();
  }
  return [
    alone('console: first paint, empty cache, processor slowed 4 times', 'ms', paints, { atMost: 500 }),
    alone('console: first mails shown, the same', 'ms', lists, { atMost: 1_500 }),
    alone('console: requests until then, with the two of the stream beside it', '', [requests], {
      atMost: 6,
    }),
  ];
}

/** A list of 10,000 messages: first rows, rows in the page, jump to the end. */
async function longList(page: Page, mayfly: Mayfly, inbox: Inbox): Promise<Row[]> {
  for (let at = 0; at < MANY; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, n) => inject(mayfly, inbox, `mail ${at + n}`)));
  }
  await page.goto(`${mayfly.url}/console/inboxes/${inbox.id}`);
  const rows = page.locator('.pane-list li');
  const answered = page.waitForResponse((response) => /\/messages\?limit/.test(response.url()));
  await page.reload();
  await answered;
  const started = performance.now();
  await rows.first().waitFor();
  const first = performance.now() - started;
  const window = page.locator('.pane-list .window');
  // Loads all pages, as one who keeps pressing End.
  const loading = performance.now();
  while ((await rows.first().getAttribute('aria-setsize')) !== String(MANY)) {
    await window.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await sleep(5);
  }
  const loaded = performance.now() - loading;
  const jump = (await page.evaluate(`new Promise((done) => {
    const box = document.querySelector('.pane-list .window');
    box.scrollTo(0, 0);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const started = performance.now();
      box.scrollTo(0, box.scrollHeight);
      const look = () => document.querySelector('.pane-list [aria-posinset="${MANY}"]')
        ? done(performance.now() - started) : requestAnimationFrame(look);
      look();
    }));
  })`)) as number;
  return [
    alone('console: first rows of 10,000 messages after the response', 'ms', [first], { atMost: 100 }),
    alone('console: rows in the page then', '', [await rows.count()], { atMost: 80 }),
    alone('console: all 10,000 loaded by scrolling', 'ms', [loaded]),
    alone('console: jump to the end of them', 'ms', [jump], { atMost: 200 }),
  ];
}

/** From the response to an injected mail until its row is in the page. */
async function live(page: Page, mayfly: Mayfly, inbox: Inbox): Promise<Row> {
  await page.goto(`${mayfly.url}/console/inboxes/${inbox.id}`);
  await page.getByText('Waiting for the first mail').waitFor();
  await page.evaluate(`
    window.seen = {};
    new MutationObserver(() => {
      for (const row of document.querySelectorAll('.pane-list li')) {
        const subject = /live \\d+/.exec(row.textContent)?.[0];
        if (subject && !window.seen[subject]) window.seen[subject] = Date.now();
      }
    }).observe(document.body, { childList: true, subtree: true });`);
  const sent: Record<string, number> = {};
  for (let n = 0; n < LIVE_MAILS; n++) {
    const subject = `live ${n}`;
    await inject(mayfly, inbox, subject);
    sent[subject] = Date.now();
    await sleep(LIVE_EVERY_MS);
  }
  await sleep(1_000);
  const seen = (await page.evaluate('window.seen')) as Record<string, number>;
  const delays = Object.entries(sent).map(
    ([subject, at]) => (seen[subject] ?? Number.POSITIVE_INFINITY) - at,
  );
  return alone('console: stored to row visible at 20 mails/s, p95', 'ms', [percentile(delays, 0.95)], {
    atMost: 150,
  });
}

/** How much the heap grows by opening messages one after the other. */
async function opened(page: Page, mayfly: Mayfly, inbox: Inbox): Promise<Row> {
  const devtools = await page.context().newCDPSession(page);
  const heap = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    return ((await page.evaluate('performance.memory.usedJSHeapSize')) as number) / MIB;
  };
  await page.goto(`${mayfly.url}/console/inboxes/${inbox.id}`);
  await page.locator('.pane-list li a').first().click();
  await page.locator('iframe').waitFor();
  const before = await heap();
  for (let n = 0; n < OPENED; n++) {
    await page.keyboard.press('j');
    await page.waitForTimeout(60);
  }
  return alone('console: heap after 50 messages were opened', 'MiB more', [(await heap()) - before], {
    atMost: 5,
  });
}

const INBOXES = 2_000;

/** The slowest event while one types into the search of a screen, by the browser's own measure, with a slow processor. */
async function typing(browser: Browser, mayfly: Mayfly, screen: string, words: string): Promise<Row> {
  const page = await signedIn(browser, mayfly);
  await page.goto(`${mayfly.url}/console/${screen}`);
  await page.locator('.window li a').first().waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_RATE });
  const worst: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await page.keyboard.press('/');
    await page.evaluate(`
      window.slowest = 0;
      window.observer?.disconnect();
      window.observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.slowest = Math.max(window.slowest, duration);
      });
      window.observer.observe({ type: 'event', durationThreshold: 16 });`);
    for (const letter of `${words} ${round}17`) {
      await page.keyboard.press(letter === ' ' ? 'Space' : letter);
      await sleep(100);
    }
    await sleep(1_000);
    worst.push((await page.evaluate('window.slowest')) as number);
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox').first().fill('');
  }
  await page.context().close();
  return alone(`console: slowest event of a search that is typed into ${screen}, the same`, 'ms', worst, {
    atMost: 100,
  });
}

/** 2,000 mails with Live open, against 2,000 without a page. */
async function besideIntake(browser: Browser, mayfly: Mayfly): Promise<Row> {
  const senders = await openSenders(mayfly, SENDERS);
  const text = 'Subject: Hi\r\nContent-Type: text/html\r\n\r\n<p>Your code is 482913.</p>\r\n';
  const mail = onTheWire(Buffer.from(text));
  const burst = async (): Promise<number> => {
    const started = performance.now();
    const one = async (n: number) => {
      for (let sent = 0; sent < MAILS_EACH; sent++)
        await senders.clients[n]?.send(senders.inboxes[n]?.address ?? '', mail);
    };
    await Promise.all(senders.clients.map((_, n) => one(n)));
    return performance.now() - started;
  };
  await burst();
  const rounds: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const baseline = await burst();
    const page = await signedIn(browser, mayfly);
    await page.goto(`${mayfly.url}/console/live`);
    await page.locator('.window li a').first().waitFor();
    rounds.push({ ours: await burst(), baseline });
    await page.context().close();
  }
  senders.close();
  return compared('console: 2,000 mails with Live open; baseline without a page', 'ms', rounds, {
    atMost: 1.3,
  });
}

/** The console in a browser (docs/console.md). */
export async function consoleBench(): Promise<Row[]> {
  if (!CHROMIUM) return [skipped('console', 'there is no Chromium')];
  const args = ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info'];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  try {
    return await withMayfly({}, async (mayfly) => {
      const long = await mayfly.createInbox();
      for (let n = 0; n < OPENED; n++) await inject(mayfly, long, `first ${n}`);
      const rows = await firstScreen(browser, mayfly);
      const page = await signedIn(browser, mayfly);
      rows.push(await live(page, mayfly, await mayfly.createInbox()));
      rows.push(...(await longList(page, mayfly, await mayfly.createInbox())));
      rows.push(await opened(page, mayfly, long));
      rows.push(await typing(browser, mayfly, 'live', 'mail'));
      for (let made = 0; made < INBOXES; made += SENDERS)
        await Promise.all(Array.from({ length: SENDERS }, () => mayfly.createInbox()));
      rows.push(await typing(browser, mayfly, 'inboxes', 'mayfly'));
      rows.push(await besideIntake(browser, mayfly));
      return rows;
    });
  } finally {
    await browser.close();
  }
}
