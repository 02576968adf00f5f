import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { describeOnPostgres } from '../support/nodes.ts';
import { startApp, type TestApp } from '../support/start-app.ts';

const NODES = 3;
/** How often a server counts the others, milliseconds. */
const COUNT_EVERY_MS = 3_000;

describeOnPostgres(`rates over ${NODES} servers`, (engine) => {
  const clock = new FakeClock(Date.now());
  const apps: TestApp[] = [];
  const signUp = (n: number) =>
    apps[n % NODES]?.api('POST', '/v1/accounts', { as: null, body: { name: `Client ${n}` } });
  /** Makes requests to a server. @returns how many are answered before one is rejected */
  async function use(app: TestApp, as: string): Promise<number> {
    for (let answered = 0; ; answered++) {
      const { status, body } = await app.api('GET', '/v1/inboxes?limit=1', { as });
      if (status === 200) continue;
      expect([status, body.code]).toEqual([429, 'rate_limited']);
      return answered;
    }
  }
  beforeAll(async () => {
    const free = { requestsPerMonth: null, requestsPerSecond: 2, burst: 10 };
    const settings = { MAYFLY_PLANS: JSON.stringify({ free }), MAYFLY_SIGNUP_PLAN: 'free' };
    const env = { ...(await engine.env()), ...settings };
    for (let n = 0; n < NODES; n++) apps.push(await startApp(env, { clock }));
  });
  afterAll(async () => {
    for (const app of apps) await app.stop();
  });

  it('are divided by the servers: a client of all has the rate of its plan, and a client of one a third', async () => {
    const [all, one] = await Promise.all([0, 1].map(async (n) => (await signUp(n))?.body.key));
    for (const app of apps) {
      const burst = async () => {
        await clock.advance(COUNT_EVERY_MS);
        return (await app.api('GET', '/v1/inboxes?limit=1', { as: all })).headers.get('ratelimit');
      };
      await expect.poll(burst).toMatch(/"burst";r=[0-3];/);
    }
    await clock.advance(60_000);
    const [first] = apps as [TestApp];
    expect(await use(first, one)).toBe(3);
    expect(await Promise.all(apps.map((app) => use(app, all)))).toEqual([3, 3, 3]);
    await clock.advance(3_000);
    expect(await use(first, one)).toBe(2);
    expect(await Promise.all(apps.map((app) => use(app, all)))).toEqual([2, 2, 2]);
  });

  it('let an address sign up five times at most, whichever server it reaches', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await signUp(n))?.status));
    // Two were made before.
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(3);
    expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([]);
  });
});
