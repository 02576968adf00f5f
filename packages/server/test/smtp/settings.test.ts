import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeOnEngines } from '../support/nodes.ts';
import { type SmtpClient, smtpClient } from '../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';

const plain = (user: string, password: string): string =>
  Buffer.from(`\0${user}\0${password}`).toString('base64');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describeOnEngines('STARTTLS and AUTH as the settings say', (engine) => {
  /** For what no database has to do with. */
  const isOnce = engine.nodes === 1;
  let env: Record<string, string>;
  let stopEngine: () => Promise<void>;
  beforeAll(async () => {
    const started = await engine.start();
    stopEngine = started.stop;
    env = await started.env();
  });
  afterAll(() => stopEngine());

  async function start(settings: Record<string, string>): Promise<TestApp> {
    const app = await startApp({ ...env, ...settings });
    onTestFinished(() => app.stop());
    return app;
  }

  /** A client, and what EHLO offers it. @param from another machine's address, as a proxy tells it */
  async function connected(app: TestApp, from?: string): Promise<{ client: SmtpClient; offer: string }> {
    const client = await smtpClient(app.smtp.port);
    onTestFinished(() => client.close());
    if (from) await client.send(`PROXY TCP4 ${from} 192.0.2.1 40000 25\r\n`);
    await client.play(['→ 220']);
    return { client, offer: await client.say('EHLO app.example.org') };
  }

  if (isOnce)
    it('MAYFLY_SMTP_STARTTLS=self-signed offers STARTTLS with a certificate that is made for it', async () => {
      const app = await start({ MAYFLY_SMTP_STARTTLS: 'self-signed' });
      const { client, offer } = await connected(app);
      expect(offer).toContain('STARTTLS');
      await client.play(['STARTTLS → 220 2.0.0']);
      await client.startTls({ rejectUnauthorized: false });
      expect(await client.say('EHLO app.example.org')).not.toContain('STARTTLS');
    });

  if (isOnce)
    it('MAYFLY_SMTP_STARTTLS=off and MAYFLY_SMTP_AUTH=off offer neither', async () => {
      const app = await start({ MAYFLY_SMTP_STARTTLS: 'off', MAYFLY_SMTP_AUTH: 'off' });
      const { client, offer } = await connected(app);
      expect(offer).not.toMatch(/STARTTLS|AUTH/);
      await client.play(['STARTTLS → 502 5.5.1', `AUTH PLAIN ${plain('a', 'b')} → 502 5.5.1`]);
    });

  it('MAYFLY_SMTP_AUTH=any accepts credentials of no inbox, and they change nothing', async () => {
    const app = await start({ MAYFLY_SMTP_AUTH: 'any' });
    const [right, other] = [await app.createInbox(), await app.createInbox()];
    const { client } = await connected(app);
    await client.play([
      `AUTH PLAIN ${plain(other.id, 'wrong')} → 235 2.7.0`,
      'MAIL FROM:<a@b.test> → 250',
      `RCPT TO:<${right.address}> → 250`,
      'RCPT TO:<nobody@elsewhere.example> → 550 5.1.1',
      'DATA → 354',
      'Subject: x\r\n\r\nx\r\n. → 250',
    ]);
    expect((await app.api('GET', `/v1/inboxes/${right.id}`)).body.messageCount).toBe(1);
    expect((await app.api('GET', `/v1/inboxes/${other.id}`)).body.messageCount).toBe(0);
  });

  if (isOnce)
    it('AUTH without TLS is offered to this machine, and to others only with MAYFLY_SMTP_AUTH_PLAINTEXT=on', async () => {
      const settings = { MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32' };
      const app = await start(settings);
      expect((await connected(app, '127.0.0.1')).offer).toContain('AUTH PLAIN LOGIN');
      const { client, offer } = await connected(app, '198.51.100.7');
      expect(offer).not.toContain('AUTH');
      await client.play([`AUTH PLAIN ${plain('a', 'b')} → 538 5.7.11`]);
      const open = await start({ ...settings, MAYFLY_SMTP_AUTH_PLAINTEXT: 'on' });
      expect((await connected(open, '198.51.100.7')).offer).toContain('AUTH PLAIN LOGIN');
    });

  it('an inbox that one server made captures the mail of a session with another', async () => {
    const settings = { MAYFLY_SMTP_AUTH: 'inbox' };
    const first = await start(settings);
    const last = engine.nodes === 1 ? first : await start(settings);
    const inbox = await first.createInbox();
    const dialogues = [
      [`AUTH PLAIN ${plain(inbox.id, inbox.token)} → 235 2.7.0`],
      [`AUTH PLAIN ${plain(inbox.address, TEST_KEY)} → 235 2.7.0`],
      ['AUTH LOGIN → 334', `${base64(inbox.address)} → 334`, `${base64(inbox.token)} → 235 2.7.0`],
    ];
    for (const dialogue of dialogues) {
      const { client } = await connected(last);
      await client.play([
        ...dialogue,
        'MAIL FROM:<a@b.test> → 250',
        'RCPT TO:<customer@shop.example> → 250',
        'DATA → 354',
        'Subject: x\r\n\r\nx\r\n. → 250',
      ]);
    }
    const { body } = await last.api('GET', `/v1/inboxes/${inbox.id}`, { as: inbox.token });
    expect(body.messageCount).toBe(dialogues.length);
    const { client } = await connected(last);
    await client.play([`AUTH PLAIN ${plain(inbox.id, 'mft_wrong')} → 535 5.7.8`]);
    // The login of an inbox that has ended is wrong, on every server.
    await first.api('DELETE', `/v1/inboxes/${inbox.id}`);
    await client.play([`AUTH PLAIN ${plain(inbox.id, inbox.token)} → 535 5.7.8`]);
  });
});
