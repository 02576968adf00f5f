import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appOfTest, type TestApp } from '../../support/start-app.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { CHROMIUM, launchBrowser } from './browser.ts';

/** The script of a page of an attacker. */
const ATTACK = readFileSync(join(import.meta.dirname, 'attack.js'), 'utf8');

describe.skipIf(!CHROMIUM)('a page of another origin in a browser (skipped without Chromium)', () => {
  let page: HttpReceiver;
  let browser: Browser;
  let port: number;
  beforeAll(async () => {
    const html = '<!doctype html><title>a page</title>';
    page = await startHttp((response) => response.setHeader('content-type', 'text/html').end(html));
    ({ port } = page);
    // A domain of the attacker that resolves to this machine.
    browser = await launchBrowser(['--host-resolver-rules=MAP *.evil.example 127.0.0.1']);
  });
  afterAll(async () => {
    await browser?.close();
    await page?.close();
  });

  /** @returns the results of the attempts of a page of this origin */
  async function attack(origin: string, api: string): Promise<string[]> {
    // The page of an attacker has no Content-Security-Policy.
    const tab = await browser.newPage({ bypassCSP: true });
    await tab.goto(origin);
    const results: string[] = await tab.evaluate(`${ATTACK}attack('${api}/v1/inboxes')`);
    await tab.close();
    return results;
  }

  const inboxesOf = async ({ api }: TestApp): Promise<unknown[]> =>
    (await api('GET', '/v1/inboxes')).body.inboxes;

  test.each(['', '*'])('creates no inbox from another site or port; CORS for "%s"', async (origins) => {
    const app = await appOfTest({ MAYFLY_DEV_KEY: 'on', MAYFLY_CORS_ORIGINS: origins });
    for (const origin of [`http://localhost:${port}`, `http://www.evil.example:${port}`]) {
      const results = await attack(origin, app.url);
      expect(results).toHaveLength(6);
      for (const result of results) expect(result).toMatch(/: (blocked|0 opaque|40[13] cors)$/);
    }
    expect(await inboxesOf(app)).toEqual([]);
    // The server was reachable.
    expect((await app.api('POST', '/v1/inboxes', { as: 'dev' })).status).toBe(201);
  });

  test('creates no inbox from a page whose name was rebound to this server', async () => {
    const app = await appOfTest({ MAYFLY_DEV_KEY: 'on' });
    const rebound = `http://rebound.evil.example:${new URL(app.url).port}`;
    const results = await attack(`${rebound}/docs`, rebound);
    expect(results.filter((result) => !/: (403 basic|401 basic|blocked)$/.test(result))).toEqual([]);
    expect(results).toContain('cors with the header: 403 basic');
    expect(await inboxesOf(app)).toEqual([]);
  });
});
