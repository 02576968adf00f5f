import { afterAll, beforeAll, expect, it } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { smtpClient } from '../../support/smtp-script.ts';

/** Between two sessions of a sender that tries again, milliseconds. */
const DELAY_MS = 300_000;

describeOnEngines('a server that is killed in the middle of faults', (engine) => {
  let env: Record<string, string>;
  let stopEngine: () => Promise<void>;
  const dataDir = useFolder();
  beforeAll(async () => {
    const started = await engine.start();
    stopEngine = started.stop;
    env = await started.env();
  });
  afterAll(() => stopEngine());

  const rcpt = async (server: ServerProcess, address: string) => {
    const client = await smtpClient(server.smtpPort);
    await client.play(['→ 220', 'EHLO app.example.org → 250', 'MAIL FROM:<app@example.org> → 250']);
    return { client, reply: client.say(`RCPT TO:<${address}>`) };
  };
  type Rules = { rules: { left: number }[] };

  it('has counted what it began, and goes on with what is left', async () => {
    const start = () => startServer({ dataDir: dataDir(), env });
    let server = await start();
    const inbox = await server.createInbox();
    const path = `/v1/inboxes/${inbox.id}/faults`;
    const rules = [
      { at: 'rcpt', reply: { code: 451, text: 'one' }, times: 2 },
      { at: 'rcpt', reply: { code: 451, text: 'two' }, delayMs: DELAY_MS, times: 2 },
      { at: 'rcpt', reply: { code: 452, text: 'three' } },
    ];
    expect((await server.request('PUT', path, { rules })).status).toBe(200);
    const left = async (): Promise<number[]> =>
      (await server.getJson<Rules>(path)).rules.map((rule) => rule.left);

    expect(await (await rcpt(server, inbox.address)).reply).toBe('451 one');
    await server.end('SIGKILL');
    server = await start();
    expect(await left()).toEqual([1, 2, 1]);
    expect(await (await rcpt(server, inbox.address)).reply).toBe('451 one');

    // In the middle of a delay: it has begun, so it counts, and the sender sees a closed connection.
    const { client, reply } = await rcpt(server, inbox.address);
    await expect.poll(left).toEqual([0, 1, 1]);
    await server.end('SIGKILL');
    expect(await reply).toBe('');
    client.close();
    server = await start();
    expect(await left()).toEqual([0, 1, 1]);
    const { refusals } = await server.getJson<{ refusals: { reply: string }[] }>('/v1/refusals');
    expect(refusals.map((refusal) => refusal.reply)).toEqual(['451 two', '451 one', '451 one']);

    // A stop ends a delay, and does not wait for it.
    const delayed = await rcpt(server, inbox.address);
    await expect.poll(left).toEqual([0, 0, 1]);
    expect((await server.end('SIGTERM')).code).toBe(0);
    expect(await delayed.reply).toMatch(/^421 4\.3\.2/);
    server = await start();
    expect(await (await rcpt(server, inbox.address)).reply).toBe('452 three');
    expect(await (await rcpt(server, inbox.address)).reply).toMatch(/^250 /);
    await server.end('SIGTERM');
  });
});
