import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import type { Overrides } from '../../../src/app.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { CHROMIUM, launchBrowser } from '../browser/browser.ts';

/** Combinations of theme and width that every screen supports. */
export const LOOKS = [
  { width: 1280, height: 800, colorScheme: 'light' },
  { width: 360, height: 740, colorScheme: 'dark' },
  { width: 1280, height: 800, colorScheme: 'dark' },
  { width: 360, height: 740, colorScheme: 'light' },
] as const;
export type Look = Pick<(typeof LOOKS)[number], 'colorScheme'> & { width: number; height: number };

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A page of the console. `complaints` are errors and violations of policies. */
export interface Console {
  context: BrowserContext;
  page: Page;
  complaints: string[];
  /** Navigates to a path below /console. */
  open(path: string): Promise<void>;
}

const HELP = 'Content Security Policy|Trusted ?Type|Uncaught|is not a function|undefined';

/** Opens the console in a new browser context. @param as the credential to sign in with; null does not sign in */
export async function openConsole(
  browser: Browser,
  app: Pick<TestApp, 'url'>,
  { width, height, colorScheme }: Look = LOOKS[0],
  as: string | null = TEST_KEY,
  options: BrowserContextOptions = {},
): Promise<Console> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, ...options });
  const page = await context.newPage();
  // Shorter than the timeout of a test, so that a failure names the element.
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // The browser blocks requests of previews, which are not errors of the console.
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

/** A server and a browser for the cases of a `describe`. */
export class Site {
  app!: TestApp;
  browser!: Browser;
  readonly opened: Console[] = [];

  /** As {@link openConsole}. After the case the page is closed, and must have no complaints. */
  async openConsole(look?: Look, as?: string | null, app: Pick<TestApp, 'url'> = this.app): Promise<Console> {
    const shown = await openConsole(this.browser, app, look, as);
    this.opened.push(shown);
    return shown;
  }

  /** As `openConsole`, and navigates to a path below /console. */
  async show(path: string, ...how: Parameters<Site['openConsole']>): Promise<Console> {
    const shown = await this.openConsole(...how);
    await shown.open(path);
    return shown;
  }

  /** Creates an inbox with mails, oldest first, as for `inject`. */
  async inboxWith(...mails: string[]): ReturnType<TestApp['createInbox']> {
    const inbox = await this.app.createInbox();
    for (const mail of mails) await this.inject(inbox.id, mail);
    return inbox;
  }

  /** Creates an inbox with a {@link signUpMail}. */
  async inboxWithSignUp(options?: object): ReturnType<TestApp['createInbox']> {
    const inbox = await this.app.createInbox(options);
    await this.app.send(signUpMail(inbox.address));
    return inbox;
  }

  /** Stores a mail. @param mail its source, or a subject @returns its id */
  async inject(inboxId: string, mail: string): Promise<string> {
    const { body } = await this.app.api('POST', `/v1/inboxes/${inboxId}/messages`, {
      body: mail.includes('\r\n') ? mail : `Subject: ${mail}\r\n\r\nYour code is 482913\r\n`,
      headers: { 'content-type': 'message/rfc822' },
    });
    return body.id;
  }

  /** @returns the subjects of the messages of an inbox, newest first */
  async subjects(inboxId: string, query = ''): Promise<string[]> {
    const { body } = await this.app.api('GET', `/v1/inboxes/${inboxId}/messages?${query}`);
    return body.messages.map(({ subject }: { subject: string }) => subject);
  }
}

/** Runs cases that share a server and a browser. */
export function describeConsole(
  name: string,
  env: Record<string, string>,
  cases: (site: Site) => void,
  overrides: Overrides = {},
): void {
  describe.skipIf(!CHROMIUM)(`${name} (skipped where there is no Chromium)`, () => {
    const site = new Site();
    beforeAll(async () => {
      [site.app, site.browser] = await Promise.all([startApp(env, overrides), launchBrowser()]);
    });
    afterEach(async () => {
      const closing = site.opened.splice(0);
      for (const { context } of closing) await context.close();
      expect(closing.flatMap(({ complaints }) => complaints)).toEqual([]);
    });
    afterAll(async () => {
      await site.browser?.close();
      await site.app?.stop();
    });
    cases(site);
  });
}

/** @returns texts for the numbers from 0 */
export const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n));

/** Allows sign-up, with a plan without limits. */
export const SIGN_UP = {
  MAYFLY_PLANS: JSON.stringify({ free: { maxLiveInboxes: null, requestsPerSecond: null, burst: null } }),
  MAYFLY_SIGNUP_PLAN: 'free',
};

/** @returns the row of a message or an inbox in a list */
export const row = (page: Page, text: string) => page.getByRole('link', { name: new RegExp(text) });

/** Presses keys one after the other. */
export async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** @returns an assertion on the text of the focused element */
export const focused = (page: Page) => expect.poll(() => page.locator(':focus').textContent());

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** Asserts that axe finds no violation and that the page does not scroll horizontally. */
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

/** @returns a sign-up mail with a code, a link, an attachment and HTML */
export const signUpMail = (to: string, code = '482913') => ({
  from: 'Shop <no-reply@shop.example>',
  to,
  subject: 'Please confirm your address',
  text: `Your code is ${code}.\nhttps://shop.example/confirm?token=abc`,
  html: `<h1>Welcome</h1><p>Your code is <b>${code}</b>.</p><p><a href="https://shop.example/confirm?token=abc">Confirm your address</a></p>`,
  attachments: [{ filename: 'terms.pdf', content: Buffer.from('%PDF-1.4') }],
});
