import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { TEST_KEY, type TestApp } from '../../support/start-app.ts';

/** A piece of the raw source has 256 KiB: this mail has many. */
const LARGE_ATTACHMENT = 20 * 1024 * 1024;

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

/** What the test reads on both engines. */
export type Filled = Awaited<ReturnType<typeof fill>>;

/**
 * Uses every part of a server, so that all tables have rows.
 * @param webhookUrl a receiver that refuses, so that deliveries stay pending
 */
export async function fill(app: TestApp, webhookUrl: string) {
  const { api } = app;
  const webhook = await api('POST', '/v1/webhooks', { body: { url: webhookUrl } });
  expect(webhook.status).toBe(201);
  expect((await api('POST', '/v1/accounts', { as: null, body: { name: 'Another' } })).status).toBe(201);
  const key = await api('POST', '/v1/keys', { body: { name: 'käy 🗝', scope: 'read' } });
  const inboxes = [
    await app.createInbox({ labels: { run: 'ünïcode' } }),
    await app.createInbox({ catchAll: true }),
    await app.createInbox(),
  ];
  const [first, , last] = inboxes as [Inbox, Inbox, Inbox];
  const content = Buffer.alloc(LARGE_ATTACHMENT, 'All bytes, from \u0000 to ÿ. ');
  const from = 'app@example.org';
  const attachments = [{ content, filename: 'a.bin' }];
  await app.send({ from, to: first.address, subject: 'Large', attachments });
  for (let n = 0; n < 30; n++)
    await app.send({ from, to: first.address, subject: `Code ${1000 + n}`, html: `<p>é ${n} 😀</p>` });
  await app.send({ from, to: [first.address, last.address], subject: 'Shared', text: 'For both.' });
  await app.send({ from, to: `any.one@${inboxes[1]?.address.split('@')[1]}`, subject: 'Caught' });
  await expect(app.send({ from, to: 'nobody@mayfly.test' })).rejects.toThrow(/550/);

  const expired = await app.createInbox();
  await app.send({ from, to: expired.address, subject: 'Of an ended inbox' });
  expect((await api('POST', `/v1/inboxes/${expired.id}/expire`)).status).toBe(204);
  const emptied = await app.createInbox();
  await app.send({ from, to: emptied.address, subject: 'Of an emptied inbox' });
  expect((await api('DELETE', `/v1/inboxes/${emptied.id}/messages`)).status).toBe(204);

  // One that succeeds, and one whose explanation is kept.
  for (const subject of ['Shared', 'never sent']) {
    const wait = { body: { match: { subject }, timeoutSeconds: 0 } };
    expect(await api('POST', `/v1/inboxes/${first.id}/wait`, wait)).toMatchObject({ status: 200 });
  }
  // Ended waits are written before a report is.
  expect((await api('GET', '/v1/reports/runs?label.run=1')).status).toBe(200);
  const deleted = await app.createInbox({ labels: { run: '1' } });
  await app.send({ from, to: deleted.address, subject: 'Of a deleted inbox' });
  expect((await api('DELETE', `/v1/inboxes/${deleted.id}`)).status).toBe(204);

  /** A creation that may be repeated. */
  const repeatable = {
    body: { labels: { n: '1' }, webhookUrl },
    headers: { 'idempotency-key': 'once-and-only-once' },
  };
  expect((await api('POST', '/v1/inboxes', repeatable)).status).toBe(201);
  await api('POST', '/v1/addresses/generate');
  expect((await api('POST', '/console/session')).status).toBeLessThan(300);
  return { inboxes, expired, webhookId: webhook.body.id, readKey: key.body.key, repeatable };
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Everything that clients can read, with the hash of each body of bytes; times of use are left out. */
export async function readEverything({ api, url }: TestApp, filled: Filled) {
  const seen: Record<string, unknown> = {};
  const read = async (path: string, as: string = TEST_KEY) => {
    const { status, body, bytes, headers } = await api('GET', path, { as });
    const isJson = headers.get('content-type')?.includes('json');
    if (isJson) for (const field of ['requestId', 'expiresAt']) delete body[field];
    seen[`${path} ${as.slice(0, 4)}`] = {
      status,
      content: isJson ? JSON.stringify(body).replaceAll(url, '') : digest(bytes),
    };
    return body;
  };
  for (const { id, token } of filled.inboxes) {
    await read(`/v1/inboxes/${id}`, token);
    const { messages } = await read(`/v1/inboxes/${id}/messages?limit=200`, filled.readKey);
    for (const message of messages) {
      const path = `/v1/inboxes/${id}/messages/${message.id}`;
      const { attachments } = await read(path);
      await read(`${path}/raw`);
      for (const attachment of attachments) await read(`${path}/attachments/${attachment.id}`);
    }
  }
  await read(`/v1/inboxes/${filled.expired.id}`);
  // On a busy machine a search may end before its first page is complete.
  while ((await api('GET', '/v1/messages?q=shared')).body.hasMore);
  await read('/v1/messages?q=shared');
  await read('/v1/refusals');
  const keys = await api('GET', '/v1/keys');
  seen.keys = keys.body.keys.map(({ lastUsedAt, ...rest }: { lastUsedAt: unknown }) => rest);
  return seen;
}
