/* TEST_SEED=… repeats the choices of a run (when the receiver fails, after how many mails the kill comes). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import type { TestWebhook } from '../../webhooks/start-webhooks.ts';
import { Ledger, Sender } from '../durability/ledger.ts';

const KILLS = inForm(2, 30);
const EVENTS = inForm(80, 3_000);
const SENDERS = 4;
/** Of ten requests, so many are answered 500. */
const FAILURES = 3;
const KEY = 'webhook_kill_key_0123456789';
const ENTRY = fileURLToPath(new URL('./server-entry.ts', import.meta.url));

interface Server {
  process: ChildProcess;
  url: string;
  smtpPort: number;
}

async function startServer(dataDir: string): Promise<Server> {
  const child = spawn(process.execPath, [ENTRY], {
    // Nothing else of ours: the server refuses settings that it does not know.
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_API_KEY: KEY,
      MAYFLY_LOG_LEVEL: 'silent',
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server ended: ${code}`))),
  ]);
  return { process: child, ...JSON.parse(line) };
}

async function end({ process: child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function api(server: Server, method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Every message of an inbox by its id. */
async function subjectsOf(server: Server, inboxId: string): Promise<Map<string, string>> {
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
  let dataDir: string;
  let receiver: HttpReceiver;
  let server: Server;
  /** Of each message that was answered 200 or 500: the ids that its requests carried, and how often. */
  const seen = new Map<string, { ids: Set<string>; accepted: number; requests: number }>();
  const problems: string[] = [];
  let webhook: TestWebhook | undefined;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'mayfly-webhook-kill-'));
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
    await end(server);
    await receiver.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it(
    `lose none of ${EVENTS} events at a receiver that fails 3 times of 10; an event keeps its id in every attempt`,
    async ({ annotate }) => {
      const ledger = new Ledger();
      let sent = 0;
      server = await startServer(dataDir);
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
        await end(server);
        await Promise.all(senders.map(({ ended }) => ended));
        server = await startServer(dataDir);
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
