import { createTransport } from 'nodemailer';
import { afterAll, describe, expect, it } from 'vitest';
import type { Body } from '../../../support/api-client.ts';
import { startApp, TEST_KEY } from '../../../support/start-app.ts';
import { startHttp } from '../../../webhooks/receivers.ts';

const answers: number[] = [];

const app = await startApp(
  { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32', MAYFLY_SMTP_STARTTLS: 'self-signed', MAYFLY_SMTP_AUTH: 'inbox' },
  { retryDelays: [10] },
);
const receiver = await startHttp((response) => response.writeHead(answers.shift() ?? 200).end('thanks'));
afterAll(async () => {
  await receiver.close();
  await app.stop();
});

async function messagePath(inboxId: string): Promise<string> {
  const { messages } = (await app.api('GET', `/v1/inboxes/${inboxId}/messages?wait=5`)).body;
  return `/v1/inboxes/${inboxId}/messages/${messages[0].id}`;
}
const timelineOf = async (path: string, as = TEST_KEY): Promise<Body[]> => {
  const { status, body } = await app.api('GET', `${path}/timeline`, { as });
  expect(status).toBe(200);
  return body.events;
};
const names = (events: Body[]): string[] => events.map(({ event }) => event);
/** Without the steps that are taken beside the commit. */
const withoutRace = (events: Body[]): string[] =>
  names(events).filter((name) => name !== 'parsed' && name !== 'replied');
async function send(mail: object, options: object = { ignoreTLS: true }): Promise<void> {
  const transport = createTransport({ ...app.smtp, ...options });
  await transport.sendMail(mail);
  transport.close();
}
async function inject({ id }: { id: string }, rest: string): Promise<void> {
  const { status } = await app.api('POST', `/v1/inboxes/${id}/messages`, {
    ...{ headers: { 'content-type': 'message/rfc822' } },
    body: `Date: Wed, 4 Mar 2026 05:06:07 +0000\r\n${rest}\r\n\r\nx\r\n`,
  });
  expect(status).toBe(201);
}
const mailTo = (to: string) => ({ from: 'app@shop.example', to, subject: 'Code', text: '482913' });

describe('GET /v1/inboxes/{id}/messages/{messageId}/timeline', () => {
  it('shows an SMTP session with TLS and AUTH, and each attempt of a webhook, to the key and the read token', async () => {
    answers.push(500);
    const webhookUrl = `http://127.0.0.1:${receiver.port}/hook/secret-path`;
    const inbox = await app.createInbox({ webhookUrl });
    const auth = { user: inbox.id, pass: inbox.token };
    await send(mailTo('someone@else.example'), { auth, tls: { rejectUnauthorized: false } });
    const path = await messagePath(inbox.id);
    let events: Body[] = [];
    while (events.filter(({ webhook }) => webhook).length < 2) events = await timelineOf(path);
    // The reply is sent while the mail is read, and the first attempt of a webhook may begin before it.
    expect(names(events)).toEqual(expect.arrayContaining(['parsed', 'replied']));
    expect(withoutRace(events)).toEqual([
      'date-header',
      ...['connected', 'tls', 'authenticated', 'mail-from', 'rcpt-to', 'data', 'end-of-data'],
      ...['committed', 'webhook-attempt', 'webhook-attempt'],
    ]);
    expect(events.find(({ event }) => event === 'tls')?.detail).toMatch(/^TLSv1\.[23] TLS_/);
    expect(events.find(({ event }) => event === 'rcpt-to')?.detail).toBe('RCPT TO:<someone@else.example>');
    expect(events.flatMap(({ webhook }) => webhook ?? [])).toMatchObject([
      { attempt: 1, status: 500, error: 'status' },
      { attempt: 2, status: 200, error: null },
    ]);
    const message = (await app.api('GET', path)).body;
    expect(events.find(({ event }) => event === 'committed')?.at).toBe(message.receivedAt);
    expect(events.slice(1).every(({ sincePreviousMs }) => Number.isInteger(sincePreviousMs))).toBe(true);
    expect(await timelineOf(path, inbox.token)).toEqual(events);
    expect(JSON.stringify(events)).not.toContain('secret-path');
    expect(message).not.toHaveProperty('trail');
    expect(message.envelope).not.toHaveProperty('trail');
  });

  it('forgets what belonged to the message before on the same connection', async () => {
    const inbox = await app.createInbox();
    const transport = createTransport({ ...app.smtp, pool: true, maxConnections: 1, ignoreTLS: true });
    for (let n = 0; n < 3; n++) await transport.sendMail(mailTo(inbox.address));
    transport.close();
    const { messages } = (await app.api('GET', `/v1/inboxes/${inbox.id}/messages`)).body;
    for (const { id } of messages) {
      const events = names(await timelineOf(`/v1/inboxes/${inbox.id}/messages/${id}`));
      expect(events.toSorted()).toEqual([
        ...['committed', 'connected', 'data', 'date-header', 'end-of-data', 'mail-from', 'parsed'],
        ...['rcpt-to', 'replied'],
      ]);
    }
  });

  it('shows one recipient of a mail nothing of the others', async () => {
    const [first, second] = [await app.createInbox(), await app.createInbox()];
    await send({ ...mailTo(first.address), bcc: second.address });
    const events = await timelineOf(await messagePath(first.id));
    expect(JSON.stringify(events)).not.toContain(second.address);
  });

  it('shows a message that was injected, and one that was imported', async () => {
    const inbox = await app.createInbox();
    await inject(inbox, 'Subject: x');
    const injected = await timelineOf(await messagePath(inbox.id));
    expect(names(injected)).toContain('parsed');
    expect(withoutRace(injected)).toEqual(['date-header', 'injected', 'end-of-data', 'committed']);

    const archive = (await app.api('GET', `/v1/inboxes/${inbox.id}/export`)).bytes;
    const headers = { 'content-type': 'application/zip' };
    const copy = await app.api('POST', '/v1/inboxes/import', { body: archive, headers });
    const imported = await timelineOf(await messagePath(copy.body.id));
    expect(names(imported)).toContain('parsed');
    expect(withoutRace(imported)).toEqual([
      ...['date-header', 'received-header', 'imported', 'end-of-data', 'committed'],
    ]);
  });

  it('has the headers of a message whose header is too large to be stored again', async () => {
    const inbox = await app.createInbox();
    await inject(inbox, `X-A: ${'x'.repeat(3_000_000)}`);
    const [date] = await timelineOf(await messagePath(inbox.id));
    expect(date).toMatchObject({ event: 'date-header', at: '2026-03-04T05:06:07.000Z' });
  });
});

describe('GET /v1/inboxes/{id}/messages/{messageId}/lint', () => {
  it('returns what is wrong with a mail that nodemailer sent, to the key and to the read token', async () => {
    const inbox = await app.createInbox();
    await send({
      from: 'app@shop.example',
      to: inbox.address,
      subject: 'Reset your password',
      html: '<img src="cid:logo"><a href="http://shop.example/reset?token=1">Reset</a>',
    });
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const [message] = (await app.api('GET', path)).body.messages;
    const { status, body } = await app.api('GET', `${path}/${message.id}/lint`);
    expect(status).toBe(200);
    expect(body.findings.map(({ rule }: { rule: string }) => rule)).toEqual([
      ...['broken-cid', 'missing-text-alternative', 'image-without-alt', 'insecure-link'],
      ...['image-without-size', 'html-lang', 'html-dir'],
    ]);
    const again = await app.api('GET', `${path}/${message.id}/lint`, { as: inbox.token });
    expect(again.body).toEqual(body);
  });
});
