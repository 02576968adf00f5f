import { Resend } from 'resend';
import { beforeAll, expect, it } from 'vitest';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY } from '../support/start-app.ts';
import { useReceiver } from '../webhooks/receivers.ts';
import { newInbox, resendSdk } from './sdks.ts';

const FROM = 'Shop <shop@acme.example>';
const mailTo = ({ address: to }: { address: string }, subject = 's') => ({
  ...{ from: FROM, to, subject, text: 't' },
});

describeOnEngines('resend, unchanged but for its address', (engine) => {
  const servers = useServers(engine, { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' });
  const app = servers.first();
  const receiver = useReceiver();
  const as = (key: string, url = app.url) => resendSdk(url, key);
  let resend: Resend;
  beforeAll(() => {
    resend = as(TEST_KEY);
  });

  it('sends a copy, which all see, and keeps fields that it does not know', async () => {
    const [to, cc] = [await newInbox(app), await newInbox(app)];
    const headers = { 'X-Entity-Ref-ID': '123', 'List-Unsubscribe': '<https://acme.example/u>' };
    const mail = { from: FROM, to: to.address, cc: cc.address, subject: 'Hi', text: 'Hi', headers };
    expect((await resend.emails.send(mail)).error).toBeNull();
    expect(await to.only()).toMatchObject({ cc: [{ name: '', address: cc.address }] });
    expect(await cc.raw()).toContain('X-Entity-Ref-ID: 123');
  });

  it('shows what was sent by its id, and in a list with the newest first', async () => {
    const inbox = await newInbox(app);
    const ids: string[] = [];
    for (const subject of ['one', 'two', 'three']) {
      const { data } = await resend.emails.send(mailTo(inbox, subject));
      ids.push(data?.id ?? '');
    }
    const { data } = await resend.emails.get(ids[0] ?? '');
    expect(data).toMatchObject({
      ...{ object: 'email', id: ids[0], subject: 'one', text: 't', html: null, from: FROM },
      ...{ to: [inbox.address], cc: [], last_event: 'delivered', scheduled_at: null },
    });
    expect(data?.message_id).toBe((await inbox.messages()).at(-1).rfcMessageId);
    const page = await resend.emails.list({ limit: 2 });
    expect(page.data?.has_more).toBe(true);
    expect(page.data?.data).toHaveLength(2);
    const unknown = await resend.emails.get('00000000-0000-4000-8000-000000000000');
    expect(unknown.error).toMatchObject({ name: 'not_found', statusCode: 404, message: 'Email not found' });
  });

  it('refuses what Resend refuses, by its names', async () => {
    const good = mailTo(await newInbox(app));
    const invalid = { statusCode: 422, name: 'validation_error' };
    const missing = { statusCode: 422, name: 'missing_required_field' };
    const noFile = { statusCode: 422, name: 'invalid_attachment' };
    const noContent = { ...noFile, message: expect.stringContaining('`content`') };
    const tooMany = { ...invalid, statusCode: 400, message: expect.stringContaining('1001') };
    const wrong: [change: object, refusal: object][] = [
      [{ from: undefined }, { ...missing, message: 'Missing `from` field.' }],
      [{ to: undefined }, { ...missing, message: 'Missing `to` field.' }],
      [{ subject: undefined }, { ...missing, message: 'Missing `subject` field.' }],
      [{ text: undefined }, missing],
      [{ to: 'ada' }, invalid],
      [{ to: 'a@b@c' }, invalid],
      [{ to: 'Ada <ada>' }, invalid],
      [{ to: 'a@b.c\r\nBcc: x@y.z' }, invalid],
      [{ to: 'x'.repeat(5_000) }, invalid],
      [{ to: 'nobody-at-all@mayfly.example.test' }, invalid],
      [{ to: Array(51).fill(good.to) }, invalid],
      [{ headers: { 'X-A': 'b\r\nBcc: eve@example.com' } }, invalid],
      [{ tags: [{ name: 'a b', value: 'c' }] }, invalid],
      [{ scheduledAt: 'someday' }, invalid],
      [{ scheduledAt: 'in 31 days' }, invalid],
      [{ attachments: [{ filename: 'a', content: '%%%' }] }, noFile],
      [{ attachments: [{ filename: 'a', path: '/etc/passwd' }] }, noContent],
      [{ attachments: Array(1_001).fill({ filename: 'a', content: '' }) }, tooMany],
    ];
    for (const [change, refusal] of wrong) {
      const { error } = await resend.emails.send({ ...good, ...change } as never);
      const expected = { message: expect.any(String), ...refusal };
      expect(error, JSON.stringify(change).slice(0, 100)).toEqual(expected);
    }
  });

  it('answers a missing key in the shape of Resend', async () => {
    const bare = await app.api('POST', '/providers/resend/emails', { as: null, body: {} });
    expect(bare).toMatchObject({ status: 401, body: { name: 'missing_api_key' } });
  });

  it.each([
    ['resend/', 'one that ends with "/providers/resend", without a slash'],
    ['resend/v1', 'one that ends with "/providers/resend"'],
    ['resent', 'The address of a provider begins with /providers/'],
  ])('says how to correct the base URL /providers/%s', async (base, advice) => {
    const wrong = new Resend(TEST_KEY, { baseUrl: `${app.url}/providers/${base}` });
    const { error } = await wrong.emails.send(mailTo({ address: 'a@example.com' }));
    expect(JSON.stringify(error)).toContain(JSON.stringify(advice).slice(1, -1));
  });

  it('sends long headers, although events do not repeat them', async () => {
    const inbox = await newInbox(app);
    const headers = { 'X-Long': 'x '.repeat(50_000), 'X-Short': 'y' };
    expect((await resend.emails.send({ ...mailTo(inbox), headers })).error).toBeNull();
    await inbox.only();
  });

  it('lists no mail that met a rate limit', async () => {
    const inbox = await newInbox(app);
    await inbox.limitOnce('Too many requests');
    expect((await resend.emails.send(mailTo(inbox))).error).not.toBeNull();
    const { data } = await resend.emails.list({ limit: 100 });
    expect(data?.data.map(({ to }) => to[0])).not.toContain(inbox.address);
  });

  it('answers a repeated Idempotency-Key as the first time, and refuses it for another mail', async () => {
    const inbox = await newInbox(app);
    const send = (subject: string, idempotencyKey: string) =>
      resend.emails.send(mailTo(inbox, subject), { idempotencyKey });
    const second = as(TEST_KEY, servers.last().url);
    const both = await Promise.all([
      send('first', 'key-1'),
      second.emails.send(mailTo(inbox, 'first'), { idempotencyKey: 'key-1' }),
    ]);
    const ids = both.flatMap(({ data }) => (data ? [data.id] : []));
    for (const { error } of both) if (error) expect(error.name).toBe('concurrent_idempotent_requests');
    const again = await send('first', 'key-1');
    expect(new Set([...ids, again.data?.id]).size).toBe(1);
    const refusal = { statusCode: 409, name: 'invalid_idempotent_request' };
    expect((await send('second', 'key-1')).error).toMatchObject(refusal);
    await inbox.only();
    expect((await send('first', 'x'.repeat(257))).error?.name).toBe('invalid_idempotency_key');
    // What was refused can be tried again with its key.
    const lost = mailTo({ address: 'a@b' }, '');
    expect((await resend.emails.send(lost, { idempotencyKey: 'key-2' })).error).not.toBeNull();
    expect((await send('third', 'key-2')).error).toBeNull();
  });

  it('sends a batch, all or nothing unless it is permissive', async () => {
    const inbox = await newInbox(app);
    const good = (subject: string) => mailTo(inbox, subject);
    const bad = { ...good('bad'), to: 'nowhere' };
    const all = await resend.batch.send([good('one'), good('two')]);
    expect(all.data?.data).toHaveLength(2);
    const strict = await resend.batch.send([good('three'), bad]);
    expect(strict.error).toMatchObject({ statusCode: 422, name: 'validation_error' });
    expect(await inbox.messages()).toHaveLength(2);
    const mixed = await resend.batch.send([bad, good('four')], { batchValidation: 'permissive' });
    const errors = [{ index: 0, message: expect.stringContaining('`to`') }];
    expect(mixed.data).toMatchObject({ data: [{ id: expect.any(String) }], errors });
    expect(await inbox.messages()).toHaveLength(3);
    expect((await resend.batch.send([])).error?.name).toBe('validation_error');
    expect((await resend.batch.send(Array(101).fill(good('many')))).error?.name).toBe('validation_error');
  });

  it('sends published templates with their variables and fallbacks', async () => {
    const inbox = await newInbox(app);
    const { data: created } = await resend.templates.create({
      ...{ name: 'order', alias: 'order', from: FROM, subject: 'Order {{{NUMBER}}}' },
      html: '<p>{{{ITEM}}} for {{{PRICE}}}</p>',
      variables: [
        { key: 'ITEM', type: 'string', fallbackValue: 'a thing' },
        { key: 'PRICE', type: 'number' },
      ],
    });
    const id = created?.id ?? '';
    const send = (variables: Record<string, string | number>, template = 'order') =>
      resend.emails.send({ to: inbox.address, template: { id: template, variables } });
    expect((await send({ NUMBER: '7', PRICE: 3 })).error?.message).toContain('not published');
    await resend.templates.publish(id);
    expect((await send({ NUMBER: '7' })).error?.message).toContain('PRICE');
    expect((await send({ NUMBER: '7', PRICE: 'dear' })).error?.message).toContain('number');
    expect((await send({}, 'unknown')).error).toMatchObject({ name: 'not_found', statusCode: 404 });
    expect((await send({ NUMBER: '$&', PRICE: 3 })).error).toBeNull();
    const html = expect.stringContaining('<p>a thing for 3</p>');
    expect(await inbox.only()).toMatchObject({ subject: 'Order $&', html, from: { name: 'Shop' } });
    expect((await resend.templates.get('order')).data).toMatchObject({ id, status: 'published' });
    await resend.templates.update(id, { subject: 'Changed {{{NUMBER}}}' });
    expect((await resend.templates.get(id)).data?.has_unpublished_versions).toBe(true);
    expect((await resend.templates.list()).data?.data).toMatchObject([{ id, alias: 'order' }]);
    expect((await resend.templates.remove(id)).data).toMatchObject({ deleted: true });
    expect((await resend.templates.get(id)).error?.name).toBe('not_found');
  });

  it('refuses a template that writes more than a request may', async () => {
    const inbox = await newInbox(app);
    const variables = [{ key: 'A', type: 'string' as const }];
    const made = await resend.templates.create({ name: 'big', html: '{{{A}}}'.repeat(50_000), variables });
    const id = made.data?.id ?? '';
    await resend.templates.publish(id);
    const send = async (A: string) => {
      const mail = { from: FROM, to: inbox.address, subject: 'Hi', template: { id, variables: { A } } };
      return (await resend.emails.send(mail)).error;
    };
    const message = expect.stringContaining('too large together');
    expect(await send('x'.repeat(1_900))).toMatchObject({ statusCode: 422, message });
    expect(await send('x')).toBeNull();
  });

  it.each([
    ['bounce', 'bounced'],
    ['complaint', 'complained'],
    ['delay', 'delivery_delayed'],
  ])('shows what became of a mail after the outcome %s, also to a read token', async (outcome, event) => {
    const inbox = await newInbox(app);
    const rules = [{ outcome, times: 2 }];
    await app.api('PUT', `/v1/inboxes/${inbox.id}/outcomes`, { body: { rules } });
    for (const client of [resend, as(inbox.token)]) {
      const { data } = await client.emails.send(mailTo(inbox));
      const shown = async () => (await client.emails.get(data?.id ?? '')).data?.last_event;
      await expect.poll(shown).toBe(event);
    }
  });

  it('holds a scheduled mail, which can be moved, cancelled, and brought by advancing the inbox', async () => {
    const inbox = await newInbox(app);
    const send = async (subject: string) => {
      const mail = { ...mailTo(inbox, subject), scheduledAt: 'in 3 days' };
      return (await resend.emails.send(mail)).data?.id ?? '';
    };
    const [kept, moved, gone] = [await send('kept'), await send('moved'), await send('gone')];
    const shown = async (id: string) => (await resend.emails.get(id)).data?.last_event;
    const advance = (days: number) =>
      app.api('POST', `/v1/inboxes/${inbox.id}/advance`, { body: { minutes: days * 24 * 60 } });
    const subjects = async () => (await inbox.messages()).map(({ subject }) => subject);
    expect(await shown(kept)).toBe('scheduled');
    expect((await resend.emails.update({ id: moved, scheduledAt: 'in 20 days' })).error).toBeNull();
    expect((await resend.emails.cancel(gone)).error).toBeNull();
    expect(await shown(gone)).toBe('canceled');
    expect((await resend.emails.cancel(gone)).error).toMatchObject({ name: 'validation_error' });
    expect(await inbox.messages()).toEqual([]);
    await advance(4);
    await expect.poll(subjects).toEqual(['kept']);
    expect(await shown(kept)).toBe('delivered');
    expect((await resend.emails.update({ id: kept, scheduledAt: 'in 5 days' })).error).not.toBeNull();
    await advance(20);
    await expect.poll(subjects).toEqual(['moved', 'kept']);
  });

  it('posts a reply as email.received, whose text and attachments the application fetches', async () => {
    const hook = `http://127.0.0.1:${receiver.port}/`;
    const settings = { webhookUrl: hook, inboundUrl: hook };
    const { body: set } = await app.api('PUT', '/v1/providers/resend', { body: settings });
    const inbox = await newInbox(app);
    await resend.emails.send(mailTo(inbox, 'Your ticket'));
    const { id } = await inbox.only();
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: 'aGVsbG8=' }];
    const body = { text: 'It works now.', attachments };
    const replied = await app.api('POST', `/v1/inboxes/${inbox.id}/messages/${id}/reply`, { body });
    expect(replied.status).toBe(201);
    await expect.poll(() => receiver.requests).toHaveLength(1);
    const [posted] = receiver.requests;
    const header = (name: string) => posted?.headers[`svix-${name}`] ?? '';
    const event = resend.webhooks.verify({
      payload: String(posted?.body),
      headers: { id: header('id'), timestamp: header('timestamp'), signature: header('signature') },
      webhookSecret: set.verification.signingSecret,
    });
    expect(event).toMatchObject({
      type: 'email.received',
      data: {
        ...{ from: expect.stringContaining(inbox.address), received_for: ['shop@acme.example'] },
        ...{ subject: 'Re: Your ticket', cc: [], attachments: [{ id: '1', filename: 'a.txt' }] },
      },
    });
    const { email_id: emailId } = event.data as { email_id: string };
    const { data: mail } = await resend.emails.receiving.get(emailId);
    const text = expect.stringMatching(/^It works now\.[\s\S]*> t/);
    const file = {
      filename: 'a.txt',
      content_type: 'text/plain',
      content_disposition: 'attachment',
      size: 5,
    };
    expect(mail).toMatchObject({ text, attachments: [file] });
    const { data: listed } = await resend.emails.receiving.attachments.list({ emailId });
    const link = listed?.data[0]?.download_url ?? '';
    expect(await (await fetch(link)).text()).toBe('hello');
    expect((await resend.emails.receiving.get('out_0')).error?.name).toBe('not_found');
    expect((await as(inbox.token).emails.receiving.get(emailId)).data?.subject).toBe('Re: Your ticket');
    const other = as((await newInbox(app)).token);
    expect((await other.emails.receiving.get(emailId)).error?.name).toBe('not_found');
  });

  it('takes a read token as key: that inbox gets all mail, and no other inbox is seen', async () => {
    const [mine, other] = [await newInbox(app), await newInbox(app)];
    const { data } = await resend.emails.send(mailTo(other, 'other'));
    const client = as(mine.token);
    const sent = await client.emails.send(mailTo({ address: 'ada@gmail.com' }, 'Hi'));
    expect(sent.error).toBeNull();
    expect(await mine.only()).toMatchObject({ subject: 'Hi' });
    expect((await client.emails.get(data?.id ?? '')).error?.name).toBe('not_found');
    expect((await client.emails.list()).data?.data.map(({ subject }) => subject)).toEqual(['Hi']);
  });
});
