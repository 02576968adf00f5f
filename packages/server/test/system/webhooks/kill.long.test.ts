/* TEST_SEED=… repeats the choices of a run (when the receiver fails, after how many mails the kill comes). */
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { useFolder } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import type { TestWebhook } from '../../webhooks/start-webhooks.ts';
import { Ledger, Sender } from '../durability/ledger.ts';

const KILLS = inForm(2, 30);
const EVENTS = inForm(80, 3_000);
const SENDERS = 4;
/** Of ten requests, so many are answered 500. */
const FAILURES = 3;
const ENTRY = fileURLToPath(new URL('./server-entry.ts', import.meta.url));

async function api(server: ServerProcess, method: string, path: string, body?: object): Promise<Body> {
  const response = await server.request(method, path, body);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Every message of an inbox by its id. */
async function subjectsOf(server: ServerProcess, inboxId: string): Promise<Map<string, string>> {
  const subjects = new Map<string, string>();
  for (let before = ''; ; ) {
    const page = await api(server, 'GET', `/v1/inboxes/${inboxId}/messages?limit=200${before}`);
    for (const { id, subject } of page.messages) subjects.set(id, subject);
    if (!page.hasMore) return subjects;
    before = `&before=${page.messages.at(-1).id}`;
  }
}

const random = chance();

describe(`${KILLS} kills while webhooks are sent (seed ${random.seed})`, () => {
  const dataDir = useFolder();
  let receiver: HttpReceiver;
  let server: ServerProcess;
  /** Of each message that was answered 200 or 500: the ids that its requests carried, and how often. */
  const seen = new Map<string, { ids: Set<string>; accepted: number; requests: number }>();
  const problems: string[] = [];
  let webhook: TestWebhook | undefined;
  const start = () =>
    startServer({ dataDir: dataDir(), entry: ENTRY, env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' } });

  beforeAll(async () => {
    receiver = await startHttp((response, { body, headers }) => {
      const ok = random.between(1, 10) > FAILURES;
      try {
        const event = new Webhook(webhook?.secret ?? '').verify(body.toString(), headers) as Body;
        const message = seen.get(event.data.message.id) ?? { ids: new Set(), accepted: 0, requests: 0 };
        message.ids.add(headers['webhook-id'] ?? '');
        message.requests += 1;
        if (ok) message.accepted += 1;
        seen.set(event.data.message.id, message);
      } catch (error) {
        problems.push(String(error));
      }
      receiver.requests.length = 0;
      response.writeHead(ok ? 200 : 500).end();
    });
  });
  afterAll(async () => {
    await server.end('SIGKILL');
    await receiver.close();
  });

  it(
    `lose none of ${EVENTS} events at a receiver that fails 3 times of 10; an event keeps its id in every attempt`,
    async ({ annotate }) => {
      const ledger = new Ledger();
      let sent = 0;
      server = await start();
      const inbox = await api(server, 'POST', '/v1/inboxes', { ttlMinutes: 600 });
      webhook = await api(server, 'POST', '/v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/` });
      for (let kill = 1; kill <= KILLS; kill++) {
        const enough = Math.ceil((EVENTS * kill) / KILLS);
        const senders = Array.from(
          { length: SENDERS },
          () =>
            new Sender(server.smtpPort, ledger, () =>
              ledger.acknowledged.size >= enough ? undefined : { id: `event-${++sent}`, to: [inbox.address] },
            ),
        );
        await ledger.untilAcknowledged(enough);
        // At any moment: while mails come in, attempts are under way, or retries are waiting.
        await pause(random.between(0, 120));
        await server.end('SIGKILL');
        await Promise.all(senders.map(({ ended }) => ended));
        server = await start();
      }

      const subjects = await subjectsOf(server, inbox.id);
      for (const id of ledger.acknowledged.keys()) expect([...subjects.values()]).toContain(id);
      const missing = () => [...subjects.keys()].filter((id) => !seen.get(id)?.accepted);
      // Retries come every 100 ms; the test's own limit ends a wait in vain.
      while (missing().length > 0) await pause(50);

      expect(problems).toEqual([]);
      expect([...seen.keys()].filter((id) => !subjects.has(id))).toEqual([]);
      const ids = [...seen.values()].map((message) => message.ids);
      expect(ids.filter(({ size }) => size !== 1)).toEqual([]);
      expect(new Set(ids.flatMap((one) => [...one])).size).toBe(subjects.size);
      const counted = [...seen.values()];
      const requests = counted.reduce((sum, one) => sum + one.requests, 0);
      const twice = counted.filter(({ accepted }) => accepted > 1).length;
      await annotate(
        `${KILLS} kills: ${subjects.size} events, 0 lost, ${requests} requests, ${twice} events accepted twice or more`,
      );
    },
    timeLimit(600_000),
  );
});
