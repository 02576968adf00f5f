import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { httpOfTest, useAccounts } from '../http/start-http.ts';

describe('an account on the free plan', () => {
  const http = useAccounts({}, 'free');

  const list = () => http.api('GET', '/v1/inboxes');
  /** Asks so slowly that the rate is never in the way. */
  const listSlowly = async (times: number) => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) {
      await http.clock.advance(500);
      statuses.push((await list()).status);
    }
    return statuses;
  };

  it('reads its limits in every answer', async () => {
    const { headers } = await list();
    expect(headers.get('x-quota-limit')).toBe('1000');
    expect(headers.get('x-quota-remaining')).toBe('999');
    // The clock of these tests begins in March 2026.
    expect(headers.get('x-quota-reset')).toBe(String(Date.UTC(2026, 3) / 1_000));
    expect(headers.get('ratelimit-policy')).toBe('"burst";q=10;w=5, "month";q=1000;w=2592000');
    expect(headers.get('ratelimit')).toMatch(/^"burst";r=9;t=1, "month";r=999;t=\d+$/);
    const missing = await http.api('GET', '/v1/inboxes/inb_none');
    expect([missing.status, missing.headers.get('x-quota-remaining')]).toEqual([404, '998']);
    // A read token uses the same account.
    const inbox = await http.createInbox({ ttlMinutes: 60 });
    const read = await http.api('GET', `/v1/inboxes/${inbox.id}`, { as: inbox.token });
    expect(read.headers.get('x-quota-remaining')).toBe('996');
  });

  it('may ask ten times at once, then twice a second, and hears when to come again', async () => {
    for (let i = 0; i < 10; i++) expect((await list()).status).toBe(200);
    const refused = await list();
    expect(refused.body).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(refused.headers.get('retry-after')).toBe('1');
    await http.clock.advance(1_000);
    expect([(await list()).status, (await list()).status, (await list()).status]).toEqual([200, 200, 429]);
    // What was refused has cost nothing.
    expect((await http.api('GET', '/v1/usage')).status).toBe(429);
    await http.clock.advance(1_000);
    expect((await http.api('GET', '/v1/usage')).body).toMatchObject({ used: 12, remaining: 988 });
  });

  it('pays nothing for 304 and for looking at its usage', async () => {
    const inbox = await http.createInbox({ ttlMinutes: 60 });
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const tag = (await http.api('GET', path)).headers.get('etag') ?? '';
    const again = await http.api('GET', path, { headers: { 'if-none-match': tag } });
    expect([again.status, again.headers.get('x-quota-remaining')]).toEqual([304, '998']);
    const { body } = await http.api('GET', '/v1/usage');
    expect(body).toMatchObject({
      ...{ plan: 'free', used: 2, remaining: 998 },
      limits: { requestsPerMonth: 1000, requestsPerSecond: 2, burst: 10, maxLiveInboxes: 5, maxWebhooks: 1 },
      period: { start: '2026-03-01T00:00:00.000Z', end: '2026-04-01T00:00:00.000Z' },
      thresholds: [80, 100].map((percent) => ({ percent, reachedAt: null })),
    });
    expect(body.days).toHaveLength(31);
    expect(body.days[0]).toEqual({ day: '2026-03-04', requests: 2 });
    expect(body.days[30]).toEqual({ day: '2026-02-02', requests: 0 });
  });

  it('has a thousand requests a month, is told at 80 and 100 %, and begins anew with the next month', async () => {
    const statuses = await listSlowly(1_001);
    expect(statuses).toEqual([...Array(1_000).fill(200), 429]);
    const refused = await list();
    expect(refused.body).toMatchObject({ code: 'quota_exceeded', status: 429 });
    const reset = Date.UTC(2026, 3);
    expect(Number(refused.headers.get('retry-after'))).toBe(Math.ceil((reset - http.clock.now()) / 1_000));
    await http.clock.advance(1_000);
    const { body } = await http.api('GET', '/v1/usage');
    expect(body).toMatchObject({ used: 1_000, remaining: 0 });
    for (const { reachedAt } of body.thresholds) expect(reachedAt).not.toBeNull();
    const told = () => http.logged.filter((line) => line.includes('% of its requests of the month'));
    await expect.poll(() => told().map((line) => JSON.parse(line).percent)).toEqual([80, 100]);

    await http.clock.advance(reset - http.clock.now() - 1);
    expect((await list()).status).toBe(429);
    await http.clock.advance(1);
    const first = await list();
    expect([first.status, first.headers.get('x-quota-remaining')]).toEqual([200, '999']);
    const april = (await http.api('GET', '/v1/usage')).body;
    expect(april).toMatchObject({ period: { start: '2026-04-01T00:00:00.000Z' }, used: 1, remaining: 999 });
    expect(april.days[0]).toEqual({ day: '2026-04-01', requests: 1 });
    expect(april.thresholds[0].reachedAt).toBeNull();
  });

  it('pays nothing for answers that the server owes: 500 and 503', async () => {
    const inbox = await http.createInbox({ ttlMinutes: 60 });
    const { find } = http.store.inboxes;
    for (const [failure, status] of [
      [new Error('a defect'), 500],
      [new AppError('unavailable', 'The storage does not respond.'), 503],
    ] as const) {
      http.store.inboxes.find = () => Promise.reject(failure);
      const answer = await http.api('GET', `/v1/inboxes/${inbox.id}`);
      expect([answer.status, answer.headers.get('x-quota-remaining')]).toEqual([status, '999']);
    }
    http.store.inboxes.find = find;
    expect((await http.api('GET', '/v1/usage')).body).toMatchObject({ used: 1, remaining: 999 });
  });

  it('pays for a request that is under way when the month turns in the month in which it came', async () => {
    await http.clock.advance(Date.UTC(2026, 3) - 10_000 - http.clock.now());
    const { id, cursor } = await http.createInbox({ ttlMinutes: 60 });
    const held = http.api('GET', `/v1/inboxes/${id}/messages?wait=30&since=${cursor}`);
    await http.clock.untilSleeping();
    await http.clock.advance(30_000);
    const { status, headers } = await held;
    expect([status, headers.get('x-quota-remaining')]).toEqual([200, '1000']);
    expect(headers.get('x-quota-reset')).toBe(String(Date.UTC(2026, 4) / 1_000));
    expect((await list()).headers.get('x-quota-remaining')).toBe('999');
    await http.usage.report();
    expect((await http.store.usage.read(http.accountId, '2026-03', '2026-03-01')).taken).toBe(2);
    const { used, days } = (await http.api('GET', '/v1/usage')).body;
    expect([used, days[0], days[1]]).toEqual([
      1,
      { day: '2026-04-01', requests: 1 },
      { day: '2026-03-31', requests: 2 },
    ]);
  });

  it('reads the same in the headers of every answer, also when this node did not count before', async () => {
    await listSlowly(3);
    // So long without a request that the node has given everything back and forgotten the account.
    await http.clock.advance(600_000);
    await http.usage.report();
    const { body, headers } = await http.api('GET', '/v1/usage');
    expect([body.remaining, headers.get('x-quota-remaining')]).toEqual([997, '997']);
  });
});

it('an account without limits is told so, and is counted all the same', async () => {
  const http = await httpOfTest();
  const { headers } = await http.api('GET', '/v1/inboxes');
  expect(headers.get('x-quota-limit')).toBe('unlimited');
  expect(headers.get('x-quota-remaining')).toBe('unlimited');
  expect(headers.get('ratelimit')).toBeNull();
  const { body } = await http.api('GET', '/v1/usage');
  expect(body).toMatchObject({ plan: 'unlimited', used: 1, remaining: null, thresholds: [] });
  expect(body.days[0].requests).toBe(1);
  const open = await http.api('GET', '/healthz', { as: null });
  expect(open.headers.get('x-quota-limit')).toBeNull();
});
