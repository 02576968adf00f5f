import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { inForm, timeLimit } from '../support/form.ts';
import { type HttpReceiver, startHttp } from '../webhooks/receivers.ts';

const KILLS = inForm(6, 40);
const SCHEDULED = 60;
const BOUNCES = 40;
const KEY = 'outgoing_kill_key_0123456789';
const ENTRY = fileURLToPath(new URL('../system/webhooks/server-entry.ts', import.meta.url));

interface Server {
  process: ChildProcess;
  url: string;
}

let dataDir: string;
let receiver: HttpReceiver;
let server: Server;

async function start(): Promise<Server> {
  const child = spawn(process.execPath, [ENTRY], {
    env: {
      PATH: process.env.PATH,
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_API_KEY: KEY,
      MAYFLY_LOG_LEVEL: 'silent',
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { process: child, ...JSON.parse(line) };
}

async function kill({ process: child }: Server): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function call(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.json();
}

/** As an SDK of Resend: repeated until the server has taken it; a repetition has the same idempotency key. */
async function send(to: string, subject: string, more: object = {}): Promise<void> {
  for (;;) {
    const sent = await fetch(`${server.url}/providers/resend/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'app@shop.example', to, subject, text: 'x', ...more }),
    }).catch(() => undefined);
    if (sent?.ok) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'mayfly-outgoing-kill-'));
  receiver = await startHttp();
  server = await start();
});
afterAll(async () => {
  await kill(server);
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const subjectsOf = async (inbox: string): Promise<string[]> =>
  (await call('GET', `/v1/inboxes/${inbox}/messages?limit=200`)).messages.map(({ subject }: Body) => subject);

it(
  `${KILLS} kills lose and double no scheduled mail that is released meanwhile, and keep its order`,
  async () => {
    const inbox = await call('POST', '/v1/inboxes', {});
    const day = 24 * 60;
    const names = Array.from({ length: SCHEDULED }, (_, n) => `mail ${String(n).padStart(3, '0')}`);
    for (const [n, name] of names.entries()) {
      const scheduled_at = new Date(Date.now() + (n + 1) * 60_000 + day * 60_000).toISOString();
      await send(inbox.address, name, { scheduled_at });
    }
    expect(await subjectsOf(inbox.id)).toEqual([]);
    await call('POST', `/v1/inboxes/${inbox.id}/advance`, { minutes: 2 * day });
    for (let n = 0; n < KILLS; n++) {
      const before = (await subjectsOf(inbox.id)).length;
      await vi.waitFor(async () => {
        const { length } = await subjectsOf(inbox.id);
        expect(length > before || length === SCHEDULED).toBe(true);
      }, 20_000);
      await kill(server);
      server = await start();
    }
    await vi.waitFor(async () => expect(await subjectsOf(inbox.id)).toHaveLength(SCHEDULED), 60_000);
    expect((await subjectsOf(inbox.id)).toReversed()).toEqual(names);
  },
  timeLimit(180_000),
);

it(
  'kills lose no outcome, and apply a rule to exactly as many mails as it says',
  async () => {
    const webhookUrl = `http://127.0.0.1:${receiver.port}/events`;
    await call('PUT', '/v1/providers/resend', { webhookUrl });
    const inbox = await call('POST', '/v1/inboxes', {});
    const rules = [{ outcome: 'bounce', times: BOUNCES }];
    await call('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { rules });
    const sending = (async () => {
      for (let n = 0; n < 2 * BOUNCES; n++) await send(inbox.address, `mail ${n}`);
    })();
    for (let n = 0; n < KILLS; n++) {
      const before = receiver.requests.length;
      await vi.waitFor(() => {
        const { length } = receiver.requests;
        expect(length > before || length >= BOUNCES).toBe(true);
      }, 20_000);
      await kill(server);
      server = await start();
    }
    await sending;
    const eventsById = () =>
      new Set(receiver.requests.map(({ headers }) => headers['svix-id'] ?? '').filter(Boolean));
    await vi.waitFor(() => expect(eventsById().size).toBe(BOUNCES), 90_000);
    const { rules: left } = await call('GET', `/v1/inboxes/${inbox.id}/outcomes`);
    expect(left).toMatchObject([{ left: 0 }]);
  },
  timeLimit(180_000),
);
