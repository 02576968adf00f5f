import { once } from 'node:events';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { SmtpClient } from '../support/smtp-script.ts';
import { startApp, type TestApp } from '../support/start-app.ts';
import { trustedCertificate } from '../support/tls/certificates.ts';

/*
 * A sender that does not trust the certificate of the SMTP server: what the explained wait, the metrics and
 * other accounts see of it.
 */

interface Inbox {
  id: string;
  address: string;
  token: string;
}

const FAR = '198.51.100.7';
const THERE = 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25';
const HERE = 'PROXY TCP4 127.0.0.1 192.0.2.1 40000 25';

async function start(env: Record<string, string> = {}, clock?: FakeClock): Promise<TestApp> {
  const { tls } = await trustedCertificate('localhost');
  const certificate = { MAYFLY_SMTP_TLS_CERT: tls.cert, MAYFLY_SMTP_TLS_KEY: tls.key };
  const settings = { ...certificate, MAYFLY_METRICS: 'on', ...env };
  return startApp(settings, clock ? { clock } : {});
}

const failuresInMetrics = async (app: TestApp): Promise<number> => {
  const { body } = await app.api('GET', '/metrics', { as: null });
  return Number(/^mayfly_smtp_tls_handshake_failures_total (\d+)/m.exec(body)?.[1]);
};

/** Fails a handshake, from the address that a PROXY line names; resolves when the server has noticed. */
async function failHandshake(app: TestApp, proxyLine: string): Promise<void> {
  const before = await failuresInMetrics(app);
  const socket = connect(app.smtp.port, app.smtp.host);
  await once(socket, 'connect');
  const client = new SmtpClient(socket);
  await client.play([
    { send: proxyLine, expect: 220 },
    { send: 'EHLO c', expect: 250 },
    { send: 'STARTTLS', expect: 220 },
    { send: 'no handshake' },
  ]);
  // Called from a hook, too, where expect.poll() cannot be.
  await vi.waitFor(async () => expect(await failuresInMetrics(app)).toBe(before + 1), 60_000);
  client.close();
}

/** Of a wait in vain. */
async function failedHandshakes(app: TestApp, { id }: Inbox, as: string | undefined, body: object = {}) {
  const options = { ...(as !== undefined && { as }), body: { timeoutSeconds: 0, ...body } };
  const answer = await app.api('POST', `/v1/inboxes/${id}/wait`, options);
  expect(answer.status).toBe(200);
  return answer.body.explanation.failedHandshakes;
}

const addresses = (failures: { remoteAddress: string }[]) => failures.map((one) => one.remoteAddress);

describe('a wait in vain tells of failed TLS handshakes', () => {
  it('of a mail library on the same machine that does not trust the certificate', async () => {
    const app = await start();
    onTestFinished(() => app.stop());
    const inbox: Inbox = await app.createInbox();
    const begun = Date.now();
    const transport = createTransport({ host: 'localhost', port: app.smtp.port });
    const mail = { from: 'app@example.org', to: inbox.address, text: 'Hello' };
    await expect(transport.sendMail(mail)).rejects.toThrow(/certificate/);
    transport.close();
    await expect.poll(() => failuresInMetrics(app)).toBe(1);
    const [failure, ...more] = await failedHandshakes(app, inbox, inbox.token);
    expect(failure).toMatchObject({
      remoteAddress: expect.stringMatching(/^(?:127\.0\.0\.1|::1)$/),
      reason: expect.stringMatching(/^The client closed the connection/),
    });
    expect(Date.parse(failure.at)).toBeGreaterThanOrEqual(begun);
    expect(more).toEqual([]);
  });

  it('after the inbox was created, or after `since`, the newest 20', async () => {
    const clock = new FakeClock();
    const app = await start({ MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32' }, clock);
    onTestFinished(() => app.stop());
    await failHandshake(app, HERE);
    await clock.advance(1_000);
    const inbox: Inbox = await app.createInbox();
    expect(await failedHandshakes(app, inbox, undefined)).toEqual([]);
    await clock.advance(1_000);
    await failHandshake(app, HERE);
    const middle = clock.now();
    await clock.advance(1_000);
    for (let n = 0; n < 20; n++) await failHandshake(app, HERE);
    const since = String(middle);
    expect(await failedHandshakes(app, inbox, undefined)).toHaveLength(20);
    expect(await failedHandshakes(app, inbox, undefined, { since })).toHaveLength(20);
    await clock.advance(1_000);
    expect(await failedHandshakes(app, inbox, undefined, { since: String(clock.now()) })).toEqual([]);
  });
});

describe('failed handshakes from another address', () => {
  let app: TestApp;
  let inbox: Inbox;
  beforeAll(async () => {
    app = await start({ MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32', MAYFLY_SIGNUP_PLAN: 'free' });
    inbox = await app.createInbox();
    await failHandshake(app, HERE);
    await failHandshake(app, THERE);
  });
  afterAll(() => app.stop());

  it('are shown to API keys of the only account, newest first, and not to read tokens', async () => {
    expect(addresses(await failedHandshakes(app, inbox, undefined))).toEqual([FAR, '127.0.0.1']);
    expect(addresses(await failedHandshakes(app, inbox, inbox.token))).toEqual(['127.0.0.1']);
  });

  it('are shown to no one as soon as there is a second account', async () => {
    const { body: stranger } = await app.api('POST', '/v1/accounts', { as: null, body: { name: 'b' } });
    const { body: theirs } = await app.api('POST', '/v1/inboxes', { as: stranger.key });
    await failHandshake(app, THERE);
    await failHandshake(app, HERE);
    expect(addresses(await failedHandshakes(app, inbox, undefined))).toEqual(['127.0.0.1', '127.0.0.1']);
    expect(addresses(await failedHandshakes(app, theirs, stranger.key))).toEqual(['127.0.0.1']);
    expect(addresses(await failedHandshakes(app, theirs, theirs.token))).toEqual(['127.0.0.1']);
  });

  it('never appear among refusals or near misses', async () => {
    const { body } = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 0 } });
    expect(body.explanation).toMatchObject({ refused: [], nearMisses: [] });
  });
});
