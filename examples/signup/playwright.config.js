import { defineConfig } from '@playwright/test';

const port = process.env.PORT ?? '3000';

export default defineConfig({
  testDir: 'tests',
  fullyParallel: true,
  forbidOnly: Boolean(process.env.CI),
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    // A Chromium of the system instead of Playwright's own, where there is one.
    launchOptions: process.env.CHROMIUM
      ? { executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] }
      : {},
  },
  webServer: { command: 'node app.js', port: Number(port), reuseExistingServer: !process.env.CI },
});
