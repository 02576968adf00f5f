import { describe, expect, it } from 'vitest';
import { type Body, useAccounts } from '../http/start-http.ts';

const HOOK = 'http://127.0.0.1:9999/hook';
const DISABLED = { status: 409, body: { code: 'webhook_disabled' } };

describe('webhooks', () => {
  const http = useAccounts();

  const register = async (body: object = {}, as = http.keys.own): Promise<Body> => {
    const answer = await http.api('POST', '/v1/webhooks', { body: { url: HOOK, ...body }, as });
    expect(answer.status).toBe(201);
    return answer.body;
  };
  const logOf = async (id: string): Promise<Body[]> =>
    (await http.api('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries;

  it('show their secret at registration and rotation and never again, anywhere', async () => {
    const inbox = await http.createInbox();
    const webhook = await register({ inboxId: inbox.id, description: 'CI' });
    expect(webhook).toMatchObject({ inboxId: inbox.id, description: 'CI', enabled: true, url: HOOK });
    const rotated = await http.api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`);
    const secrets = [webhook.secret, rotated.body.secret];
    for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(new Set(secrets).size).toBe(2);
    const path = `/v1/webhooks/${webhook.id}`;
    const shown = [
      await http.api('GET', '/v1/webhooks'),
      await http.api('GET', path),
      await http.api('PATCH', path, { body: { description: 'ours' } }),
      await http.api('POST', `${path}/test`),
      await http.api('GET', `${path}/deliveries`),
    ];
    const text = JSON.stringify([shown.map(({ status, body }) => [status, body]), http.logged]);
    expect(text).toContain(webhook.id);
    for (const secret of secrets) expect(text).not.toContain(secret.slice(6, 20));
  });

  it('are listed newest first, page by page, and only to their own account', async () => {
    const mine: string[] = [];
    for (let i = 0; i < 3; i++) {
      mine.unshift((await register()).id);
      await http.clock.advance(1);
    }
    await register({}, http.keys.foreign);
    const first = await http.api('GET', '/v1/webhooks?limit=2');
    const rest = await http.api('GET', `/v1/webhooks?before=${mine[1]}`);
    expect([first.body.hasMore, rest.body.hasMore]).toEqual([true, false]);
    expect([...first.body.webhooks, ...rest.body.webhooks].map(({ id }: Body) => id)).toEqual(mine);
    expect((await http.api('GET', '/v1/webhooks?before=inb_1')).status).toBe(400);
  });

  it('cannot be registered for an inbox that has ended', async () => {
    const expired = await http.createInbox({ ttlMinutes: 1 });
    const deleted = await http.createInbox();
    await http.api('DELETE', `/v1/inboxes/${deleted.id}`);
    await http.clock.advance(60_000);
    const listen = (inboxId: string) => http.api('POST', '/v1/webhooks', { body: { url: HOOK, inboxId } });
    const late = await listen(expired.id);
    expect([late.status, late.body.code]).toEqual([410, 'inbox_expired']);
    expect(Date.parse(late.body.expiredAt)).toBe(http.clock.now());
    const detail = `No inbox with the id "${deleted.id}" is visible to this credential: it may have been deleted, or have expired more than 24 hours ago. List the inboxes of the account with GET /v1/inboxes.`;
    expect(await listen(deleted.id)).toMatchObject({ status: 404, body: { detail } });
  });

  it('refuse a URL that leads inside, with the reason, at registration and at every change', async () => {
    const { id } = await register();
    for (const [url, words] of [
      ['http://10.0.0.1/hook', '10.0.0.1 is not public'],
      ['ftp://127.0.0.1/', 'must begin with https'],
      ['http://127.0.0.1:25/', 'Port 25'],
      ['http://user:pw@127.0.0.1:9999/', 'must not contain a user name'],
      ['nonsense', 'not an absolute URL'],
    ] as const) {
      const detail = expect.stringContaining(words);
      for (const answer of [
        await http.api('POST', '/v1/webhooks', { body: { url } }),
        await http.api('PATCH', `/v1/webhooks/${id}`, { body: { url } }),
        await http.api('POST', '/v1/inboxes', { body: { webhookUrl: url } }),
      ])
        expect(answer).toMatchObject({ status: 422, body: { code: 'webhook_url_refused', detail } });
    }
    expect((await http.api('GET', `/v1/webhooks/${id}`)).body.url).toBe(HOOK);
    expect((await http.api('GET', '/v1/inboxes')).body.inboxes).toEqual([]);
  });

  it('record a delivery with each message of their account or inbox, and of no other', async () => {
    const inbox = await http.createInbox();
    const other = await http.createInbox();
    const foreign = await http.createInbox({}, http.keys.foreign);
    const [all, one] = [await register(), await register({ inboxId: inbox.id })];
    const messages = [await http.deliver(inbox), await http.deliver(other)];
    await http.deliver(foreign, {}, http.foreignId);
    const ofAll = await logOf(all.id);
    expect(ofAll.map(({ messageId }) => messageId).toSorted()).toEqual(messages.toSorted());
    const ofOne = await logOf(one.id);
    expect(ofOne).toMatchObject([{ messageId: messages[0], inboxId: inbox.id, state: 'pending' }]);
    // One event for all webhooks.
    expect(ofAll.map(({ eventId }) => eventId)).toContain(ofOne[0]?.eventId);
  });

  it('that are disabled get nothing, and cannot be tested or replayed until they are enabled', async () => {
    const { id } = await register();
    const { body: delivery } = await http.api('POST', `/v1/webhooks/${id}/test`);
    const disabled = await http.api('PATCH', `/v1/webhooks/${id}`, { body: { enabled: false } });
    expect(disabled.body).toMatchObject({ enabled: false, disabledReason: null });
    await http.deliver(await http.createInbox());
    expect(await logOf(id)).toHaveLength(1);
    for (const path of ['test', `deliveries/${delivery.id}/replay`])
      expect(await http.api('POST', `/v1/webhooks/${id}/${path}`)).toMatchObject(DISABLED);
    await http.api('PATCH', `/v1/webhooks/${id}`, { body: { enabled: true } });
    expect((await http.api('POST', `/v1/webhooks/${id}/test`)).status).toBe(202);
  });

  it('list deliveries of one state, and replay all of them', async () => {
    const { id } = await register();
    for (let i = 0; i < 3; i++) await http.api('POST', `/v1/webhooks/${id}/test`);
    const path = `/v1/webhooks/${id}/deliveries`;
    const listed = async (state: string) => (await http.api('GET', `${path}?state=${state}`)).body.deliveries;
    expect([(await listed('pending')).length, (await listed('failed')).length]).toEqual([3, 0]);
    await http.api('PATCH', `/v1/webhooks/${id}`, { body: { enabled: false } });
    await http.store.deliveries.claim({ prompt: 9, other: 9, leaseMs: 9 }, http.clock.now());
    expect(await listed('cancelled')).toHaveLength(3);
    const replay = (body: object) => http.api('POST', `${path}/replay`, { body });
    expect((await replay({ state: 'cancelled' })).body.code).toBe('webhook_disabled');
    await http.api('PATCH', `/v1/webhooks/${id}`, { body: { enabled: true } });
    for (const [since, replayed] of [
      ['2999-01-01T00:00:00Z', 0],
      [String(2 ** 45), 0],
      ['1960-01-01T00:00:00Z', 3],
      [undefined, 0],
    ] as const)
      expect((await replay({ state: 'cancelled', since })).body).toEqual({ replayed });
    expect(await listed('pending')).toHaveLength(3);
    expect((await replay({ state: 'failed', since: 'yesterday' })).body.code).toBe('invalid_since');
  });

  describe('of one inbox, by webhookUrl', () => {
    const create = (headers = {}) => http.api('POST', '/v1/inboxes', { body: { webhookUrl: HOOK }, headers });

    it('are made with it in one step and answered with their secret', async () => {
      const { status, body } = await create();
      expect(status).toBe(201);
      expect(body.webhook).toMatchObject({ url: HOOK, secret: expect.stringMatching(/^whsec_/) });
      const webhook = await http.api('GET', `/v1/webhooks/${body.webhook.id}`);
      expect(webhook.body).toMatchObject({ inboxId: body.id, enabled: true });
      await http.deliver(body);
      expect(await logOf(body.webhook.id)).toHaveLength(1);
      expect((await http.createInbox()) as Body).not.toHaveProperty('webhook');
    });

    it('come back the same, secret included, when an idempotent creation is repeated', async () => {
      const headers = { 'idempotency-key': 'run-1' };
      const [first, again] = [await create(headers), await create(headers)];
      expect(again.body).toEqual(first.body);
      await http.api('POST', `/v1/webhooks/${first.body.webhook.id}/rotate-secret`);
      expect((await create(headers)).body).toEqual(first.body);
      expect((await http.api('GET', '/v1/webhooks')).body.webhooks).toHaveLength(1);
    });

    it.each(['deleted', 'expired'])('end with an inbox that is %s, and are shown for a day', async (how) => {
      const { body } = await create();
      const account = await register();
      await http.deliver(body);
      if (how === 'deleted') await http.api('DELETE', `/v1/inboxes/${body.id}`);
      else await http.clock.advance(60 * 60_000);
      const path = `/v1/webhooks/${body.webhook.id}`;
      const ended = { enabled: false, disabledReason: 'The inbox ended.' };
      expect((await http.api('GET', path)).body).toMatchObject(ended);
      for (const answer of [
        await http.api('POST', `${path}/test`),
        await http.api('POST', `${path}/rotate-secret`),
        await http.api('PATCH', path, { body: { enabled: true } }),
      ])
        expect(answer).toMatchObject(DISABLED);
      await http.store.upkeep.sweep(http.clock.now(), 1000);
      // Also where the whole account listens.
      const cancelled = { state: 'cancelled', reason: 'The inbox ended.', nextAttemptAt: null };
      for (const id of [body.webhook.id, account.id]) expect(await logOf(id)).toMatchObject([cancelled]);
      await http.clock.advance(24 * 60 * 60_000);
      expect((await http.api('GET', path)).status).toBe(404);
      expect((await http.api('GET', '/v1/webhooks')).body.webhooks).toMatchObject([{ id: account.id }]);
    });

    it('live as long as an inbox whose end is moved', async () => {
      const { body } = await create();
      await http.api('PATCH', `/v1/inboxes/${body.id}`, { body: { ttlMinutes: 120 } });
      await http.clock.advance(119 * 60_000);
      await http.deliver(body);
      expect(await logOf(body.webhook.id)).toHaveLength(1);
    });
  });
});
