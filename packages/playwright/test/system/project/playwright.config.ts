import { defineConfig } from '@playwright/test';
// What the client loads later. Playwright compiles sources when they are first imported, which takes seconds on a
// busy machine; the package is compiled already.
import '../../../../client/src/checks.ts';
import '../../../../client/src/rare.ts';
import '../../../../client/src/uncommon.ts';
import type { MayflyOptions } from '../../../src/index.ts';

/** Run by fixtures.test.ts with the addresses of a server. */
export default defineConfig<object, MayflyOptions>({
  testDir: '.',
  outputDir: `${process.env.OUTPUT}/results`,
  fullyParallel: true,
  workers: 4,
  timeout: 60_000,
  reporter: [
    ['json', { outputFile: `${process.env.OUTPUT}/report.json` }],
    ['html', { outputFolder: `${process.env.OUTPUT}/html`, open: 'never' }],
  ],
  use: {
    mayfly: { labels: { suite: 'fixtures' } },
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
  },
});
