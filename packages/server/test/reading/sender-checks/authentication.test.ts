import { once } from 'node:events';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { createSigner } from '../../support/mail/signed-mail.ts';
import { startNameServer } from '../../support/name-server.ts';
import { appOfTest, type TestApp } from '../../support/start-app.ts';

const OUTSIDE = 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25';
const ELSEWHERE = 'PROXY TCP4 203.0.113.9 192.0.2.1 40000 25';
const THIS_MACHINE = 'PROXY TCP4 127.0.0.1 127.0.0.1 40000 25';
const shop = createSigner('shop.test');
const MAIL: Mail.Options = { from: 'hello@shop.test', subject: 'Welcome', text: 'Your code is 482913.\n' };

const names = await startNameServer({
  'shop.test': { TXT: ['v=spf1 ip4:198.51.100.0/24 ~all'] },
  [shop.keyName]: { TXT: [shop.keyText] },
  '_dmarc.shop.test': { TXT: ['v=DMARC1; p=reject'] },
});
afterAll(() => names.close());
beforeEach(() => {
  names.questions.length = 0;
});

/**
 * An app behind a load balancer on this machine, which tells where mail comes from.
 * Its clock stands still: the first check starts a thread, which on a busy machine takes longer than the time limit.
 */
const startBehindProxy = (env: Record<string, string> = {}): Promise<TestApp> => {
  const settings = { MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32', MAYFLY_DNS_SERVERS: names.address };
  return appOfTest({ ...settings, MAYFLY_METRICS: 'on', ...env }, { clock: new FakeClock() });
};

/** Sends as a user's program does, by way of the load balancer. */
async function send(to: TestApp, proxyLine: string, mail: Mail.Options, signer?: typeof shop): Promise<void> {
  const socket = connect(to.smtp.port, to.smtp.host);
  await once(socket, 'connect');
  socket.write(`${proxyLine}\r\n`);
  const transport = createTransport({
    ...{ name: 'mx.shop.test', connection: socket },
    ...(signer && { dkim: signer.options }),
  });
  try {
    await transport.sendMail({ ...MAIL, ...mail });
  } finally {
    transport.close();
  }
}

async function onlyMessage(from: TestApp, inbox: { id: string; token: string }) {
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const { messages } = (await from.api('GET', path, { as: inbox.token })).body;
  expect(messages).toHaveLength(1);
  const read = (await from.api('GET', `${path}/${messages[0].id}`, { as: inbox.token })).body;
  const raw = (await from.api('GET', `${path}/${messages[0].id}/raw`, { as: inbox.token })).body;
  return { summary: messages[0], read, raw };
}

describe('the authentication of a message', () => {
  it('tells SPF, DKIM and DMARC of mail from outside, wherever it is shown in full', async () => {
    const running = await startBehindProxy();
    const inbox = await running.createInbox();
    await send(running, OUTSIDE, { to: inbox.address }, shop);
    const { read, summary, raw } = await onlyMessage(running, inbox);
    expect(read.authentication).toEqual({ spf: 'pass', dkim: 'pass', dmarc: 'pass' });
    expect(read.envelope).toEqual({
      ...{ mailFrom: 'hello@shop.test', rcptTo: [inbox.address], helo: 'mx.shop.test' },
      ...{ remoteAddress: '198.51.100.7', tls: false },
    });
    const body = { match: { subject: 'Welcome' }, timeoutSeconds: 0 };
    const waited = await running.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: inbox.token, body });
    expect(waited.body.messages[0]).toEqual(read);
    expect(summary).not.toHaveProperty('authentication');
    // The source stays what the sender sent, below our one line.
    expect(raw).toMatch(/^Received: .*?\r\nDKIM-Signature: /s);
    expect(raw).not.toMatch(/^(Authentication-Results|Received-SPF):/im);
  });

  it('is told of a large mail as well, whose text and attachment are there', async () => {
    const running = await startBehindProxy();
    const inbox = await running.createInbox();
    const content = Buffer.alloc(2 * 1024 * 1024, 'report\n');
    await send(running, OUTSIDE, { to: inbox.address, attachments: [{ filename: 'a.bin', content }] }, shop);
    const { read } = await onlyMessage(running, inbox);
    expect(read).toMatchObject({
      ...{ authentication: { spf: 'pass', dkim: 'pass', dmarc: 'pass' }, text: MAIL.text },
      ...{ attachments: [{ filename: 'a.bin', size: content.length }], codes: [{ value: '482913' }] },
    });
  });

  it('is counted by method and result for /metrics, a mail once and mail of this machine not', async () => {
    const running = await startBehindProxy();
    const [one, two] = [await running.createInbox(), await running.createInbox()];
    const to = [one.address, two.address];
    await send(running, OUTSIDE, { to }, shop);
    await send(running, OUTSIDE, { to }, shop);
    await send(running, ELSEWHERE, { to });
    await send(running, THIS_MACHINE, { to });
    expect(await running.api('GET', '/v1/messages')).toMatchObject({ status: 200 });
    const metrics: string = (await running.api('GET', '/metrics', { as: null })).body;
    const counted = metrics.matchAll(
      /^mayfly_authentication_results_total\{method="(.*)",result="(.*)"\} (.*)$/gm,
    );
    expect([...counted].map(([, ...counts]) => counts.join(' ')).toSorted()).toEqual([
      ...['dkim none 1', 'dkim pass 2', 'dmarc fail 1', 'dmarc pass 2', 'spf pass 2', 'spf softfail 1'],
    ]);
  });

  it.each([
    ['for mail of this machine', THIS_MACHINE, {}],
    ['where checks are off', OUTSIDE, { MAYFLY_MAIL_AUTH: 'off' }],
  ])('is null %s, and no name server is queried', async (_, proxyLine, env) => {
    const running = await startBehindProxy(env);
    const inbox = await running.createInbox();
    await send(running, proxyLine, { to: inbox.address }, shop);
    expect((await onlyMessage(running, inbox)).read.authentication).toBeNull();
    expect(names.questions).toEqual([]);
  });
});
