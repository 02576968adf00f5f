import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/api-client.ts';
import { sendTo } from '../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import type { TestApp } from '../support/start-app.ts';

const LIMITS = { maxLiveInboxes: 10, maxWebhooks: 5, maxMessagesPerInbox: 10 };
const SHARED_KEY = { 'idempotency-key': 'run-4711' };
const HOOK = 'http://127.0.0.1:9999/hook';

const together = <T>(times: number, one: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, n) => one(n)));

/** How many answers there are of each kind. */
const tally = (answers: readonly (Answer | string)[]): Record<string, number> => {
  const kinds: Record<string, number> = {};
  for (const answer of answers) {
    const kind = typeof answer === 'string' ? answer : `${answer.status} ${answer.body.code ?? ''}`.trimEnd();
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
};

describeOnEngines('the limits of a plan', (engine) => {
  const { apps, first } = useServers(engine, {
    MAYFLY_PLANS: JSON.stringify({ unlimited: LIMITS }),
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
  });
  const api: TestApp['api'] = (...asked) => first().api(...asked);
  /** Several keys of the one account: its limits are its own, not those of a key or of a server. */
  let keys: string[];
  beforeAll(async () => {
    const made = await together(4, () => api('POST', '/v1/keys', { body: { name: 'k' } }));
    keys = made.map(({ body }) => body.key);
  });

  const create = (n: number, headers: Record<string, string> = {}, body: object = {}): Promise<Answer> => {
    const options = { as: keys[n % keys.length] ?? '', headers, body };
    return (apps[n % apps.length] as TestApp).api('POST', '/v1/inboxes', options);
  };
  const live = async () => (await api('GET', '/v1/inboxes?limit=200')).body.inboxes;
  afterEach(async () => {
    for (const { id } of await live()) await api('DELETE', `/v1/inboxes/${id}`);
  });

  describe('live inboxes', () => {
    it('are exactly ten when fifty are created at once by several keys; one more can be created when one ends', async () => {
      const answers = await together(50, (n) => create(n));
      expect(tally(answers)).toEqual({ '201': 10, '409 limit_reached': 40 });
      const listed = await live();
      const made = answers.flatMap(({ status, body }) => (status === 201 ? [body.id] : []));
      expect(listed.map(({ id }: { id: string }) => id).toSorted()).toEqual(made.toSorted());
      await api('DELETE', `/v1/inboxes/${made[0]}`);
      expect(tally(await together(20, (n) => create(n)))).toEqual({ '201': 1, '409 limit_reached': 19 });
    });

    it('count once for fifty concurrent requests with one idempotency key, even at the limit', async () => {
      await together(9, (n) => create(n));
      const answers = await together(50, (n) => create(n, SHARED_KEY));
      expect(tally(answers)).toEqual({ '201': 50 });
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(await live()).toHaveLength(10);
      const { body } = await create(0, SHARED_KEY);
      expect(body).toEqual(answers[0]?.body);
      expect((await api('GET', `/v1/inboxes/${body.id}`, { as: body.token })).status).toBe(200);
    });
  });

  it('webhooks are exactly five when thirty are registered at once, separately and with inboxes, by several keys', async () => {
    const answers = await together(30, (n) =>
      n % 3 === 0
        ? create(n, {}, { webhookUrl: HOOK })
        : api('POST', '/v1/webhooks', { as: keys[n % keys.length] ?? '', body: { url: HOOK } }),
    );
    expect(tally(answers)).toEqual({ '201': 5, '409 limit_reached': 25 });
    const { webhooks } = (await api('GET', '/v1/webhooks')).body;
    expect(webhooks).toHaveLength(5);
    // An inbox that could not have its webhook was not made either.
    const ofInboxes = webhooks.filter(({ inboxId }: { inboxId: string | null }) => inboxId !== null);
    expect(await live()).toHaveLength(ofInboxes.length);
    for (const { id } of webhooks) await api('DELETE', `/v1/webhooks/${id}`);
    expect(tally([await api('POST', '/v1/webhooks', { body: { url: HOOK } })])).toEqual({ '201': 1 });
  });

  const deliver = async ({ address }: { address: string }, n: number): Promise<string> =>
    (await sendTo(apps[n % apps.length]?.smtp.port ?? 0, address)).slice(0, 9);

  it('an inbox takes exactly ten messages of fifty concurrent senders; the others get 452 and may retry', async () => {
    const inbox = await first().createInbox();
    const replies = await together(50, (n) => deliver(inbox, n));
    expect(tally(replies)).toEqual({ '250 2.0.0': 10, '452 4.2.2': 40 });
    const { body } = await api('GET', `/v1/inboxes/${inbox.id}`);
    expect(body).toMatchObject({ messageCount: 10, full: true });
    const { messages } = (await api('GET', `/v1/inboxes/${inbox.id}/messages`)).body;
    expect(messages).toHaveLength(10);
    await api('DELETE', `/v1/inboxes/${inbox.id}/messages/${messages[0].id}`);
    const again = await together(10, (n) => deliver(inbox, n));
    expect(tally(again)).toEqual({ '250 2.0.0': 1, '452 4.2.2': 9 });
  });
});
