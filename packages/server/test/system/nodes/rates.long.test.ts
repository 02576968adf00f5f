import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient } from '../../support/api-client.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type Nodes, POSTGRES, startNodes } from './nodes.ts';

const RATE = 2;
const BURST = 10;
const SECONDS = inForm(3, 30);
const NODES = 3;
/** Between two requests of a client that asks again at once when it is refused, milliseconds. */
const ASK_EVERY_MS = 25;
const SIGN_UPS = 20;

describe.skipIf(!POSTGRES)(`rates over ${NODES} nodes`, () => {
  let site: Nodes;
  let free: string[];
  const signUp = (n: number) =>
    apiClient(site.node(n).url, '')('POST', '/v1/accounts', { as: null, body: { name: `Client ${n}` } });
  beforeAll(async () => {
    site = await startNodes();
    const plans = { free: { requestsPerMonth: null } };
    const env = { MAYFLY_PLANS: JSON.stringify(plans), MAYFLY_SIGNUP_PLAN: 'free' };
    for (let n = 0; n < NODES; n++) await site.startNode({ env });
    free = [];
    for (let n = 0; n < 3; n++) {
      const { status, body } = await signUp(n);
      expect(status).toBe(201);
      free.push(body.key);
    }
  });
  afterAll(() => site?.close());

  /**
   * Asks so many nodes in turn, again and again, and until each has refused: a slow machine may not ask as often as
   * the rate allows. @returns how many requests were answered within how many seconds
   */
  async function hammer(key: string | undefined, nodes: number) {
    const begun = performance.now();
    const end = begun + SECONDS * 1_000;
    let answered = 0;
    let refusedInARow = 0;
    const headers = { authorization: `Bearer ${key}` };
    for (let n = 0; performance.now() < end || refusedInARow < nodes; n++) {
      const response = await fetch(`${site.node(n % nodes).url}/v1/inboxes?limit=1`, { headers });
      const text = await response.text();
      refusedInARow = response.status === 200 ? 0 : refusedInARow + 1;
      if (response.status === 200) answered += 1;
      else expect([response.status, text]).toEqual([429, expect.stringContaining('rate_limited')]);
      await pause(ASK_EVERY_MS);
    }
    return { answered, seconds: (performance.now() - begun) / 1_000 };
  }

  test(
    'are divided by the nodes: a client that meets all of them has the rate of its plan, and of one node a third',
    async ({ annotate }) => {
      const askFor = { headers: { authorization: `Bearer ${free[2]}` } };
      for (const { url } of site.nodes) {
        // The first nodes learn of the last one within seconds. One request a second does not empty a whole bucket.
        await expect
          .poll(async () => (await fetch(`${url}/v1/inboxes?limit=1`, askFor)).headers.get('ratelimit'), {
            interval: 1_000,
          })
          .toMatch(/"burst";r=[0-3];/);
      }
      const clients = [1, NODES].map(async (count, n) => {
        const { answered, seconds } = await hammer(free[n], count);
        const allowed = ((BURST + RATE * seconds) * count) / NODES;
        expect(answered).toBeLessThanOrEqual(allowed);
        // A part of a request is left at each node.
        expect(answered).toBeGreaterThanOrEqual(Math.floor(allowed) - count);
        return `${count} of ${NODES} nodes: ${answered} in ${seconds.toFixed(1)} s, ${allowed.toFixed(1)} by the plan`;
      });
      await annotate((await Promise.all(clients)).join('; '));
    },
    timeLimit(300_000),
  );

  test('let an address sign up five times at most, whichever node it meets', async () => {
    const statuses = await Promise.all(
      Array.from({ length: SIGN_UPS }, async (_, n) => (await signUp(n)).status),
    );
    // Three were made before, and a part of one is left at each node.
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(SIGN_UPS - 2);
    expect(statuses.filter((status) => ![201, 429].includes(status))).toEqual([]);
  });
});
