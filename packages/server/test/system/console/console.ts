import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
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
export const [, NARROW] = LOOKS;
/** With null the browser emulates no color scheme. */
export type Look = { width: number; height: number; colorScheme: 'light' | 'dark' | null };

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What to find on a page: a text, or what {@link role} and the functions after it return. */
export type Target = string | RegExp | ((page: Page) => Locator);

const find = (page: Page, target: Target): Locator =>
  typeof target === 'function' ? target(page) : page.getByText(target);

type Role = Parameters<Page['getByRole']>[0];
export const role = (of: Role, name: string | RegExp, options: { exact?: boolean; level?: number } = {}) => {
  return (page: Page) => page.getByRole(of, { name, ...options });
};
export const heading = (name: string | RegExp) => role('heading', name);
/** The row of a message or an inbox in a list. */
export const row = (text: string) => role('link', new RegExp(text));
export const exact = (text: string) => (page: Page) => page.getByText(text, { exact: true });
export const first = (target: Target) => (page: Page) => find(page, target).first();
export const last = (target: Target) => (page: Page) => find(page, target).last();
/** The element that has the focus, if it has this text. */
export const focused = (text: string) => (page: Page) =>
  page.locator(':focus', { hasText: new RegExp(text) });
/** The sign of an open stream of events. */
export const LIVE = last(exact('Live'));

/** How to open the console. */
interface How {
  browser?: Browser;
  app?: Pick<TestApp, 'url'>;
  look?: Look;
  /** The credential to sign in with; null does not sign in. */
  as?: string | null;
}

/** Errors of the browser's console that are complaints. */
const COMPLAINT = /Content Security Policy|Trusted ?Type|Uncaught|is not a function|undefined/;

/** A server and a browser for the cases of a `describe`. */
export class Site {
  app!: TestApp;
  browser!: Browser;
  readonly opened: { context: BrowserContext; complaints: string[] }[] = [];

  /**
   * Opens a page in a new browser context. Its actions resolve when `targets` are visible. After the case the page is
   * closed, and must have no complaints: errors, and violations of policies.
   */
  async openConsole({ browser = this.browser, app = this.app, look = LOOKS[0], as = TEST_KEY }: How = {}) {
    const { width, height, colorScheme } = look;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme });
    const page = await context.newPage();
    // Shorter than the timeout of a test, so that a failure names the element.
    page.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // The browser blocks requests of previews, which are not errors of the console.
      if (message.type() !== 'error' || message.location().url.includes('/preview/')) return;
      if (COMPLAINT.test(message.text())) complaints.push(message.text());
    });
    if (as !== null) {
      const headers = { authorization: `Bearer ${as}` };
      await context.request.post(`${app.url}/console/session`, { headers });
    }
    const sees = async (...targets: Target[]): Promise<void> => {
      for (const target of targets) await find(page, target).waitFor();
    };
    const opened = {
      ...{ context, page, complaints, sees },
      find: (target: Target) => find(page, target),
      gone: (target: Target) => find(page, target).waitFor({ state: 'detached' }),
      /** Navigates to a path below /console. */
      async open(path: string, ...targets: Target[]) {
        await page.goto(`${app.url}/console${path}`);
        await sees(...targets);
      },
      /** @param what a target; a text is the name of a button */
      async click(what: Target, ...targets: Target[]) {
        await (typeof what === 'function' ? what : role('button', what))(page).click();
        await sees(...targets);
      },
      /** @param keys names of keys, separated by spaces */
      async press(keys: string, ...targets: Target[]) {
        for (const key of keys.split(' ')) await page.keyboard.press(key);
        await sees(...targets);
      },
      async type(text: string, ...targets: Target[]) {
        await page.keyboard.type(text);
        await sees(...targets);
      },
      async fill(label: string, text: string, ...targets: Target[]) {
        await page.getByLabel(label).fill(text);
        await sees(...targets);
      },
    };
    this.opened.push(opened);
    return opened;
  }

  /** As `openConsole`, and navigates to a path below /console. */
  async show(path: string, target?: Target, how?: How): ReturnType<Site['openConsole']> {
    const opened = await this.openConsole(how);
    await opened.open(path, ...(target === undefined ? [] : [target]));
    return opened;
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

  /** @returns the path of the newest message of an inbox */
  async newest(inboxId: string): Promise<string> {
    const { body } = await this.app.api('GET', `/v1/inboxes/${inboxId}/messages?limit=1`);
    return `/inboxes/${inboxId}/messages/${body.messages[0].id}`;
  }

  /** @returns the subjects of the messages of an inbox, newest first */
  async subjects(inboxId: string, query = ''): Promise<string[]> {
    const { body } = await this.app.api('GET', `/v1/inboxes/${inboxId}/messages?${query}`);
    return body.messages.map(({ subject }: { subject: string }) => subject);
  }
}

type Options = Overrides & { env?: Record<string, string> };

/** Runs cases that share a server and a browser. */
export function describeConsole(name: string, options: Options, cases: (site: Site) => void): void {
  const { env, ...overrides } = options;
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

/** Delays requests of a page. @returns a function that sends them */
export async function hold(page: Page, method: string, what: RegExp): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(what, async (route) => {
    if (route.request().method() === method) await promise;
    await route.fallback();
  });
  return resolve;
}

/** @returns texts for the numbers from 0 */
export const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n));

/** Allows sign-up, with a plan without limits. */
export const SIGN_UP = {
  MAYFLY_PLANS: JSON.stringify({ free: { maxLiveInboxes: null, requestsPerSecond: null, burst: null } }),
  MAYFLY_SIGNUP_PLAN: 'free',
};

/** Finds violations of the guidelines for accessibility by axe. Code as text, because tests lack the types of the DOM. */
const VIOLATIONS = `axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', ')))`;

/** Asserts that axe finds no violation and that the page does not scroll horizontally. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  await page.evaluate(AXE);
  const found = await page.evaluate(VIOLATIONS);
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect({ state, found, overflow }).toEqual({ state, found: [], overflow: 0 });
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
