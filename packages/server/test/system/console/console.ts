import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { TEST_KEY, type TestApp } from '../../support/start-app.ts';

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
