import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The path of the browser; undefined where there is none, and its tests are skipped. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));

/** The same engine without windows: a page costs a quarter of the CPU time that it costs with them. */
const SHELL = '/usr/lib/chromium/chromium-headless-shell';
const EXECUTABLE = existsSync(SHELL) ? SHELL : CHROMIUM;

/** Without what Chromium requests by itself, because a test looks at every request. */
const ARGUMENTS = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
  // Chromium has no sandbox for root in a container.
  '--no-sandbox',
];

/** Starts a browser that waits two minutes for anything, because the machine may be busy. */
export const launchBrowser = (further: readonly string[] = [], executable = EXECUTABLE): Promise<Browser> =>
  chromium.launch({
    ...(executable && { executablePath: executable }),
    args: [...ARGUMENTS, ...further],
    timeout: 120_000,
  });
