import type { Page, Route } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import type { TestApp } from '../../support/start-app.ts';
import { describeConsole, expectAccessible, LOOKS, signUpMail } from './console.ts';

/** A screen with a list: its path, the request for the list, and words of the list. */
interface Listing {
  path: string;
  request: RegExp;
  words: string;
}

/** Names of buttons that change something, which keys with the scope `read` do not see. */
const VERBS =
  /^(New|Create|Register|Delete|Revoke|Extend|Expire|Empty|Pause$|Enable|Replay|Send|Run now|Import|A fresh)/i;
const MONTH = 40;
const NARROW = LOOKS[1];

const problem = (status: number, code: string, headers: Record<string, string> = {}) => ({
  ...{ status, headers, contentType: 'application/problem+json' },
  body: JSON.stringify({
    ...{ type: 'about:blank', status, code, requestId: 'req-7' },
    ...{ title: `Title of ${code}`, detail: `Detail of ${code}.` },
  }),
});

const ENV = {
  MAYFLY_PLANS: JSON.stringify({ free: { requestsPerMonth: MONTH, requestsPerSecond: null, burst: null } }),
  MAYFLY_SIGNUP_PLAN: 'free',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
};

describeConsole('the states of a screen', ENV, (site) => {
  let inbox: Awaited<ReturnType<TestApp['createInbox']>>;
  let listings: Record<string, Listing>;

  beforeAll(async () => {
    inbox = await site.app.createInbox();
    await site.app.send(signUpMail(inbox.address));
    const hook = 'http://127.0.0.1:8099/mail';
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body: { url: hook } });
    expect(webhook).toMatchObject({ url: hook });
    await site.app.api('PATCH', `/v1/webhooks/${webhook.id}`, { body: { enabled: false } });
    const words = 'Please confirm your address';
    listings = {
      inboxes: { path: '/inboxes', request: /\/v1\/inboxes\?/, words: inbox.address },
      inbox: {
        path: `/inboxes/${inbox.id}`,
        request: /\/v1\/inboxes\/[^/]+\/messages\?(?!limit=1(&|$))/,
        words,
      },
      live: { path: '/live', request: /\/v1\/messages\?(?!limit=1(&|$))/, words },
      webhooks: { path: '/webhooks', request: /\/v1\/webhooks\?/, words: hook },
      deliveries: {
        ...{ path: `/webhooks/${webhook.id}`, request: /\/deliveries/ },
        words: 'Nothing was delivered yet',
      },
      keys: { path: '/keys', request: /\/v1\/keys/, words: 'Begins with' },
      usage: { path: '/usage', request: /\/v1\/usage/, words: 'Requests by day' },
      domains: { path: '/domains', request: /\/v1\/domains/, words: 'Who may use it' },
    };
  });

  /** Replaces responses of the server. @returns a function that ends this */
  async function instead(page: Page, request: RegExp, respond: (route: Route) => Promise<void>) {
    await page.route(request, respond);
    return () => page.unroute(request, respond);
  }

  /** @returns the screens to check in a state: some in the short form, all in the long form */
  const tried = (state: number) =>
    Object.entries(listings).filter((_, index) => inForm(index % 8 === state, true));

  it('loading: grey lines after a moment, then the list', async () => {
    const { page, open } = await site.openConsole(NARROW);
    for (const [name, { path, request, words }] of tried(0)) {
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await instead(page, request, async (route) => {
        await released;
        await route.continue();
      });
      await open(path);
      await page.locator('.skeleton.shown').waitFor();
      await expectAccessible(page, `${name}, loading`);
      expect(await page.getByText(words).count()).toBe(0);
      release();
      await page.getByText(words).first().waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
    }
  });

  it('failed: the words of the API, its code and the id of the request; "Try again" repeats it', async () => {
    const { page, open } = await site.openConsole();
    for (const [name, { path, request, words }] of tried(1)) {
      const end = await instead(page, request, (route) => route.fulfill(problem(500, 'internal_error')));
      await open(path);
      const alert = page.getByRole('alert');
      await alert.getByText('Detail of internal_error.').waitFor();
      expect(await alert.textContent()).toMatch(/Title of internal_error.*internal_error.*req-7/s);
      await expectAccessible(page, `${name}, failed`);
      await end();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText(words).first().waitFor();
      await alert.waitFor({ state: 'detached' });
    }
  });

  it('out of date: the list stays, with a line that says so, until it could be loaded again', async () => {
    const { page, open } = await site.openConsole();
    // Interception must begin with the page, or a response could still bypass a route that is added later.
    await page.route(/\/v1\//, (route) => route.continue());
    for (const [name, { path, request, words }] of tried(2)) {
      await open(path);
      await page.getByText(words).first().waitFor();
      const end = await instead(page, request, (route) => route.fulfill(problem(500, 'internal_error')));
      await page.keyboard.press('r');
      await page.getByText('This may be out of date').waitFor();
      expect(await page.getByText(words).count(), name).toBeGreaterThan(0);
      await expectAccessible(page, `${name}, out of date`);
      await end();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByText('This may be out of date').waitFor({ state: 'detached' });
    }
  });

  it('limited: a 429 counts down and then repeats the request by itself', async () => {
    const { page, open } = await site.openConsole();
    for (const [name, { path, request, words }] of tried(3)) {
      const limited = problem(429, 'rate_limited', { 'retry-after': '12' });
      const end = await instead(page, request, (route) => route.fulfill(limited));
      await page.clock.install();
      await open(path);
      await page.getByText('Too many requests').waitFor();
      await page.getByText(/Trying again in \d+ s/).waitFor();
      await expectAccessible(page, `${name}, limited`);
      await end();
      await page.clock.fastForward(13_000);
      await page.getByText(words).first().waitFor();
    }
  });

  it('forbidden: a key that only reads sees every list and no verb', async () => {
    const { body } = await site.app.api('POST', '/v1/keys', { body: { name: 'reads', scope: 'read' } });
    const { page, open } = await site.openConsole(LOOKS[0], body.key);
    const connect = { path: '/connect?for=django', words: 'EMAIL_HOST' };
    for (const [name, { path, words }] of Object.entries({ ...listings, connect })) {
      await open(path);
      await page.getByText(words).first().waitFor();
      const verbs = await page.locator('main').getByRole('button', { name: VERBS }).allTextContents();
      // Pausing Live changes nothing on the server.
      expect({ name, verbs }).toEqual({ name, verbs: name === 'live' ? ['Pause'] : [] });
    }
  });

  it('quota: from 80 % on every screen says so, and at 100 % when the count starts again', async () => {
    const key = await site.app.newAccount();
    const { page, open } = await site.show('/inboxes', NARROW, key);
    await page.getByText('No inboxes yet').waitFor();
    await expectAccessible(page, 'inboxes, empty');
    expect(await page.getByText('requests of this month').count()).toBe(0);
    const ask = () => site.app.api('GET', '/v1/domains', { as: key });
    for (let left = MONTH; left > MONTH * 0.2; ) {
      const { status, headers } = await ask();
      expect(status).toBe(200);
      left = Number(headers.get('x-quota-remaining'));
    }
    await open('/domains');
    await page.getByText(/[89]\d % of the 40 requests of this month are used/).waitFor();
    await expectAccessible(page, 'domains, quota nearly used up');
    for (let n = 0; n < MONTH; n++) await ask();
    expect((await ask()).status).toBe(429);
    await open('/keys');
    await page.getByText('The quota of this month is used up').waitFor();
    await page.getByText(/All 40 requests of this month are used. The count starts again on/).waitFor();
    await expectAccessible(page, 'keys, quota used up');
  });
});
