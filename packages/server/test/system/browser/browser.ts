import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The path of Chromium; undefined if it is not installed. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));

/** The same engine without windows, which takes a quarter of the CPU time for a page. */
const SHELL = '/usr/lib/chromium/chromium-headless-shell';
const EXECUTABLE = existsSync(SHELL) ? SHELL : CHROMIUM;

/** Disables requests of Chromium itself, because tests check every request. */
const ARGUMENTS = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
  // The sandbox does not work for root in a container.
  '--no-sandbox',
];

/** Starts a browser with timeouts of two minutes, because the machine may be busy. */
export const launchBrowser = (further: readonly string[] = [], executable = EXECUTABLE): Promise<Browser> =>
  chromium.launch({
    ...(executable && { executablePath: executable }),
    args: [...ARGUMENTS, ...further],
    timeout: 120_000,
  });
