import { beforeAll, beforeEach, expect, it } from 'vitest';
import { usePlainProvider } from '../providers/plain-provider.ts';
import type { Body } from '../support/api-client.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY, type TestApp } from '../support/start-app.ts';
import { startHttp, useReceiver } from '../webhooks/receivers.ts';

usePlainProvider();

const HELLO = { from: 'app@shop.example', subject: 'Hello', text: 'x' };
const unsubscribing = (urls: string) => ({
  ...{ 'List-Unsubscribe': urls, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
});
const DAY = 24 * 60;
const MINUTE = 60_000;

async function call(app: TestApp, method: string, path: string, key = TEST_KEY, body: object = {}) {
  const init = { method, headers: { 'x-plain-key': key }, body: JSON.stringify(body) };
  return (await (await fetch(`${app.url}/providers/mailgun${path}`, init)).json()) as Body;
}
/** Sends a mail through the provider. */
const post = (app: TestApp, to: string, more: object = {}, key = TEST_KEY): Promise<Body> => {
  const mail = { to, subject: 'Your order', text: 'Thanks for your order.', recipients: [to] };
  return call(app, 'POST', '/send', key, { ...mail, ...more });
};

describeOnEngines('what goes out', (engine) => {
  let answer: number;
  const receiver = useReceiver((response) => response.writeHead(answer).end());
  const servers = useServers(engine, {
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32',
    MAYFLY_SIGNUP_PLAN: 'developer',
    MAYFLY_SMTP_AUTH_PLAINTEXT: 'on',
  });
  const app = servers.first();
  /** The key of another account. */
  let stranger: string;
  beforeAll(async () => {
    stranger = await app.newAccount();
  });
  let inbox: { id: string; address: string; token: string; cursor: string };
  beforeEach(async () => {
    answer = 200;
    inbox = await app.createInbox();
  });

  const at = (path: string) => `/v1/inboxes/${inbox.id}${path}`;
  const messages = (wait = 0) => app.messages(inbox, `?wait=${wait}&limit=200`);
  const sent = async (): Promise<Body[]> => (await app.api('GET', at('/sent'))).body.sent;
  const useWebhook = (settings: object = { webhookUrl: `http://127.0.0.1:${receiver.port}/events` }) =>
    app.api('PUT', '/v1/providers/mailgun', { body: settings });
  const setRules = (rules: object[]) => app.api('PUT', at('/outcomes'), { body: { rules } });
  /** Replies to the newest message, which came from this inbox. @returns what was made, and what arrived */
  const replyTo = async (support: { id: string }, body: object) => {
    const [received] = await messages(10);
    const made = await app.api('POST', at(`/messages/${received.id}/reply`), { body });
    const [reply] = await app.messages(support, '?wait=10');
    const path = `/v1/inboxes/${support.id}/messages/${reply.id}`;
    return { made, full: (await app.api('GET', path)).body };
  };
  const bodies = (): Body[] => receiver.requests.map(({ body }) => JSON.parse(body.toString()));
  /** Resolves when the newest entry of the list of what went out has these fields. */
  const untilNewestIs = (fields: object) => expect.poll(async () => (await sent())[0]).toMatchObject(fields);

  it('a scheduled mail is held, and released by an advance in its order, exactly once on any number of servers', async () => {
    const now = Date.now();
    for (const n of [3, 1, 2, 9])
      await post(app, inbox.address, { subject: `day ${n}`, sendAt: now + n * DAY * MINUTE });
    expect(await messages()).toEqual([]);
    const waited = await app.api('POST', at('/wait'), { body: { timeoutSeconds: 0 } });
    const held = /4 scheduled messages for this inbox are held .* \d+ h: .*advance/;
    expect(waited.body.explanation.summary).toMatch(held);
    const advance = (server: TestApp, minutes: number) =>
      server.api('POST', at('/advance'), { body: { minutes } });
    expect((await advance(app, 60)).body).toEqual({ released: 0 });
    const [one, two] = await Promise.all([advance(app, 2 * DAY), advance(servers.last(), 2 * DAY)]);
    expect(one.body.released + two.body.released).toBe(3);
    await expect.poll(() => messages()).toHaveLength(3);
    expect((await messages()).map(({ subject }) => subject)).toEqual(['day 3', 'day 2', 'day 1']);
    const [{ id }] = await messages();
    const { body: full } = await app.api('GET', at(`/messages/${id}`));
    expect(full.envelope).toMatchObject({ via: 'mailgun', mailFrom: 'app@shop.example' });
    expect(full.envelope.given).toBeUndefined();
    expect((await app.api('GET', `/v1/inboxes/${inbox.id}`)).body.expiresAt).toBeDefined();
  });

  it('a scheduled mail is given another time, or cancelled, only by its owner', async () => {
    const far = Date.now() + 30 * DAY * MINUTE;
    const other = await app.createInbox();
    const { id } = await post(app, inbox.address, { sendAt: far });
    const patch = (path: string, key = TEST_KEY) => call(app, 'PATCH', path, key);
    expect(await patch(`/sent/${id}`, other.token)).toMatchObject({ found: false });
    expect(await patch(`/sent/nothing?at=${far}`)).toMatchObject({ found: false });
    expect(await patch(`/sent/${id}?at=${Date.now() - 1}`)).toMatchObject({ found: true });
    expect(await messages(10)).toHaveLength(1);
    const second = await post(app, inbox.address, { sendAt: far });
    expect(await patch(`/sent/${second.id}`, inbox.token)).toMatchObject({ found: true });
    await app.api('POST', at('/advance'), { body: { minutes: 60 * DAY } });
    expect((await patch(`/sent/${second.id}`)).found).toBe(false);
    expect(await messages()).toHaveLength(1);
  });

  it('outcomes become events of the provider for exactly as many mails as the rules say', async () => {
    await useWebhook();
    const rules = [{ outcome: 'bounce', times: 3 }, { outcome: 'complaint' }, { outcome: 'delay', times: 2 }];
    const { body: set } = await setRules(rules);
    expect(set.rules[1]).toEqual({ outcome: 'complaint', times: 1, left: 1 });
    const ids = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => {
        const server = n % 2 ? app : servers.last();
        return (await post(server, inbox.address)).id as string;
      }),
    );
    const delivered = async () => (await sent()).filter(({ state }) => state === 'delivered');
    await expect.poll(delivered).toHaveLength(6);
    const outcomes = bodies().map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual([...Array(3).fill('bounce'), 'complaint', 'delay', 'delay']);
    expect(new Set(bodies().map(({ mail }) => mail)).size).toBe(6);
    for (const { mail, recipient, given } of bodies()) {
      expect(ids).toContain(mail);
      expect([recipient, given]).toEqual([inbox.address, { tag: 'a' }]);
    }
    const { rules: after } = (await app.api('GET', at('/outcomes'))).body;
    expect(after.map(({ left }: Body) => left)).toEqual([0, 0, 0]);
  });

  it('an event is retried with the same id until the application takes it', async () => {
    await useWebhook();
    answer = 503;
    await setRules([{ outcome: 'bounce' }]);
    await post(app, inbox.address);
    const failed = { state: 'pending', attempts: 1, error: 'The endpoint answered 503.' };
    const event = { type: 'event', outcome: 'bounce', via: 'mailgun', ...failed };
    await expect.poll(sent).toMatchObject([event]);
    answer = 200;
    // The retry is due within minutes.
    expect((await app.api('POST', at('/advance'), { body: { minutes: 10 } })).body).toEqual({ released: 1 });
    await untilNewestIs({ state: 'delivered', attempts: 2, error: null });
    expect(new Set(bodies().map(({ id }) => id)).size).toBe(1);
    const [{ id }] = await messages();
    const { events } = (await app.api('GET', at(`/messages/${id}/timeline`))).body;
    const detail = `The outcome bounce, as an event of mailgun to http://127.0.0.1:${receiver.port}/events: delivered after 2 attempts`;
    expect(events).toContainEqual(expect.objectContaining({ event: 'sent-back', detail }));
  });

  it('says why an event was not sent: no URL, no such event, a deleted message', async () => {
    await app.api('DELETE', '/v1/providers/mailgun');
    await setRules([{ outcome: 'bounce' }]);
    await post(app, inbox.address);
    const error = 'There is no "webhookUrl" for Plain Mail. Set it with PUT /v1/providers/mailgun.';
    await untilNewestIs({ state: 'failed', error });
    await useWebhook();
    await setRules([{ outcome: 'unsubscribe' }]);
    await post(app, inbox.address);
    await untilNewestIs({ state: 'cancelled' });
    expect(receiver.requests).toEqual([]);
  });

  it('settings of a provider show what verifies its events, and belong to the account', async () => {
    const set = await useWebhook();
    const shown = { name: 'mailgun', inboundUrl: null, verification: { secret: 'whsec' } };
    expect(set).toMatchObject({ status: 200, body: shown });
    expect((await app.api('GET', '/v1/providers/mailgun')).body).toEqual(set.body);
    const none = { webhookUrl: null, inboundUrl: null, verification: {} };
    expect((await app.api('GET', '/v1/providers/mailgun', { as: stranger })).body).toMatchObject(none);
    const refused = await useWebhook({ webhookUrl: 'http://10.1.2.3/hook' });
    expect([refused.status, refused.body.code]).toEqual([422, 'webhook_url_refused']);
    expect((await app.api('DELETE', '/v1/providers/mailgun')).status).toBe(204);
    expect((await app.api('GET', '/v1/providers/mailgun')).body).toMatchObject(none);
  });

  it.each([
    ['bounce', /report-type=delivery-status/, /Action: failed\r\nStatus: 5\.1\.1/],
    ['soft-bounce', /report-type=delivery-status/, /Action: failed\r\nStatus: 4\.2\.2/],
    ['delay', /report-type=delivery-status/, /Action: delayed\r\nStatus: 4\.4\.1/],
    ['complaint', /report-type=feedback-report/, /Feedback-Type: abuse/],
  ])('for SMTP mail the outcome %s is a report to its return path', async (outcome, type, field) => {
    const sender = await app.createInbox();
    await setRules([{ outcome }]);
    await app.send({ ...HELLO, from: sender.address, to: inbox.address, messageId: '<one@shop.example>' });
    const [report] = await app.messages(sender, '?wait=10');
    const { body: raw } = await app.api('GET', `/v1/inboxes/${sender.id}/messages/${report.id}/raw`);
    expect(raw).toMatch(type);
    expect(raw).toMatch(field);
    expect(raw).toContain('Message-ID: <one@shop.example>');
    expect(raw).toContain(inbox.address);
    const delivered = { type: 'report', outcome, state: 'delivered', to: [sender.address] };
    await expect.poll(sent).toMatchObject([delivered]);
    expect((await app.api('GET', `/v1/inboxes/${sender.id}/sent`)).body.sent).toEqual([]);
  });

  it('a report to an address that is not of this server is not relayed, and the list says why', async () => {
    await setRules([{ outcome: 'bounce' }]);
    await app.send({ ...HELLO, to: inbox.address });
    await untilNewestIs({ state: 'failed', error: expect.stringContaining('MAYFLY_REPLY_SMTP') });
  });

  it('one click unsubscribes where the mail offers it', async () => {
    await setRules([{ outcome: 'unsubscribe', times: 2 }]);
    await app.send({ ...HELLO, to: inbox.address });
    await untilNewestIs({ state: 'failed', error: 'The message has no header List-Unsubscribe.' });
    const url = `<mailto:u@shop.example>, <http://127.0.0.1:${receiver.port}/u?x=1>`;
    await app.send({ ...HELLO, to: inbox.address, headers: unsubscribing(url) });
    await expect.poll(() => receiver.requests).toHaveLength(1);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(receiver.requests[0]).toMatchObject({ path: '/u?x=1', method: 'POST', headers });
    expect(receiver.requests[0]?.body.toString()).toBe('List-Unsubscribe=One-Click');
  });

  it('a reply goes into an inbox of this server as a mail program writes it, and both are one thread', async () => {
    const support = await app.createInbox();
    await app.send({
      ...{ from: `Shop <${support.address}>`, to: inbox.address, cc: 'else@shop.example' },
      ...{ subject: 'Re: AW: Ticket 7', text: 'How can we help?\n> quoted' },
      ...{ messageId: '<t7@shop.example>', references: ['<t6@shop.example>'] },
    });
    const attachments = [{ filename: 'log.txt', content: 'aGVsbG8=' }];
    const { made, full } = await replyTo(support, { text: 'It works now.', attachments });
    const pending = { type: 'reply', to: [support.address], subject: 'Re: Ticket 7', state: 'pending' };
    expect(made).toMatchObject({ status: 201, body: { ...pending, text: 'It works now.' } });
    expect(full).toMatchObject({
      from: { address: inbox.address },
      inReplyTo: expect.stringContaining('t7@shop.example'),
      references: [expect.stringContaining('t6@'), expect.stringContaining('t7@')],
      attachments: [{ filename: 'log.txt', size: 5 }],
    });
    const text = /^It works now\.\r?\n\r?\nOn .* Shop <.*> wrote:\r?\n\r?\n> How can we help\?\r?\n>> quoted/;
    expect(full.text).toMatch(text);
    await untilNewestIs({ state: 'delivered', attempts: 1 });
    const entries = [{ kind: 'received' }, { kind: 'sent' }];
    const { threads } = (await app.api('GET', at('/threads'))).body;
    expect(threads).toMatchObject([{ subject: 'Ticket 7', entries }]);
  });

  it.each([
    ['gmail', /On \w{3}, \w{3} \d+, \d{4} at .* wrote:/, 'gmail_quote'],
    ['outlook', /_{32}\r?\nFrom: .*\r?\nSent: .*\r?\nTo: .*\r?\nSubject: Ticket/, 'divRplyFwdMsg'],
    ['apple', /> On .* wrote:\r?\n> \r?\n> How/, 'type="cite"'],
  ])('quotes in the style of %s', async (style, text, html) => {
    const support = await app.createInbox();
    const mail = { from: support.address, to: inbox.address, subject: 'Ticket' };
    await app.send({ ...mail, text: 'How?', html: '<p>How?</p>' });
    const { full } = await replyTo(support, { text: 'Fine <b>', style });
    expect(full.text).toMatch(text);
    for (const part of [html, 'Fine &lt;b&gt;', '<p>How?</p>']) expect(full.html).toContain(part);
  });

  it('a reply to a mail of a provider is posted in its inbound format', async () => {
    await useWebhook({ inboundUrl: `http://127.0.0.1:${receiver.port}/inbound` });
    await post(app, inbox.address);
    const [received] = await messages(10);
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }];
    const body = { text: 'Yes.', attachments };
    const made = await app.api('POST', at(`/messages/${received.id}/reply`), { body });
    expect(made.body).toMatchObject({ via: 'mailgun', to: ['app@shop.example'] });
    await expect.poll(() => receiver.requests).toHaveLength(1);
    const people = { from: { address: inbox.address }, to: [{ address: 'app@shop.example' }] };
    const said = { subject: 'Re: Your order', reply: 'Yes.', rcptTo: 'app@shop.example', files: ['a.txt'] };
    expect(bodies()).toMatchObject([{ ...people, ...said }]);
  });

  it('a slow endpoint of one account delays neither its scheduled mail nor other accounts', async () => {
    const slow = await startHttp(() => undefined);
    const hook = `http://127.0.0.1:${slow.port}/`;
    await app.api('PUT', '/v1/providers/mailgun', { as: stranger, body: { webhookUrl: hook } });
    const theirs = (await app.api('POST', '/v1/inboxes', { as: stranger })).body;
    const rules = [{ outcome: 'bounce', times: 30 }];
    await app.api('PUT', `/v1/inboxes/${theirs.id}/outcomes`, { as: stranger, body: { rules } });
    for (let n = 0; n < 30; n++) await post(app, theirs.address, {}, stranger);
    await expect.poll(() => slow.requests.length).toBeGreaterThanOrEqual(8);
    await useWebhook();
    await setRules([{ outcome: 'bounce' }]);
    await post(app, inbox.address);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    await post(app, theirs.address, { sendAt: Date.now() + 100 }, stranger);
    await expect.poll(() => app.messages(theirs, '?limit=200', stranger)).toHaveLength(31);
    expect(slow.requests.length).toBeLessThanOrEqual(8 * engine.nodes);
    await slow.close();
  });

  it('reaches no address that is not public, whatever a mail or a setting names', async () => {
    await setRules([{ outcome: 'unsubscribe', times: 3 }]);
    const hosts = ['10.0.0.1', '169.254.169.254', '[::ffff:10.1.2.3]'];
    for (const host of hosts)
      await app.send({ ...HELLO, to: inbox.address, headers: unsubscribing(`<http://${host}/u>`) });
    const refused = { attempts: 1, error: expect.stringMatching(/not (?:public|allowed)/) };
    await expect.poll(sent).toMatchObject(hosts.map(() => refused));
  });
});
