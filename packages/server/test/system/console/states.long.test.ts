import { beforeAll, expect, it } from 'vitest';
import { inForm } from '../../support/form.ts';
import { describeConsole, expectAccessible, first, hold, NARROW } from './console.ts';

/** Names of buttons that change something, which keys with the scope `read` do not see. */
const VERBS =
  /^(New|Create|Register|Delete|Revoke|Extend|Expire|Empty|Pause$|Enable|Replay|Send|Run now|Import|A fresh)/i;
const MONTH = 40;

const problem = (status: number, code: string, headers = {}) => ({
  ...{ status, headers, contentType: 'application/problem+json' },
  body: JSON.stringify({
    ...{ type: 'about:blank', status, code, requestId: 'req-7' },
    ...{ title: `Title of ${code}`, detail: `Detail of ${code}.` },
  }),
});
const FAILED = problem(500, 'internal_error');
const LIMITED = problem(429, 'rate_limited', { 'retry-after': '12' });

const env = {
  MAYFLY_PLANS: JSON.stringify({ free: { requestsPerMonth: MONTH, requestsPerSecond: null, burst: null } }),
  MAYFLY_SIGNUP_PLAN: 'free',
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
};

describeConsole('the states of a screen', { env }, (site) => {
  /** Screens with a list, the request for the list, and words of the list. */
  let listings: [name: string, path: string, request: RegExp, words: string][];

  beforeAll(async () => {
    const inbox = await site.inboxWithSignUp();
    const hook = 'http://127.0.0.1:8099/mail';
    const { body: webhook } = await site.app.api('POST', '/v1/webhooks', { body: { url: hook } });
    await site.app.api('PATCH', `/v1/webhooks/${webhook.id}`, { body: { enabled: false } });
    const words = 'Please confirm your address';
    listings = [
      ['inboxes', '/inboxes', /\/v1\/inboxes\?/, inbox.address],
      ['inbox', `/inboxes/${inbox.id}`, /\/v1\/inboxes\/[^/]+\/messages\?(?!limit=1(&|$))/, words],
      ['live', '/live', /\/v1\/messages\?(?!limit=1(&|$))/, words],
      ['webhooks', '/webhooks', /\/v1\/webhooks\?/, hook],
      ['deliveries', `/webhooks/${webhook.id}`, /\/deliveries/, 'Nothing was delivered yet'],
      ['keys', '/keys', /\/v1\/keys/, 'Begins with'],
      ['usage', '/usage', /\/v1\/usage/, 'Requests by day'],
      ['domains', '/domains', /\/v1\/domains/, 'Who may use it'],
    ];
  });

  /** @returns the screens to check in a state: Live and another in the short form, all in the long form */
  const tried = (state: number) =>
    listings.filter(([name], index) => inForm(name === 'live' || index % 8 === state, true));

  it('loading: grey lines after a moment, then the list', async () => {
    const { page, open, find, sees } = await site.openConsole({ look: NARROW });
    for (const [name, path, request, words] of tried(0)) {
      const letGo = await hold(page, 'GET', request);
      await open(path, () => page.locator('.skeleton.shown'));
      await expectAccessible(page, `${name}, loading`);
      expect(await find(words).count()).toBe(0);
      letGo();
      await sees(first(words));
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
    }
  });

  it('failed: the words of the API, its code and the id of the request; "Try again" repeats it', async () => {
    const { page, open, click } = await site.openConsole();
    for (const [name, path, request, words] of tried(1)) {
      await page.route(request, (route) => route.fulfill(FAILED));
      const alert = page.getByRole('alert');
      await open(path, () => alert.getByText('Detail of internal_error.'));
      expect(await alert.textContent()).toMatch(/Title of internal_error.*internal_error.*req-7/s);
      await expectAccessible(page, `${name}, failed`);
      await page.unroute(request);
      await click('Try again', first(words));
      await alert.waitFor({ state: 'detached' });
    }
  });

  it('out of date: the list stays, with a line that says so, until it could be loaded again', async () => {
    const { page, open, find, click, press, gone } = await site.openConsole();
    // Interception must begin with the page, or a response could still bypass a route that is added later.
    await page.route(/\/v1\//, (route) => route.continue());
    for (const [name, path, request, words] of tried(2)) {
      await open(path, first(words));
      await page.route(request, (route) => route.fulfill(FAILED));
      await press('r', 'This may be out of date');
      expect(await find(words).count(), name).toBeGreaterThan(0);
      await expectAccessible(page, `${name}, out of date`);
      await page.unroute(request);
      await click('Try again');
      await gone('This may be out of date');
    }
  });

  it('limited: a 429 counts down and then repeats the request by itself', async () => {
    const { page, open, sees } = await site.openConsole();
    for (const [name, path, request, words] of tried(3)) {
      await page.route(request, (route) => route.fulfill(LIMITED));
      await page.clock.install();
      await open(path, 'Too many requests', /Trying again in \d+ s/);
      await expectAccessible(page, `${name}, limited`);
      await page.unroute(request);
      await page.clock.fastForward(13_000);
      await sees(first(words));
    }
  });

  it('forbidden: a key that only reads sees every list and no verb', async () => {
    const { body } = await site.app.api('POST', '/v1/keys', { body: { name: 'reads', scope: 'read' } });
    const { page, open } = await site.openConsole({ as: body.key });
    const connect = ['connect', '/connect?for=django', /no list/, 'EMAIL_HOST'] as const;
    for (const [name, path, , words] of [...listings, connect]) {
      await open(path, first(words));
      const verbs = await page.locator('main').getByRole('button', { name: VERBS }).allTextContents();
      // Pausing Live changes nothing on the server.
      expect({ name, verbs }).toEqual({ name, verbs: name === 'live' ? ['Pause'] : [] });
    }
  });

  it('quota: from 80 % on every screen says so, and at 100 % when the count starts again', async () => {
    const key = await site.app.newAccount();
    const { page, open, find } = await site.show('/inboxes', 'No inboxes yet', { look: NARROW, as: key });
    await expectAccessible(page, 'inboxes, empty');
    expect(await find('requests of this month').count()).toBe(0);
    const ask = () => site.app.api('GET', '/v1/domains', { as: key });
    for (let left = MONTH; left > MONTH * 0.2; ) {
      const { status, headers } = await ask();
      expect(status).toBe(200);
      left = Number(headers.get('x-quota-remaining'));
    }
    await open('/domains', /[89]\d % of the 40 requests of this month are used/);
    await expectAccessible(page, 'domains, quota nearly used up');
    for (let n = 0; n < MONTH; n++) await ask();
    expect((await ask()).status).toBe(429);
    const again = /All 40 requests of this month are used. The count starts again on/;
    await open('/keys', 'The quota of this month is used up', again);
    await expectAccessible(page, 'keys, quota used up');
  });
});
