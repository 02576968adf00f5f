import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rcpt, recipientsOf, sendMail } from '../support/mail/smtp-mail.ts';
import { startApp, TEST_KEY } from '../support/start-app.ts';

const OK = '250 2.1.5 Recipient OK';
const UNKNOWN = '550 5.1.1 No such inbox here';
const FULL = '452 4.2.2 Inbox is full';
const DAY = 24 * 60 * 60_000;
/** Longer than the largest lifetime in these tests and the quarantine after it. */
const QUARANTINE = 40 * DAY;

const clock = new FakeClock();
const app = await startApp(
  {
    MAYFLY_SIGNUP_PLAN: 'unlimited',
    MAYFLY_DOMAINS: 'mayfly.test,second.test',
    MAYFLY_PLANS: JSON.stringify({ unlimited: { maxMessagesPerInbox: 5 } }),
  },
  { clock },
);
/** Beside the running server, as the operator's command line works. */
const store = await app.openStore();
const ownId = (await store.accounts.findFirst())?.id ?? '';
const strangerKey = await app.newAccount();
afterAll(async () => {
  await store.close();
  await app.stop();
});
/** Every case begins with no inbox, no quarantine and the own domain ours.test. */
afterEach(async () => {
  await clock.leap(QUARANTINE);
  await give('ours.test', ownId);
});

const give = async (domain: string, accountId: string): Promise<void> => {
  await store.domains.remove(domain);
  expect(await store.domains.add({ domain, accountId, createdAt: clock.now() })).toBe(true);
};
await give('ours.test', ownId);
const create = (body: object, as = TEST_KEY) => app.api('POST', '/v1/inboxes', { body, as });
const catchAll = async (body: object = {}): Promise<Body> =>
  app.createInbox({ ...body, catchAll: true }) as Promise<Body>;
const send = (...recipients: string[]) => sendMail(app.smtp.port, recipients);
const ask = (address: string) => rcpt(app.smtp.port, address);
const wait = async ({ id }: Body, body: object, as = TEST_KEY): Promise<Body> =>
  (await app.api('POST', `/v1/inboxes/${id}/wait`, { as, body: { timeoutSeconds: 0, ...body } })).body;

describe('a catch-all inbox on a sub-domain of its own', () => {
  it('has a usable address with the local part inbox, and shows everywhere that it is a catch-all inbox', async () => {
    const inbox = await catchAll({ labels: { run: '1' } });
    expect(inbox.address).toMatch(/^inbox@[a-z]+-[a-z]+\d{9}\.mayfly\.test$/);
    expect(inbox).toMatchObject({ catchAll: true, domain: inbox.address.slice('inbox@'.length) });
    const { body: fetched } = await app.api('GET', `/v1/inboxes/${inbox.id}`);
    const { body: listed } = await app.api('GET', '/v1/inboxes?label.run=1');
    const { body: found } = await app.api('GET', `/v1/inboxes?address=${inbox.address}`);
    const { body: patched } = await app.api('PATCH', `/v1/inboxes/${inbox.id}`, { body: { ttlMinutes: 9 } });
    for (const shown of [fetched, listed.inboxes[0], found.inboxes[0], patched])
      expect(shown).toMatchObject({ id: inbox.id, address: inbox.address, catchAll: true });
    expect(await app.createInbox()).toMatchObject({ catchAll: false });
    const plain = { address: 'plain@mayfly.test', catchAll: false };
    expect((await create({ catchAll: false, localPart: 'plain' })).body).toMatchObject(plain);
  });

  it('takes mail for every local part, in any case and with any tag, and keeps the recipients as given', async () => {
    const inbox = await catchAll();
    const { domain } = inbox;
    const plain = ['signup', '"quoted local"', '*', 'postmaster'].map((local) => `${local}@${domain}`);
    const recipients = [...plain, `Sign.Up+Tag@${domain.toUpperCase()}`];
    for (const recipient of recipients)
      expect(await send(recipient)).toMatchObject({ replies: [OK], end: expect.stringMatching(/^250/) });
    expect(await recipientsOf(app, inbox)).toEqual(recipients.toReversed().map((recipient) => [recipient]));
  });

  it('shows a mail to several of its addresses once, with all of them, and meets its fault rules at each', async () => {
    const inbox = await catchAll();
    const body = { rules: [{ at: 'rcpt', reply: { code: 451, text: 'Busy' } }] };
    await app.api('PUT', `/v1/inboxes/${inbox.id}/faults`, { body });
    expect(await ask(`any@${inbox.domain}`)).toBe('451 Busy');
    const recipients = [`one@${inbox.domain}`, `two+x@${inbox.domain}`, inbox.address];
    expect((await send(...recipients)).replies).toEqual([OK, OK, OK]);
    expect(await recipientsOf(app, inbox)).toEqual([recipients]);
  });

  it('takes no mail for other sub-domains, above or below', async () => {
    const { domain } = await catchAll();
    const others = [`x@a.${domain}`, `x@other-${domain}`, 'x@mayfly.test', `x@${domain}.test`];
    for (const other of others) expect([other, await ask(other)]).toEqual([other, UNKNOWN]);
  });

  it('is below the shared domain that was named', async () => {
    const { address } = await catchAll({ domain: 'SECOND.test' });
    expect(address).toMatch(/\.second\.test$/);
    expect(await ask(address.replace('inbox', 'x'))).toBe(OK);
    const unknown = await create({ catchAll: true, domain: 'elsewhere.test' });
    expect([unknown.status, unknown.body.errors[0].path]).toEqual([400, '/domain']);
    expect(unknown.body.detail).toContain('"mayfly.test", "ours.test", "second.test"');
  });

  it('refuses every address with 550 and its owner with 410 when it expired, and 404 when it was deleted', async () => {
    const expired = await catchAll({ ttlMinutes: 1 });
    const deleted = await catchAll();
    const [late, gone] = [`late@${expired.domain}`, `late@${deleted.domain}`];
    expect([await ask(late), await ask(gone)]).toEqual([OK, OK]);
    await app.api('DELETE', `/v1/inboxes/${deleted.id}`);
    expect(await ask(gone)).toBe(UNKNOWN);
    await clock.leap(59_999);
    expect(await ask(late)).toBe(OK);
    await clock.leap(1);
    expect([await ask(late), await ask(expired.address)]).toEqual([UNKNOWN, UNKNOWN]);
    expect((await app.api('GET', `/v1/inboxes/${expired.id}`)).status).toBe(410);
    expect((await app.api('GET', `/v1/inboxes/${deleted.id}`)).status).toBe(404);
  });

  it('is refused together with an address or a local part, and for a value that is no truth value', async () => {
    for (const [field, value] of Object.entries({ localPart: 'signup', address: 'signup@mayfly.test' })) {
      const { status, body } = await create({ catchAll: true, [field]: value });
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', `/${field}`]);
      expect(body.detail).toContain('catchAll');
    }
    for (const bad of ['true', 1, null, {}]) expect((await create({ catchAll: bad })).status).toBe(400);
  });

  it('is what a look-up by any of its addresses finds', async () => {
    const inbox = await catchAll();
    const own = await catchAll({ domain: 'ours.test' });
    const plain = await app.createInbox({ address: 'plain@ours.test' });
    const found = async (address: string, as = TEST_KEY) => {
      const { body } = await app.api('GET', `/v1/inboxes?address=${encodeURIComponent(address)}`, { as });
      return body.inboxes.map(({ id }: Body) => id);
    };
    expect(await found(`Any+tag@${inbox.domain}`)).toEqual([inbox.id]);
    expect(await found(`Any+tag@${inbox.domain}`, strangerKey)).toEqual([]);
    expect([await found('any@ours.test'), await found('plain@ours.test')]).toEqual([[own.id], [plain.id]]);
    await app.api('DELETE', `/v1/inboxes/${plain.id}`);
    // Its mail is refused, as its senders were promised.
    expect(await found('plain@ours.test')).toEqual([]);
  });

  it('is full at the limit of its plan, whatever the addresses, and the wait tells of what was refused', async () => {
    const inbox = await catchAll();
    for (let n = 0; n < 5; n++) expect((await send(`n${n}@${inbox.domain}`)).end).toMatch(/^250/);
    expect(await ask(`Sixth+tag@${inbox.domain}`)).toBe(FULL);
    const neighbour = await catchAll();
    const { explanation } = await wait(inbox, { match: { subject: 'never' } }, inbox.token);
    expect(explanation.refused).toMatchObject([{ address: `sixth@${inbox.domain}`, reply: FULL }]);
    for (const as of [TEST_KEY, neighbour.token])
      expect((await wait(neighbour, { match: { subject: 'never' } }, as)).explanation.refused).toEqual([]);
  });
});

it('the filter rcptTo narrows lists and waits to the recipients of the envelope, whatever the headers say', async () => {
  const inbox = await catchAll();
  const { domain } = inbox;
  const text = `To: nobody@elsewhere.test\r\nSubject: blind copy\r\n\r\nx`;
  await sendMail(app.smtp.port, [`first+Tag@${domain}`], text);
  await sendMail(app.smtp.port, [`second@${domain}`, `third@${domain}`], text);
  const found = async (rcptTo: string) =>
    (await app.messages(inbox, `?rcptTo=${encodeURIComponent(rcptTo)}`)).length;
  expect(await found('FIRST+tag@')).toBe(1);
  expect(await found('third@')).toBe(1);
  expect(await found(domain)).toBe(2);
  expect(await found('elsewhere.test')).toBe(0);
  const held = await app.api('GET', `/v1/inboxes/${inbox.id}/messages?wait=1&rcptTo=second`);
  expect(held.body.messages).toHaveLength(1);
  expect(await wait(inbox, { match: { rcptTo: 'third@' } })).toMatchObject({
    matched: true,
    messages: [{ envelope: { rcptTo: [`second@${domain}`, `third@${domain}`] } }],
  });
  const { explanation } = await wait(inbox, { match: { rcptTo: 'fourth@' } });
  expect(explanation.seen[0].failed).toEqual([
    { condition: 'rcptTo', expected: 'fourth@', got: `second@${domain}, third@${domain}` },
  ]);
});

describe('a catch-all inbox on a domain of the account', () => {
  it('takes what no other inbox of the domain takes, whichever was there first', async () => {
    const before = await app.createInbox({ address: 'before@ours.test' });
    const inbox = await catchAll({ domain: 'Ours.test' });
    expect(inbox).toMatchObject({ address: 'inbox@ours.test', domain: 'ours.test', catchAll: true });
    const after = await app.createInbox({ address: 'after@ours.test' });
    await send('before+tag@ours.test', 'After@ours.test', 'anyone@ours.test', 'inbox@ours.test');
    expect(await recipientsOf(app, before)).toEqual([['before+tag@ours.test']]);
    expect(await recipientsOf(app, after)).toEqual([['After@ours.test']]);
    expect(await recipientsOf(app, inbox)).toEqual([['anyone@ours.test', 'inbox@ours.test']]);
    expect(await ask('x@sub.ours.test')).toBe(UNKNOWN);
  });

  it('is the only one: of two creations at once one gets 201 and one 409', async () => {
    const asked = Array.from({ length: 5 }, () => create({ catchAll: true, domain: 'ours.test' }));
    const answers = await Promise.all(asked);
    const kinds = answers.map(({ status, body }) => `${status} ${body.code ?? ''}`.trim()).toSorted();
    expect(kinds).toEqual(['201', ...Array.from({ length: 4 }, () => '409 address_taken')]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.detail).toContain('The domain "ours.test" has a catch-all inbox already');
    const made = answers.find(({ status }) => status === 201)?.body;
    await app.api('DELETE', `/v1/inboxes/${made.id}`);
    expect((await create({ catchAll: true, domain: 'ours.test' })).status).toBe(201);
    expect(await ask('x@ours.test')).toBe(OK);
  });

  it('has its own address like any inbox: 409 when that is taken, and for who wants it later', async () => {
    const plain = await app.createInbox({ address: 'inbox@ours.test' });
    const refused = await create({ catchAll: true, domain: 'ours.test' });
    expect([refused.status, refused.body.code]).toEqual([409, 'address_taken']);
    expect(refused.body.detail).toContain('inbox@ours.test');
    expect(await ask('x@ours.test')).toBe(UNKNOWN);
    await app.api('DELETE', `/v1/inboxes/${plain.id}`);
    await catchAll({ domain: 'ours.test' });
    expect((await create({ address: 'inbox@ours.test' })).status).toBe(409);
  });
});
