import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { describeOnEngines } from '../support/nodes.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { type TestApp, useApp } from '../support/start-app.ts';

describeOnEngines('a recording of a server on SQLite, on', (engine) => {
  const recorder = useApp();
  const other = useApp(engine.env);

  async function send(to: string[], mailFrom: string, source: Buffer): Promise<void> {
    const client = await smtpClient(recorder.smtp.port);
    await client.play([
      '→ 220',
      'EHLO Recorder.example → 250',
      `MAIL FROM:<${mailFrom}> → 250`,
      ...to.map((address) => `RCPT TO:<${address}> → 250`),
      'DATA → 354',
      { send: Buffer.concat([source, Buffer.from('\r\n.\r\n')]), expect: 250 },
    ]);
    client.close();
  }
  /** Of each message, oldest first: a hash of its source, and its envelope. */
  async function contentOf(app: TestApp, id: string): Promise<[string, object][]> {
    const { messages } = (await app.api('GET', `/v1/inboxes/${id}/messages?limit=200`)).body;
    const found: [string, object][] = [];
    for (const message of messages.toReversed()) {
      const path = `/v1/inboxes/${id}/messages/${message.id}`;
      const { bytes } = await app.api('GET', `${path}/raw`);
      const { envelope } = (await app.api('GET', path)).body;
      found.push([createHash('sha256').update(bytes).digest('hex'), envelope]);
    }
    return found;
  }
  const exported = async (app: TestApp, id: string) =>
    (await app.api('GET', `/v1/inboxes/${id}/export`)).bytes;
  async function imported(app: TestApp, archive: Uint8Array): Promise<string> {
    const headers = { 'content-type': 'application/zip' };
    const { body } = await app.api('POST', '/v1/inboxes/import', { body: archive, headers });
    return body.id;
  }

  it('has the same bytes, envelopes and order there, and when it comes back', async () => {
    const inbox = await recorder.createInbox({ labels: { run: 'ä "quoted"' } });
    const tagged = inbox.address.replace('@', '+Tag@');
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0xe4, 0x0d, 0x0a]);
    for (let n = 0; n < 12; n++) {
      const source = Buffer.concat([
        Buffer.from(`Subject: ${n}\r\nX: `),
        bytes,
        Buffer.alloc(n * 30_000, 'x '),
      ]);
      await send(
        n % 3 === 0 ? [tagged, inbox.address] : [inbox.address],
        n === 5 ? '' : 'App@Shop.example',
        source,
      );
    }
    const recorded = await contentOf(recorder, inbox.id);
    expect(recorded).toHaveLength(12);
    const there = await imported(other, await exported(recorder, inbox.id));
    expect(await contentOf(other, there)).toEqual(recorded);
    const back = await imported(recorder, await exported(other, there));
    expect(await contentOf(recorder, back)).toEqual(recorded);
  });
});
