/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../../src/accounts/keys.ts';
import { openPostgres } from '../../../src/database/postgres/open.ts';
import { newId } from '../../../src/ids.ts';
import type { Store } from '../../../src/store.ts';
import { brokenInvariants } from '../../store/invariants.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { type Nodes, POSTGRES, startNodes, throughPort } from './nodes.ts';

const NODES = 2;
const CLIENTS = 8;
const SENDERS = 4;
const ACCOUNTS = 4;
const MS = inForm(3_000, 60_000);
/** What the clients choose from: the newest. */
const KEPT = 20;

const random = chance();

interface Known {
  key: string;
  id: string;
  address: string;
}

describe.skipIf(!POSTGRES)(`${NODES} nodes on a healthy database (seed ${random.seed})`, () => {
  let site: Nodes;
  let proxy: TcpProxy;
  let hooks: Server;
  let operator: Store;
  let keys: { accountId: string; key: string }[] = [];
  let inboxes: Known[] = [];
  let webhooks: Pick<Known, 'key' | 'id'>[] = [];
  /** Responses and replies that no client may get, each with how often. */
  const wrong = new Map<string, number>();
  const statuses = new Map<string, number>();
  let isDelayed = false;

  const pick = <X>(all: readonly X[]): X => all[random.between(0, all.length - 1)] as X;
  const oneIn = (n: number) => random.between(1, n) === 1;
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);

  beforeAll(async () => {
    site = await startNodes();
    hooks = createServer((request, response) => request.resume().on('end', () => response.end())).listen(0);
    await once(hooks, 'listening');
    const delay = () => (isDelayed && oneIn(6) ? random.between(1, 20) : 0);
    proxy = await startTcpProxy(() => Number(new URL(site.url).port), delay);
    const env = {
      MAYFLY_DATABASE_URL: throughPort(site.url, proxy.port),
      MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
    };
    for (let n = 0; n < NODES; n++) await site.startNode({ env });
    operator = await openPostgres({ url: site.url });
    for (let n = 0; n < ACCOUNTS; n++) await addAccount();
  });
  afterAll(async () => {
    await operator?.close();
    await site?.close();
    await proxy?.close();
    hooks?.close();
  });

  async function addAccount(): Promise<void> {
    const now = Date.now();
    const account = { id: newId('acc', now), name: 'a', plan: 'unlimited', createdAt: now };
    const wanted = { accountId: account.id, name: 'k', scope: 'full', expiresAt: null } as const;
    const { record, key } = newKey(wanted, now);
    await operator.accounts.create(account, record);
    keys = [...keys, { accountId: account.id, key }];
  }

  /** Makes a request. @returns the body, if it has succeeded */
  async function call(key: string, method: string, path: string, body?: unknown) {
    const url = `${pick(site.nodes).url}${path}`;
    const isRaw = typeof body === 'string';
    const type = isRaw ? 'message/rfc822' : 'application/json';
    const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': type }) };
    const what = `${method} ${path.replaceAll(/(inb|msg|whk|dlv)_\w+/g, '$1')}`;
    const content = isRaw ? body : JSON.stringify(body);
    const request = fetch(url, { method, headers, ...(body !== undefined && { body: content ?? '' }) });
    const response = await request.catch((error: Error) => {
      count(wrong, `${what}: ${error.message} ${String(error.cause)}`);
    });
    if (!response) return undefined;
    const text = await response.text().catch((error: Error) => {
      // A message that is deleted while it is read cannot be sent to its end.
      if (!/\/(raw|export)$/.test(path)) count(wrong, `${what}: ${error.message}`);
      return '';
    });
    count(statuses, `${response.status}`);
    // 400 would be a fault of this test.
    if (response.status >= 500 || response.status === 400)
      count(wrong, `${what}: ${response.status} ${text}`);
    return response.ok && text.startsWith('{') ? JSON.parse(text) : undefined;
  }

  async function create(): Promise<void> {
    const { key } = pick(keys);
    const port = (hooks.address() as AddressInfo).port;
    const made = await call(key, 'POST', '/v1/inboxes', {
      ttlMinutes: random.between(1, 60),
      labels: { run: String(random.between(1, 3)) },
      ...(oneIn(3) && { webhookUrl: `http://127.0.0.1:${port}/` }),
      ...(oneIn(3) && { localPart: `name-${random.between(1, 20)}` }),
    });
    if (made) inboxes = [...inboxes, { key, id: made.id, address: made.address }].slice(-KEPT);
  }

  async function createWebhook(): Promise<void> {
    const { key, id } = pick(inboxes);
    const port = (hooks.address() as AddressInfo).port;
    const url = `http://127.0.0.1:${port}/`;
    const made = await call(key, 'POST', '/v1/webhooks', { url, ...(oneIn(2) && { inboxId: id }) });
    if (made) webhooks = [...webhooks, { key, id: made.id }].slice(-KEPT);
  }

  const onInbox = (method: string, rest: string, body?: unknown) => () => {
    const { key, id } = pick(inboxes);
    return call(key, method, `/v1/inboxes/${id}${rest}`, body);
  };
  const onWebhook = (method: string, rest: string, body?: unknown) => async () => {
    const hook = pick(webhooks);
    if (hook) await call(hook.key, method, `/v1/webhooks/${hook.id}${rest}`, body);
  };
  const onAccount = (method: string, path: string, body?: unknown) => () =>
    call(pick(keys).key, method, path, body);

  async function onMessage(): Promise<void> {
    const { key, id } = pick(inboxes);
    const page = await call(key, 'GET', `/v1/inboxes/${id}/messages`);
    const [message] = page?.messages ?? [];
    if (!message) return;
    const path = `/v1/inboxes/${id}/messages/${message.id}`;
    for (const rest of ['', '/raw', '/lint', '/timeline']) await call(key, 'GET', `${path}${rest}`);
    if (oneIn(2)) await call(key, 'DELETE', path);
  }

  async function leave(): Promise<void> {
    await addAccount();
    const accountId = keys[0]?.accountId ?? '';
    await operator.accounts.delete(accountId, Date.now());
    keys = keys.filter((one) => one.accountId !== accountId);
  }

  const operations: (() => Promise<unknown>)[] = [
    ...[create, create, create, createWebhook, createWebhook, onMessage, onMessage],
    ...[onInbox('GET', ''), onInbox('GET', '/messages?wait=1'), onInbox('GET', '/export')],
    onInbox('POST', '/wait', { timeoutSeconds: 1, match: { subject: 'nothing like that' } }),
    ...[onInbox('PATCH', '', { ttlMinutes: 30 }), onInbox('POST', '/expire'), onInbox('DELETE', '')],
    ...[onInbox('DELETE', '/messages'), onInbox('POST', '/messages', 'Subject: x\r\n\r\nHello\r\n')],
    onInbox('PUT', '/faults', { rules: [{ at: 'rcpt', reply: { code: 550, text: 'No' }, times: 1 }] }),
    ...[onWebhook('PATCH', '', { enabled: false }), onWebhook('PATCH', '', { enabled: true })],
    ...[onWebhook('POST', '/rotate-secret'), onWebhook('POST', '/test'), onWebhook('GET', '/deliveries')],
    ...[onWebhook('POST', '/deliveries/replay', { state: 'delivered' }), onWebhook('DELETE', '')],
    ...[onAccount('GET', '/v1/messages?q=hello'), onAccount('GET', '/v1/inboxes?label.run=1')],
    ...[onAccount('POST', '/v1/addresses/generate', {}), onAccount('GET', '/v1/refusals')],
    ...[onAccount('GET', '/v1/usage'), onAccount('GET', '/v1/reports/runs?label.run=2')],
    ...[onAccount('POST', '/v1/keys', { name: 'k' }), onAccount('DELETE', '/v1/inboxes?label.run=3')],
    leave,
  ];

  /** Sends a mail to some inboxes; others may have ended them. */
  async function send(node: ServerProcess): Promise<void> {
    const client = await smtpClient(node.smtpPort);
    const check = (what: string, reply: string) => {
      count(statuses, `SMTP ${reply.slice(0, 3)}`);
      // Full inboxes are not the server's fault.
      if (!/^(2|3|5|452)/.test(reply)) count(wrong, `${what}: ${reply}`);
      return reply;
    };
    try {
      check('greeting', await client.reply());
      check('EHLO', await client.say('EHLO client.example'));
      check('MAIL', await client.say('MAIL FROM:<a@client.example>'));
      const to = [pick(inboxes), pick(inboxes), pick(inboxes)].map(({ address }) => address);
      for (const address of to) check('RCPT', await client.say(`RCPT TO:<${address}>`));
      if (!check('DATA', await client.say('DATA')).startsWith('354')) return;
      check('the final dot', await client.say('Subject: hello\r\n\r\nHello\r\n.'));
    } finally {
      client.close();
    }
  }

  it(
    `answer no request with 500 or 503 and no sender with 451 in ${MS / 1_000} s of all kinds of calls`,
    async ({ annotate }) => {
      for (let n = 0; n < KEPT; n++) await create();
      await createWebhook();
      isDelayed = true;
      const until = performance.now() + MS;
      const loop = async (work: () => Promise<unknown>) => {
        while (performance.now() < until) await work();
      };
      await Promise.all([
        ...Array.from({ length: CLIENTS }, () => loop(() => pick(operations)())),
        ...Array.from({ length: SENDERS }, () => loop(() => send(pick(site.nodes)))),
      ]);
      isDelayed = false;
      await annotate([...statuses].map(([status, times]) => `${times} × ${status}`).join(', '));
      expect([...wrong]).toEqual([]);
      // What nodes do by themselves, such as deliveries, ends with them.
      await Promise.all(site.nodes.map((node) => node.end('SIGTERM')));
      const lines = `select coalesce(json_agg(r), '[]') from`;
      const select = async (sql: string) =>
        (await site.query(`${lines} (${sql}) r`)) as Record<string, unknown>[];
      expect(await brokenInvariants(select, Date.now(), false)).toEqual([]);
    },
    timeLimit(300_000),
  );
});
