/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { allMessages } from '../durability/readback.ts';
import { type Nodes, POSTGRES, startNodes } from './nodes.ts';

const AT_ONCE = 50;
const LIVE_INBOXES = 10;
const QUOTA = 1_000;
const CLIENTS = inForm(20, 200);
const KILLS = inForm(2, 20);
const MESSAGES_LEFT = 7;
const ROUNDS = inForm(1, 10);

const random = chance();

describe.skipIf(!POSTGRES)(`limits of an account over several nodes (seed ${random.seed})`, () => {
  let site: Nodes;
  /** Two nodes, for all cases that need no plan of their own. */
  let pair: ServerProcess[];
  beforeAll(async () => {
    pair = await start(2, { maxLiveInboxes: LIVE_INBOXES, maxMessagesPerInbox: 5 + MESSAGES_LEFT });
  });
  afterEach(async () => {
    for (const { id } of await live(pair[0])) await pair[0]?.request('DELETE', `/v1/inboxes/${id}`);
  });
  const live = async (node: ServerProcess | undefined): Promise<Inbox[]> =>
    (await node?.getJson<{ inboxes: Inbox[] }>('/v1/inboxes'))?.inboxes ?? [];
  const sites: Nodes[] = [];
  afterAll(async () => {
    for (const one of sites) await one.close();
  });

  async function start(count: number, plan: object): Promise<ServerProcess[]> {
    site = await startNodes();
    sites.push(site);
    const env = { MAYFLY_PLANS: JSON.stringify({ unlimited: plan }) };
    // One after another: the first makes the tables.
    for (let node = 0; node < count; node++) await site.startNode({ env });
    return site.nodes;
  }

  const parallel = <T>(nodes: ServerProcess[], ask: (node: ServerProcess, n: number) => Promise<T>) =>
    Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) => {
        const node = nodes[n % nodes.length];
        if (!node) throw new Error('There is no node.');
        return ask(node, n);
      }),
    );

  test(`give exactly ${LIVE_INBOXES} inboxes to ${AT_ONCE} creations at once at a limit of ${LIVE_INBOXES}`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await parallel(pair, async (node) => {
        const response = await node.request('POST', '/v1/inboxes');
        return { status: response.status, body: (await response.json()) as Inbox & { code?: string } };
      });
      const made = answers.filter(({ status }) => status === 201);
      const refused = answers.filter(({ status }) => status !== 201);
      expect(made).toHaveLength(LIVE_INBOXES);
      expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
        new Set(['409 limit_reached']),
      );
      for (const node of pair) {
        expect(await live(node)).toHaveLength(LIVE_INBOXES);
      }
      // A place that becomes free on one node can be taken on another, once.
      await pair[0]?.request('DELETE', `/v1/inboxes/${made[0]?.body.id}`);
      const again = await parallel(pair, async (node) => (await node.request('POST', '/v1/inboxes')).status);
      expect(again.filter((status) => status === 201)).toHaveLength(1);
      for (const { id } of await live(pair[0])) await pair[1]?.request('DELETE', `/v1/inboxes/${id}`);
    }
  });

  test(`make one inbox for ${AT_ONCE} requests at once with one idempotency key`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const ask = async (node: ServerProcess) => {
        const response = await fetch(`${node.url}/v1/inboxes`, {
          method: 'POST',
          headers: { authorization: `Bearer ${node.key}`, 'idempotency-key': `run-${round}` },
        });
        return { status: response.status, text: await response.text() };
      };
      const answers = await parallel(pair, ask);
      const made = answers.filter(({ status }) => status === 201);
      for (const { status, text } of answers) {
        if (status !== 201)
          expect([status, text]).toEqual([409, expect.stringContaining('idempotency_in_progress')]);
      }
      expect(new Set(made.map(({ text }) => text)).size, 'different answers').toBe(1);
      // Who was told to ask again gets the same answer.
      for (const node of pair) expect(await ask(node)).toEqual(made[0]);
      expect(await live(pair[0])).toHaveLength(round + 1);
    }
  });

  test(`accept ${MESSAGES_LEFT} of ${AT_ONCE} mails at once into an inbox with room for ${MESSAGES_LEFT}`, async () => {
    const [first] = pair;
    if (!first) throw new Error('There is no node.');
    const inbox = await first.createInbox();
    const send = (node: ServerProcess) => sendTo(node.smtpPort, inbox.address);
    for (let n = 0; n < 5; n++) expect(await send(first)).toMatch(/^250 /);
    const replies = await parallel(pair, send);
    expect(replies.filter((reply) => reply.startsWith('250'))).toHaveLength(MESSAGES_LEFT);
    for (const reply of replies) expect(reply).toMatch(/^(250|452 4\.2\.2) /);
    for (const node of pair) expect(await allMessages(node, inbox)).toHaveLength(5 + MESSAGES_LEFT);
    const { messageCount } = await first.getJson<{ messageCount: number }>(`/v1/inboxes/${inbox.id}`);
    expect(messageCount).toBe(5 + MESSAGES_LEFT);
  });

  test(
    `never answer more than ${QUOTA} requests of a month of ${QUOTA} on three nodes, in spite of ${KILLS} kills`,
    async ({ annotate }) => {
      const env = { MAYFLY_PLANS: JSON.stringify({ unlimited: { requestsPerMonth: QUOTA } }) };
      await start(3, { requestsPerMonth: QUOTA });
      let answered = 0;
      let refused = 0;
      let unanswered = 0;
      const others: string[] = [];
      let isOver = false;
      const client = async (n: number): Promise<void> => {
        for (let turn = n; !isOver; turn++) {
          const node = site.nodes[turn % 3];
          if (!node) throw new Error('There is no node.');
          const connection = new Client(node.url);
          try {
            for (let asked = 0; asked < 5 && !isOver; asked++) {
              const { statusCode, body } = await connection.request({
                method: 'GET',
                path: '/v1/inboxes?limit=1',
                headers: { authorization: `Bearer ${node.key}` },
              });
              const text = await body.text();
              if (statusCode === 200) answered++;
              else if (statusCode === 429 && text.includes('quota_exceeded')) {
                refused++;
                await pause(50);
              } else others.push(`${statusCode} ${text}`);
            }
          } catch {
            unanswered++;
            await pause(20);
          } finally {
            await connection.destroy();
          }
        }
      };
      const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
      for (let kill = 1; kill <= KILLS; kill++) {
        const enough = Math.floor((QUOTA * 0.7 * kill) / KILLS);
        const lost = KILLS * 3 * 10;
        while (answered < Math.min(enough, QUOTA - lost)) await pause(2);
        const place = random.between(0, 2);
        await site.nodes[place]?.end('SIGKILL');
        await site.startNode({ env }, place);
      }
      // All of them say that nothing is left, again and again.
      const before = refused;
      while (refused < before + 3 * CLIENTS) await pause(10);
      isOver = true;
      await Promise.all(clients);
      expect(others).toEqual([]);
      expect(answered).toBeLessThanOrEqual(QUOTA);
      expect(QUOTA - answered, 'lost by kills').toBeLessThanOrEqual(KILLS * 3 * 10 + unanswered);
      for (const node of site.nodes) {
        expect(await node.getJson('/v1/usage')).toMatchObject({ used: QUOTA, remaining: 0 });
      }
      await annotate(`${KILLS} kills on three nodes: ${answered} answered, ${unanswered} unanswered`);
    },
    timeLimit(600_000),
  );
});
