/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { ENGINES, useSiteOfTest } from '../nodes/nodes.ts';

const QUOTA = 1_000;
/** Requests that a node leases at a time; it leases the next block before the last one is used up. */
const BLOCK = QUOTA / 100;
const CLIENTS = inForm(40, 200);
const KILLS = inForm(2, 20);
const LIMIT = { timeout: timeLimit(600_000) };
const PATH = '/v1/inboxes?limit=1';
/** The plan of the first account, which has no rate. */
const PLANS = JSON.stringify({ unlimited: { requestsPerMonth: QUOTA } });

const random = chance();

describe.each(ENGINES)(`a quota of a month on $engine (seed ${random.seed})`, LIMIT, ({ engine, count }) => {
  const site = useSiteOfTest(count, { engine, env: { MAYFLY_PLANS: PLANS } });
  let answered: number;
  let rejected: number;
  /** Requests without a response, because the server was killed. */
  let unanswered: number;
  let others: string[];
  let isOver: boolean;
  let clients: Promise<void>[];
  beforeEach(() => {
    answered = rejected = unanswered = 0;
    others = [];
    isOver = false;
    clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
  });

  /** Makes requests to the nodes in turn. */
  async function client(first: number): Promise<void> {
    for (let turn = first; !isOver; turn++) {
      const { url, key } = site().node(turn);
      const connection = new Client(url);
      const headers = { authorization: `Bearer ${key}` };
      try {
        for (let n = 0; n < 5 && !isOver; n++) {
          const { statusCode, body } = await connection.request({ method: 'GET', path: PATH, headers });
          const text = await body.text();
          if (statusCode === 200) answered++;
          else if (statusCode === 429 && text.includes('quota_exceeded')) {
            rejected++;
            await pause(50);
          } else others.push(`${statusCode} ${text}`);
        }
      } catch (error) {
        if ((error as { code?: string }).code !== 'ECONNREFUSED') unanswered++;
        await pause(20);
      } finally {
        await connection.destroy();
      }
    }
  }

  const untilAnswered = (enough: number) =>
    expect.poll(() => answered, { interval: 2 }).toBeGreaterThanOrEqual(enough);

  /** Resolves when all nodes reject everything. */
  async function untilUsedUp(): Promise<void> {
    const before = rejected;
    while (rejected < before + 3 * CLIENTS) await pause(10);
    isOver = true;
    await Promise.all(clients);
    expect(others).toEqual([]);
    for (const node of site().nodes)
      expect((await node.api('GET', '/v1/usage')).body).toMatchObject({ used: QUOTA, remaining: 0 });
  }

  test(`is never exceeded in spite of ${KILLS} kills, and each kill loses almost nothing of it`, async (context) => {
    // For each kill: the current block, the next one, and one for responses that were not sent.
    const mayBeLost = KILLS * 3 * BLOCK;
    for (let kill = 1; kill <= KILLS; kill++) {
      await untilAnswered(Math.min((QUOTA * 0.8 * kill) / KILLS, QUOTA - mayBeLost));
      await pause(random.between(0, 10));
      const place = random.between(0, count - 1);
      await site().node(place).end('SIGKILL');
      await site().startNode({}, place);
    }
    await untilUsedUp();
    expect(answered).toBeLessThanOrEqual(QUOTA);
    expect(QUOTA - answered, 'lost').toBeLessThanOrEqual(mayBeLost + unanswered);
    await context.annotate(`${KILLS} kills: ${answered} answered, ${unanswered} unanswered at the kills`);
  });

  test('can be used exactly in full across a clean stop under load', async () => {
    await untilAnswered(QUOTA / 2);
    expect(await site().node(0).end('SIGTERM')).toMatchObject({ code: 0 });
    const node = await site().startNode({}, 0);
    await untilUsedUp();
    expect(answered).toBe(QUOTA);
    // A node writes the days of its requests when it stops.
    for (const other of site().nodes.slice(1)) await other.end('SIGTERM');
    const { days } = (await node.api('GET', '/v1/usage')).body;
    expect(days.reduce((sum: number, { requests }: Body) => sum + requests, 0)).toBe(QUOTA);
  });
});
