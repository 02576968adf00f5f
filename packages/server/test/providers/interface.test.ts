import { beforeAll, expect, it } from 'vitest';
import type { ApiOptions } from '../support/api-client.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY, type TestApp } from '../support/start-app.ts';
import { usePlainProvider } from './plain-provider.ts';

usePlainProvider();

/** One request to the provider; by default with the key of the first account. */
function ask(app: TestApp, method: string, path: string, asked: ApiOptions & { key?: string | null } = {}) {
  const { key = TEST_KEY, headers, ...options } = asked;
  const fields = { ...(key !== null && { 'x-plain-key': key }), ...headers };
  return app.api(method, `/providers/mailgun${path}`, { as: null, headers: fields, ...options });
}

const mailTo = (...recipients: string[]) => ({
  ...{ to: recipients.join(', '), subject: 'Your code', text: 'Your code is 482913.' },
  recipients,
});

describeOnEngines('the interface of a provider', (engine) => {
  const servers = useServers(engine, { MAYFLY_SIGNUP_PLAN: 'developer', MAYFLY_DOMAINS: 'mayfly.test' });
  const app = servers.first();
  let foreign: string;
  beforeAll(async () => {
    foreign = await app.newAccount();
  });

  it('puts a mail where SMTP would have put it, and says how it came', async () => {
    const inbox = await app.createInbox();
    const sent = await ask(app, 'POST', '/send', { body: mailTo(inbox.address.replace('@', '+tag@')) });
    expect(sent.status).toBe(202);
    await app.send({ from: 'app@shop.example', to: inbox.address, subject: 'by SMTP', text: 'x' });
    const [bySmtp, byProvider] = await app.messages(inbox, '?wait=5');
    expect([bySmtp.via, byProvider.via]).toEqual([undefined, 'mailgun']);
    const path = `/v1/inboxes/${inbox.id}/messages/${byProvider.id}`;
    const { body: message } = await app.api('GET', path);
    const envelope = { mailFrom: 'app@shop.example', via: 'mailgun', providerMessageId: sent.body.id };
    expect(message).toMatchObject({ subject: 'Your code', codes: [{ value: '482913' }], envelope });
    expect(message.headers[0].value).toContain('with HTTP');
    const { body: timeline } = await app.api('GET', `${path}/timeline`);
    const detail = expect.stringMatching(/^Sent through the interface of Plain Mail, by a request from /);
    expect(timeline.events).toContainEqual(expect.objectContaining({ event: 'provider-call', detail }));
  });

  it('stores one mail for several inboxes of the account, those of Bcc included', async () => {
    const inboxes = [await app.createInbox(), await app.createInbox()];
    const mail = { ...mailTo(...inboxes.map(({ address }) => address)), to: inboxes[0]?.address };
    expect((await ask(app, 'POST', '/send', { body: mail })).status).toBe(202);
    for (const inbox of inboxes) expect(await app.messages(inbox, '?wait=5')).toHaveLength(1);
  });

  it('gives everything to the inbox of a read token', async () => {
    const [own, other] = [await app.createInbox(), await app.createInbox()];
    const body = mailTo(other.address, 'ada@elsewhere.example');
    expect((await ask(app, 'POST', '/send', { key: own.token, body })).status).toBe(202);
    const [message] = await app.messages(own, '?wait=5');
    expect(message.rcptTo).toEqual([other.address, 'ada@elsewhere.example']);
    expect(await app.messages(other)).toEqual([]);
  });

  it("refuses another account's address exactly as an address that does not exist", async () => {
    const theirs = await app.api('POST', '/v1/inboxes', { as: foreign, body: {} });
    const { address, id } = theirs.body;
    const none = `nobody-${id.slice(-8)}@mayfly.test`;
    const [known, unknown] = await Promise.all(
      [address, none].map((to: string) => ask(app, 'POST', '/send', { body: mailTo(to) })),
    );
    expect(known?.status).toBe(404);
    const hidden = (answer: typeof known) => JSON.stringify(answer?.body).replaceAll(address, none);
    expect(hidden(known)).toBe(hidden(unknown));
    expect(await app.messages({ id }, '', foreign)).toEqual([]);
  });

  it('drops recipients that no inbox of the account takes while another is left, and a wait explains them', async () => {
    const inbox = await app.createInbox();
    const missed = inbox.address.replace('@', 'x@');
    const mail = mailTo(inbox.address, missed, 'ada@elsewhere.example');
    expect((await ask(app, 'POST', '/send', { body: mail })).status).toBe(202);
    const [message] = await app.messages(inbox, '?wait=5');
    expect(message.rcptTo ?? []).not.toContain(missed);
    const body = { timeoutSeconds: 1, since: inbox.cursor, match: { subject: 'never' } };
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
    expect(JSON.stringify(waited.body)).toContain(missed);
  });

  it.each([
    ['no key', null],
    ['an unknown key', 'mfk_nothing'],
    ['a key with a line end', 'mfk_a b'],
    ['the development key', 'dev'],
  ])('refuses %s in the shape of the provider', async (_, key) => {
    const answer = await ask(app, 'POST', '/send', { key, body: mailTo('a@mayfly.test') });
    expect(answer).toMatchObject({ status: 401, body: { plain: { status: 401, url: '/send' } } });
  });

  it('takes no cookie of the console, and no stored password from pages of others', async () => {
    const cookie = { cookie: 'mayfly-80=whatever' };
    expect((await ask(app, 'POST', '/send', { key: null, headers: cookie, body: {} })).status).toBe(401);
    const page = { origin: 'https://evil.example' };
    expect((await ask(app, 'POST', '/send', { headers: page, body: {} })).status).toBe(403);
  });

  it('applies the fault rules of the inbox, exactly as often as they say', async () => {
    const inbox = await app.createInbox();
    const rules = [
      { at: 'api', reply: { code: 429, text: 'Slow down' }, times: 2 },
      { at: 'api', disconnect: true },
      { at: 'api', delayMs: 1 },
    ];
    expect((await app.api('PUT', `/v1/inboxes/${inbox.id}/faults`, { body: { rules } })).status).toBe(200);
    const body = mailTo(inbox.address);
    const [one, two] = await Promise.all(
      [app, servers.last()].map((server) => ask(server, 'POST', '/send', { body })),
    );
    for (const answer of [one, two])
      expect(answer).toMatchObject({ status: 429, body: { plain: { message: 'Slow down' } } });
    await expect(ask(app, 'POST', '/send', { body })).rejects.toThrow('socket hang up');
    expect((await ask(app, 'POST', '/send', { body })).status).toBe(202);
    expect((await ask(app, 'POST', '/send', { body })).status).toBe(202);
    expect(await app.messages(inbox, '?wait=5')).toHaveLength(2);
  });

  it('keeps templates of an account and of each token apart, over all servers', async () => {
    const inbox = await app.createInbox();
    const read = (key: string) => ask(servers.last(), 'GET', '/kept/template/hello%2F%00', { key });
    const put = (key: string, value: string) =>
      ask(app, 'PUT', '/kept/template/hello%2F%00', { key, body: { value } });
    await put(TEST_KEY, 'of the account');
    expect((await read(TEST_KEY)).body).toMatchObject({ value: { value: 'of the account' } });
    for (const key of [foreign, inbox.token]) expect((await read(key)).body).toEqual({ all: [] });
    await put(inbox.token, 'of the inbox');
    const kept = { name: 'hello/\0', value: { value: 'of the account' } };
    expect((await read(TEST_KEY)).body.all).toEqual([kept]);
    expect((await put(TEST_KEY, 'x'.repeat(1024 * 1024))).status).toBe(413);
    await ask(app, 'PUT', '/kept/template/hello%2F%00', { body: null });
    expect((await read(TEST_KEY)).body).toEqual({ all: [] });
  });

  it('stores no template for a key that only reads', async () => {
    const { body: made } = await app.api('POST', '/v1/keys', { body: { name: 'reads', scope: 'read' } });
    const answer = await ask(app, 'PUT', '/kept/template/a', { key: made.key, body: {} });
    expect(answer.status).toBe(403);
  });

  it('lets one of many requests with the same idempotency key be the first', async () => {
    const name = `once-${Math.floor(performance.now())}`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        ask(n % 2 ? app : servers.last(), 'PUT', `/kept/idempotency/${name}?first`, { body: { n } }),
      ),
    );
    const before = answers.map(({ body }) => body.before);
    expect(before.filter((one) => one === undefined)).toHaveLength(1);
    expect(new Set(before.filter(Boolean).map(({ n }) => n)).size).toBe(1);
  });

  it('answers unknown paths, methods and providers, refusals and defects', async () => {
    expect((await ask(app, 'GET', '/nothing')).status).toBe(404);
    expect((await ask(app, 'DELETE', '/send')).status).toBe(404);
    const refusal = { status: 418, message: 'Its own refusal', url: '/own' };
    expect((await ask(app, 'GET', '/own')).body.plain).toEqual(refusal);
    const defect = await ask(app, 'GET', '/defect');
    expect(defect.status).toBe(500);
    expect(JSON.stringify(defect.body)).not.toContain('a defect');
    for (const path of ['/providers/nobody/send', '/providers', '/providers/__proto__/x'])
      expect((await app.api('POST', path, { body: {} })).status).toBe(404);
  });

  it('reads a body up to the limit of the plan, and says so beyond it', async () => {
    const limit = 25 * 1024 * 1024;
    const at = await ask(app, 'POST', '/size', { key: foreign, body: new Uint8Array(limit) });
    expect(at.body).toEqual({ bytes: limit });
    const above = await ask(app, 'POST', '/size', { key: foreign, body: new Uint8Array(limit + 1) });
    expect(above).toMatchObject({ status: 413, body: { plain: { status: 413 } } });
  });
});
