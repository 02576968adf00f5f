/* TEST_SEED=… repeats the choices of a run (when the receiver fails, after how many mails the kill comes). */
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { MailQueue } from '../nodes/mail-queue.ts';
import { useSite } from '../nodes/nodes.ts';
import { allMessages } from '../nodes/truth.ts';

const KILLS = inForm(2, 30);
const EVENTS = inForm(80, 3_000);
const LIMIT = { timeout: timeLimit(600_000) };
const SENDERS = 4;
/** Number of requests of ten that get 500. */
const FAILURES = 3;
const ENTRY = fileURLToPath(new URL('./server-entry.ts', import.meta.url));

const random = chance();

describe(`${KILLS} kills while webhooks are sent (seed ${random.seed})`, LIMIT, () => {
  const site = useSite(0, { engine: 'SQLite', env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' } });
  let receiver: HttpReceiver;
  /** Requests by message: their ids, and the number of those that got 200. */
  const seen = new Map<string, { ids: Set<string>; accepted: number }>();
  const problems: string[] = [];
  let webhook: Body | undefined;
  const start = () => site().startNode({ entry: ENTRY }, 0);

  beforeAll(async () => {
    receiver = await startHttp((response, { body, headers }) => {
      const ok = random.between(1, 10) > FAILURES;
      try {
        const event = new Webhook(webhook?.secret ?? '').verify(body.toString(), headers) as Body;
        const message = seen.get(event.data.message.id) ?? { ids: new Set(), accepted: 0 };
        message.ids.add(headers['webhook-id'] ?? '');
        if (ok) message.accepted += 1;
        seen.set(event.data.message.id, message);
      } catch (error) {
        problems.push(String(error));
      }
      receiver.requests.length = 0;
      response.writeHead(ok ? 200 : 500).end();
    });
  });
  afterAll(() => receiver.close());

  it(`lose none of ${EVENTS} events at a receiver that fails 3 times of 10; an event keeps its id in every attempt`, async () => {
    let server = await start();
    const inbox = await server.createInbox();
    const url = `http://127.0.0.1:${receiver.port}/`;
    webhook = (await server.api('POST', '/v1/webhooks', { body: { url } })).body;
    let made = 0;
    const next = () => (made < EVENTS ? { id: `event-${++made}`, to: [inbox.address] } : undefined);
    const queue = new MailQueue(site(), next, SENDERS);
    for (let kill = 1; kill <= KILLS; kill++) {
      await queue.untilAcknowledged(Math.ceil((EVENTS * kill) / KILLS));
      // At any time: during mail, attempts or delays between attempts.
      await pause(random.between(0, 120));
      await server.end('SIGKILL');
      server = await start();
    }
    await queue.drained();
    const messages = await allMessages(server, inbox);
    const subjects = new Map(messages.map(({ id, subject }) => [id, subject]));
    for (const id of queue.acknowledged.keys()) expect([...subjects.values()]).toContain(id);
    const missing = () => [...subjects.keys()].filter((id) => !seen.get(id)?.accepted);
    // Attempts are repeated every 100 ms; the timeout of the test ends this loop.
    while (missing().length > 0) await pause(50);

    expect(problems).toEqual([]);
    expect([...seen.keys()].filter((id) => !subjects.has(id))).toEqual([]);
    const ids = [...seen.values()].map((message) => message.ids);
    expect(ids.filter(({ size }) => size !== 1)).toEqual([]);
    expect(new Set(ids.flatMap((one) => [...one])).size).toBe(subjects.size);
  });
});
