import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hello, mailTo } from '../smtp/start-smtp.ts';
import { mailTo as newMailTo } from '../store/builders.ts';
import type { Body } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useFolder } from '../support/folder.ts';
import { rcpt, recipientsOf, sendMail } from '../support/mail/smtp-mail.ts';
import { plainResponse, playSmtp } from '../support/smtp-script.ts';
import { appOfTest, startApp, TEST_KEY, type TestApp, useApp } from '../support/start-app.ts';
import { withReadings } from '../support/store-on.ts';

const OK = '250 2.1.5 Recipient OK';
const UNKNOWN = '550 5.1.1 No such inbox here';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const FOREVER = '9999-12-31T23:59:59.999Z';

const sinksOf = async (app: TestApp): Promise<Body[]> =>
  (await app.api('GET', '/v1/inboxes?label.mayfly=sink')).body.inboxes;
const sinkOf = async (app: TestApp): Promise<Body> => (await sinksOf(app))[0];

describe('the label of the sink', () => {
  const app = useApp({ MAYFLY_SINK: 'on' });

  it('is refused for another inbox', async () => {
    const { status, body } = await app.api('POST', '/v1/inboxes', { body: { labels: { mayfly: 'sink' } } });
    expect([status, body.errors?.[0]?.path]).toEqual([400, '/labels/mayfly']);
    expect((await app.api('POST', '/v1/inboxes', { body: { labels: { mayfly: 'x' } } })).status).toBe(201);
  });

  it('is left out when a recording of the sink is imported, so that it still finds the sink alone', async () => {
    const sink = await sinkOf(app);
    const { bytes } = await app.api('GET', `/v1/inboxes/${sink.id}/export`);
    const headers = { 'content-type': 'application/zip' };
    const imported = await app.api('POST', '/v1/inboxes/import', { headers, body: bytes });
    expect([imported.status, imported.body.labels]).toEqual([201, {}]);
    expect((await sinksOf(app)).map(({ id }) => id)).toEqual([sink.id]);
  });
});

describe('with the sink on', () => {
  const clock = new FakeClock();
  const app = useApp({ MAYFLY_SINK: 'on', MAYFLY_SIGNUP_PLAN: 'free' }, { clock });
  let sink: Body;
  let strangerKey: string;
  beforeAll(async () => {
    sink = await sinkOf(app);
    await clock.leap(1);
    strangerKey = await app.newAccount();
  });
  afterEach(async () => {
    await app.api('DELETE', `/v1/inboxes/${sink.id}/messages`);
    await clock.leap(40 * DAY);
  });

  const send = (...recipients: string[]) => sendMail(app.smtp.port, recipients);
  const ask = (address: string) => rcpt(app.smtp.port, address);
  const wait = async ({ id }: Body, as: string): Promise<Body> => {
    const body = { match: { subject: 'never sent' }, timeoutSeconds: 0 };
    return (await app.api('POST', `/v1/inboxes/${id}/wait`, { as, body })).body.explanation;
  };

  it('takes every mail to any domain that no inbox takes, and meets its fault rules there', async () => {
    const body = { rules: [{ at: 'rcpt', reply: { code: 451, text: 'Busy' } }] };
    await app.api('PUT', `/v1/inboxes/${sink.id}/faults`, { body });
    expect(await ask('any@example.com')).toBe('451 Busy');
    const elsewhere = ['someone@example.com', 'Some.One+Tag@sub.Example.COM', '"quoted local"@example.org'];
    const odd = ['x@localhost', 'x@[127.0.0.1]', 'x@not-a-domain.invalid'];
    const here = ['nobody', '*', 'abuse', 'postmaster'].map((local) => `${local}@mayfly.test`);
    const below = ['x@deep.sub.mayfly.test', 'x@sub.mayfly.test'];
    const postmasters = ['postmaster@example.com', 'PostMaster'];
    const recipients = [...elsewhere, ...odd, ...here, ...below, ...postmasters, sink.address];
    for (const recipient of recipients)
      expect([recipient, await send(recipient)]).toMatchObject([recipient, { replies: [OK] }]);
    expect(await recipientsOf(app, sink)).toEqual(recipients.toReversed().map((one) => [one]));
  });

  it('stores a mail to several such recipients once, and shows it beside an inbox that takes it, too', async () => {
    const inbox = await app.createInbox({ localPart: 'known' });
    const catchAll: Body = await app.createInbox({ catchAll: true });
    const recipients = ['a@example.com', inbox.address, `any@${catchAll.domain}`, 'b@example.net'];
    expect((await send(...recipients)).replies).toEqual(recipients.map(() => OK));
    expect(await recipientsOf(app, sink)).toEqual([['a@example.com', 'b@example.net']]);
    expect(await recipientsOf(app, inbox)).toEqual([[inbox.address]]);
    expect(await recipientsOf(app, catchAll)).toEqual([[`any@${catchAll.domain}`]]);
  });

  it('refuses the address of an inbox that ended for seven days, and takes its mail then', async () => {
    const deleted = await app.createInbox();
    const expired = await app.createInbox();
    const catchAll: Body = await app.createInbox({ catchAll: true });
    await app.api('DELETE', `/v1/inboxes/${deleted.id}`);
    expect((await app.api('POST', `/v1/inboxes/${expired.id}/expire`)).status).toBe(204);
    await app.api('POST', `/v1/inboxes/${catchAll.id}/expire`);
    const ended = [deleted.address, expired.address.toUpperCase(), `x+y@${catchAll.domain}`];
    for (const address of ended) expect([address, await ask(address)]).toEqual([address, UNKNOWN]);
    await clock.leap(7 * DAY - 1);
    for (const address of ended) expect([address, await ask(address)]).toEqual([address, UNKNOWN]);
    await clock.leap(1);
    for (const address of ended) expect([address, await ask(address)]).toEqual([address, OK]);
  });

  it('takes mail for a generated address until its inbox is created', async () => {
    const { address } = (await app.api('POST', '/v1/addresses/generate')).body;
    await send(address);
    const inbox = await app.createInbox({ address });
    await send(address);
    expect(await recipientsOf(app, sink)).toEqual([[address]]);
    expect(await recipientsOf(app, inbox)).toEqual([[address]]);
  });

  it('is read like any other inbox of the first account, and by no other account', async () => {
    await send('ada@example.com', 'grace@example.com');
    const listed = (await app.api('GET', '/v1/inboxes')).body.inboxes;
    expect(listed.find(({ id }: Body) => id === sink.id)).toMatchObject({
      ...{ address: 'sink@mayfly.test', labels: { mayfly: 'sink' }, catchAll: true, eviction: 'oldest' },
      ...{ expiresAt: FOREVER, maxExpiresAt: FOREVER, ttlMinutes: 0, messageCount: 1, full: false },
    });
    expect((await app.api('GET', `/v1/inboxes/${sink.id}`)).body).toMatchObject({ messageCount: 1 });
    expect(await app.createInbox()).toMatchObject({ eviction: 'none' });
    expect(await app.messages(sink, '?rcptTo=GRACE@')).toHaveLength(1);
    expect(await app.messages(sink, '?rcptTo=nobody')).toHaveLength(0);
    const wait = { body: { match: { rcptTo: 'ada@' }, timeoutSeconds: 0 } };
    expect((await app.api('POST', `/v1/inboxes/${sink.id}/wait`, wait)).body.matched).toBe(true);
    for (const path of ['', '/messages', '/events'])
      expect((await app.api('GET', `/v1/inboxes/${sink.id}${path}`, { as: strangerKey })).status).toBe(404);
    const theirs = await app.api('GET', '/v1/inboxes?label.mayfly=sink', { as: strangerKey });
    expect(theirs.body.inboxes).toEqual([]);
  });

  it('cannot be shortened, expired or deleted, by itself or by its label, but emptied', async () => {
    const path = `/v1/inboxes/${sink.id}`;
    await send('x@example.com');
    const attempts = [
      await app.api('PATCH', path, { body: { ttlMinutes: 5 } }),
      await app.api('POST', `${path}/expire`),
      await app.api('DELETE', path),
    ];
    for (const { status, body } of attempts) {
      expect([status, body.code]).toEqual([409, 'permanent_inbox']);
      expect(body.detail).toContain('MAYFLY_SINK=off');
    }
    expect((await app.api('DELETE', '/v1/inboxes?label.mayfly=sink')).body).toEqual({ deleted: 0 });
    expect(await sinkOf(app)).toMatchObject({ id: sink.id, expiresAt: FOREVER, messageCount: 1 });
    expect((await app.api('DELETE', `${path}/messages`)).status).toBe(204);
    expect(await app.messages(sink)).toEqual([]);
    await send('y@example.com');
    expect(await recipientsOf(app, sink)).toEqual([['y@example.com']]);
  });

  it('takes mail that its owner sends with the sink’s credentials, whatever the recipient', async () => {
    const inbox = await app.createInbox();
    const auth = `AUTH PLAIN ${plainResponse(sink.id, TEST_KEY)} → 235`;
    await playSmtp(app.smtp.port, [...hello, auth, ...mailTo(inbox.address)]);
    expect(await recipientsOf(app, sink)).toEqual([[inbox.address]]);
  });

  describe('the explained wait', () => {
    it('names mail for a mistyped address as a near miss that the sink received', async () => {
      const inbox = await app.createInbox({ localPart: 'signup' });
      await send('unrelated@mayfly.test', 'sing-up@mayfly.test');
      await send('sing-up+x@mayfly.test');
      const miss = { address: 'sing-up@mayfly.test', outcome: 'received', times: 2 };
      expect((await wait(inbox, TEST_KEY)).nearMisses).toMatchObject([{ ...miss, inboxId: sink.id }]);
      // The read token may know of the mail, as of one that was refused, but of no other inbox.
      expect((await wait(inbox, inbox.token)).nearMisses).toMatchObject([{ ...miss, inboxId: null }]);
    });

    it('tells every account of its own mistyped addresses, and of no others’', async () => {
      const inbox = (await app.api('POST', '/v1/inboxes', { as: strangerKey, body: { localPart: 'theirs' } }))
        .body;
      await send('their@mayfly.test', 'another@mayfly.test', 'theirs@private.example');
      expect((await wait(inbox, strangerKey)).nearMisses).toMatchObject([
        { address: 'their@mayfly.test', outcome: 'received', inboxId: null, times: 1 },
      ]);
    });

    it('of the sink itself names no near misses', async () => {
      await app.createInbox({ localPart: 'sinks' });
      await send('sinks@mayfly.test', 'sunk@mayfly.test');
      expect((await wait(sink, TEST_KEY)).nearMisses).toEqual([]);
    });
  });
});

describe('the sink of a data folder', () => {
  const folder = useFolder();
  const start = (sink: string): Promise<TestApp> => startApp({ MAYFLY_SINK: sink }, {}, folder());

  it('is there with its mail after restarts, once; turned off it takes none and may be deleted', async () => {
    let app = await start('on');
    const { id } = await sinkOf(app);
    await sendMail(app.smtp.port, ['before@example.com']);
    await app.stop();

    app = await start('on');
    expect(await sinksOf(app)).toMatchObject([{ id, messageCount: 1 }]);
    await app.stop();

    app = await start('off');
    for (const address of ['during@example.com', 'nobody@mayfly.test', 'postmaster'])
      expect([address, await rcpt(app.smtp.port, address)]).toEqual([address, UNKNOWN]);
    expect(await sinksOf(app)).toMatchObject([{ id, messageCount: 1 }]);
    expect((await app.api('DELETE', `/v1/inboxes/${id}`)).status).toBe(204);
    expect(await sinksOf(app)).toEqual([]);
    await app.stop();

    app = await start('on');
    const [next, ...others] = await sinksOf(app);
    expect(others).toEqual([]);
    expect(next).toMatchObject({ address: 'sink@mayfly.test', messageCount: 0 });
    expect(next.id).not.toBe(id);
    expect(await rcpt(app.smtp.port, 'after@example.com')).toBe(OK);
    await app.stop();
  });
});

it('the sink keeps the newest 10,000 messages and its count exact while many senders send at once', async () => {
  const app = await appOfTest({ MAYFLY_SINK: 'on' });
  const sink = await sinkOf(app);
  const store = withReadings(await app.openStore());
  const accountId = (await store.accounts.findFirst())?.id ?? '';
  const target = [{ id: sink.id, accountId, address: 'x@example.com' }];
  const old = () => newMailTo(target, { subject: 'old', maxMessages: 10_000 });
  for (let batch = 0; batch < 20; batch++)
    await store.messages.addBatch(Array.from({ length: 500 }, old), Date.now());

  const full = { messageCount: 10_000, full: false };
  expect(await sinkOf(app)).toMatchObject(full);
  const sent = Array.from({ length: 80 }, (_, n) => `new ${n}`);
  const left = [...sent];
  const sender = async () => {
    for (let subject = left.pop(); subject; subject = left.pop()) {
      const { end } = await sendMail(app.smtp.port, ['a@example.com'], `Subject: ${subject}\n\nx`);
      expect(end).toMatch(/^250/);
      expect(await sinkOf(app)).toMatchObject(full);
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  const newest = (await app.messages(sink, '?limit=81')).map(({ subject }) => subject);
  expect(newest.pop()).toBe('old');
  expect(newest.toSorted()).toEqual(sent.toSorted());
  const all = { after: 0, before: Number.POSITIVE_INFINITY, limit: 20_000 };
  expect(await store.messages.listRows(sink.id, all, Date.now())).toHaveLength(10_000);
  await store.close();
});
