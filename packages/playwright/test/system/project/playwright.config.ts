import { defineConfig } from '@playwright/test';
import type { MayflyOptions } from '../../../src/index.ts';

/** Run by fixtures.test.ts with the addresses of a server. */
export default defineConfig<MayflyOptions>({
  testDir: '.',
  outputDir: `${process.env.OUTPUT}/results`,
  fullyParallel: true,
  workers: 4,
  timeout: 60_000,
  reporter: [
    ['json', { outputFile: `${process.env.OUTPUT}/report.json` }],
    ['html', { outputFolder: `${process.env.OUTPUT}/html`, open: 'never' }],
  ],
  expect: { toHaveScreenshot: { pathTemplate: `${process.env.OUTPUT}/pictures/{arg}{ext}` } },
  use: {
    mayflyLabels: { suite: 'fixtures' },
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
  },
});
