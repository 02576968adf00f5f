import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inForm, timeLimit } from '../../support/form.ts';
import { hasPostgres } from '../../support/postgres.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { type Site, startSite } from './nodes.ts';

/** The npm package has programs for Linux on x64 only; elsewhere these tests are skipped. */
const IS_THERE = await hasPostgres();
const RATE = 2;
const BURST = 10;
const SECONDS = inForm(3, 30);
const NODES = 3;
/** Between two requests of a client that asks again at once when it is refused, milliseconds. */
const ASK_EVERY_MS = 25;
/** A node knows of the requests at others after two intervals of half a second at the most. */
const LATE_S = 1;
const SIGN_UPS = 20;

describe.skipIf(!IS_THERE)(`rates over ${NODES} nodes`, () => {
  let site: Site;
  let free: string[];
  beforeAll(async () => {
    site = await startSite();
    const plans = { free: { requestsPerMonth: null } };
    const env = { MAYFLY_PLANS: JSON.stringify(plans), MAYFLY_SIGNUP_PLAN: 'free' };
    for (let n = 0; n < NODES; n++) await site.startNode({ env });
    free = [];
    for (let n = 0; n < 3; n++) {
      const response = await fetch(`${node(n).url}/v1/accounts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: `Client ${n}` }),
      });
      expect(response.status).toBe(201);
      free.push(((await response.json()) as { key: string }).key);
    }
  });
  afterAll(() => site?.close());

  const node = (n: number): ServerProcess => {
    const found = site.nodes[n % site.nodes.length];
    if (!found) throw new Error('There is no node.');
    return found;
  };

  /** Asks again and again; returns how many requests were answered within how many seconds, and the slowest answer. */
  async function hammer(key: string | undefined, nodeOf: (n: number) => ServerProcess) {
    const begun = performance.now();
    const end = begun + SECONDS * 1_000;
    let answered = 0;
    let slowest = 0;
    const headers = { authorization: `Bearer ${key}` };
    for (let n = 0; performance.now() < end; n++) {
      const asked = performance.now();
      const response = await fetch(`${nodeOf(n).url}/v1/inboxes?limit=1`, { headers });
      const text = await response.text();
      if (response.status === 200) answered += 1;
      else expect([response.status, text]).toEqual([429, expect.stringContaining('rate_limited')]);
      await pause(ASK_EVERY_MS);
      slowest = Math.max(slowest, (performance.now() - asked) / 1_000);
    }
    return { answered, seconds: (performance.now() - begun) / 1_000, slowest };
  }

  test(
    'give a client of two or three nodes the rate of its plan, and no burst but one of each node besides',
    async ({ annotate }) => {
      const clients = [2, 3].map(async (count, n) => {
        const { answered, seconds, slowest } = await hammer(free[n], (turn) => node(turn % count));
        const allowed = BURST + RATE * seconds;
        // On a busy machine the nodes tell each other as late as they answer.
        const late = LATE_S + 2 * slowest;
        expect(answered).toBeLessThanOrEqual(allowed + (count - 1) * (BURST + RATE * late));
        // What was too much at first is waited for, so a client may have less than that for a while.
        expect(answered).toBeGreaterThanOrEqual(Math.floor(allowed) - 1);
        return `${count} nodes: ${answered} in ${seconds.toFixed(1)} s, ${allowed.toFixed(1)} by the plan`;
      });
      await annotate((await Promise.all(clients)).join('; '));
    },
    timeLimit(300_000),
  );

  test(
    'give a client that stays with one node all of its plan',
    async ({ annotate }) => {
      const { answered, seconds } = await hammer(free[2], () => node(1));
      const allowed = BURST + RATE * seconds;
      expect(answered).toBeLessThanOrEqual(allowed);
      expect(answered).toBeGreaterThanOrEqual(Math.floor(allowed) - 1);
      await annotate(`${answered} in ${seconds.toFixed(1)} s, ${allowed.toFixed(1)} by the plan`);
    },
    timeLimit(300_000),
  );

  test('let an address sign up five times in ten minutes, whichever node it meets', async () => {
    const statuses = await Promise.all(
      Array.from({ length: SIGN_UPS }, async (_, n) => {
        const response = await fetch(`${node(n).url}/v1/accounts`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ name: `Flood ${n}` }),
        });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    // Three were made before.
    expect(statuses.filter((status) => status === 201)).toHaveLength(2);
    expect(statuses.filter((status) => status === 429)).toHaveLength(SIGN_UPS - 2);
  });
});
