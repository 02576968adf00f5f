import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import type { Overrides } from '../../../src/app.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';

/** Themes and widths in which every screen has to work. */
export const LOOKS = [
  { width: 1280, height: 800, colorScheme: 'light' },
  { width: 360, height: 740, colorScheme: 'dark' },
  { width: 1280, height: 800, colorScheme: 'dark' },
  { width: 360, height: 740, colorScheme: 'light' },
] as const;
export type Look = Pick<(typeof LOOKS)[number], 'colorScheme'> & { width: number; height: number };

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page of the console, and what the browser complained about: errors, refusals by a policy, failed requests. */
export interface Console {
  context: BrowserContext;
  page: Page;
  complaints: string[];
  /** Shows a screen by its path below /console. */
  open(path: string): Promise<void>;
}

const HELP = 'Content Security Policy|Trusted ?Type|Uncaught|is not a function|undefined';

/** Opens the console in a browser of its own. @param as signs in with this credential; null does not */
export async function openConsole(
  browser: Browser,
  app: Pick<TestApp, 'url'>,
  { width, height, colorScheme }: Look = LOOKS[0],
  as: string | null = TEST_KEY,
  options: BrowserContextOptions = {},
): Promise<Console> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, ...options });
  const page = await context.newPage();
  // Long for a busy machine, and short enough for a failure to name what it waited for.
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // A frame with a mail is refused what it may not have; that is not the page of the console.
    if (message.type() === 'error' && message.location().url.includes('/preview/')) return;
    if (message.type() === 'error' && new RegExp(HELP).test(message.text())) complaints.push(message.text());
  });
  if (as !== null) {
    await context.request.post(`${app.url}/console/session`, { headers: { authorization: `Bearer ${as}` } });
  }
  return {
    ...{ context, page, complaints },
    async open(path) {
      await page.goto(`${app.url}/console${path}`);
    },
  };
}

/** A server, a browser and the pages that the cases of a `describe` open. */
export interface Site {
  readonly app: TestApp;
  readonly browser: Browser;
  /** As {@link openConsole}. After the case the page is closed, and the browser must not have complained. */
  openConsole(look?: Look, as?: string | null, app?: Pick<TestApp, 'url'>): Promise<Console>;
  /** As `openConsole`, and shows a screen by its path below /console. */
  show(path: string, look?: Look, as?: string | null, app?: Pick<TestApp, 'url'>): Promise<Console>;
  /** A new inbox with mails, oldest first; each as for `inject`. */
  inboxWith(...mails: string[]): ReturnType<TestApp['createInbox']>;
  /** A new inbox with a {@link signUpMail}. */
  inboxWithSignUp(options?: object): ReturnType<TestApp['createInbox']>;
  /** Puts a mail into an inbox: its source, or a subject. @returns its id */
  inject(inboxId: string, mail: string): Promise<string>;
  /** Subjects of the messages of an inbox, newest first. */
  subjects(inboxId: string, query?: string): Promise<string[]>;
}

/** Runs cases with a server and a browser that they share. */
export function describeConsole(
  name: string,
  env: Record<string, string>,
  cases: (site: Site) => void,
  overrides: Overrides = {},
): void {
  describe.skipIf(!CHROMIUM)(`${name} (skipped where there is no Chromium)`, () => {
    let app: TestApp;
    let browser: Browser;
    const opened: Console[] = [];
    beforeAll(async () => {
      [app, browser] = await Promise.all([startApp(env, overrides), launchBrowser()]);
    });
    afterEach(async () => {
      const closing = opened.splice(0);
      for (const { context } of closing) await context.close();
      expect(closing.flatMap(({ complaints }) => complaints)).toEqual([]);
    });
    afterAll(async () => {
      await browser?.close();
      await app?.stop();
    });
    const site: Site = {
      get app() {
        return app;
      },
      get browser() {
        return browser;
      },
      async openConsole(look, as, other = app) {
        const shown = await openConsole(browser, other, look, as);
        opened.push(shown);
        return shown;
      },
      async show(path, ...how) {
        const shown = await site.openConsole(...how);
        await shown.open(path);
        return shown;
      },
      async inboxWith(...mails) {
        const inbox = await app.createInbox();
        for (const mail of mails) await site.inject(inbox.id, mail);
        return inbox;
      },
      async inboxWithSignUp(options) {
        const inbox = await app.createInbox(options);
        await app.send(signUpMail(inbox.address));
        return inbox;
      },
      async inject(id, mail) {
        const { body } = await app.api('POST', `/v1/inboxes/${id}/messages`, {
          body: mail.includes('\r\n') ? mail : `Subject: ${mail}\r\n\r\nYour code is 482913\r\n`,
          headers: { 'content-type': 'message/rfc822' },
        });
        return body.id;
      },
      subjects: async (id, query = '') =>
        (await app.api('GET', `/v1/inboxes/${id}/messages?${query}`)).body.messages.map(
          ({ subject }: { subject: string }) => subject,
        ),
    };
    cases(site);
  });
}

/** Texts for the numbers from 0. */
export const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n));

/** Lets everybody sign up, under a plan whose limits the console does not reach. */
export const SIGN_UP = {
  MAYFLY_PLANS: JSON.stringify({ free: { maxLiveInboxes: null, requestsPerSecond: null, burst: null } }),
  MAYFLY_SIGNUP_PLAN: 'free',
};

/** The row of a message or an inbox in a list. */
export const row = (page: Page, text: string) => page.getByRole('link', { name: new RegExp(text) });

/** For what the element with the focus says. */
export const focused = (page: Page) => expect.poll(() => page.locator(':focus').textContent());

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** Holds the page to axe, and to its width: nothing may make it scroll sideways. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  await page.evaluate(AXE);
  const violations = (await page.evaluate(
    "axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as Violation[];
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  );
  expect({ state, found }).toEqual({ state, found: [] });
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect({ state, overflow }).toEqual({ state, overflow: 0 });
}

/** A sign-up mail with a code, a link, an attachment and HTML. */
export const signUpMail = (to: string, code = '482913') => ({
  from: 'Shop <no-reply@shop.example>',
  to,
  subject: 'Please confirm your address',
  text: `Your code is ${code}.\nhttps://shop.example/confirm?token=abc`,
  html: `<h1>Welcome</h1><p>Your code is <b>${code}</b>.</p><p><a href="https://shop.example/confirm?token=abc">Confirm your address</a></p>`,
  attachments: [{ filename: 'terms.pdf', content: Buffer.from('%PDF-1.4') }],
});
