import { expect, it } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { describeOnEngines } from '../support/nodes.ts';
import { appOfTest, type TestApp } from '../support/start-app.ts';
import { useReceiver } from './receivers.ts';

const MAILS = [
  { subject: 'plain', text: 'Your code is 482913.' },
  {
    subject: 'Grüße, 世界 🎉',
    text: 'é'.repeat(1000),
    html: '<p>Größe <a href="https://example.org/ü">x</a></p>',
  },
  { subject: 'longer than an event', text: 'ä'.repeat(200_000), html: `<p>${'ß'.repeat(200_000)}</p>` },
  {
    subject: 'attachments',
    text: 'See the files.',
    attachments: Array.from({ length: 20 }, (_, n) => ({ filename: `ü ${n}.txt`, content: `file ${n}` })),
  },
  {
    subject: 'links',
    text: Array.from({ length: 300 }, (_, n) => `https://example.org/${n}/${'x'.repeat(300)}`).join('\n'),
  },
];

describeOnEngines('the body of a webhook', (engine) => {
  const dataDir = useFolder();
  const receiver = useReceiver();

  it('has the same bytes on every attempt, whichever server makes it, and its URLs are paths', async () => {
    const database = await engine.env();
    // Each is another server, at another port.
    const start = () => appOfTest({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32', ...database }, {}, dataDir());
    const first = await start();
    const url = `http://127.0.0.1:${receiver.port}/`;
    const { body: webhook } = await first.api('POST', '/v1/webhooks', { body: { url } });
    const path = `/v1/webhooks/${webhook.id}`;
    const inbox = await first.createInbox({ labels: { z: '1', a: '2', 10: '3', 9: '4' } });
    for (const mail of MAILS) await first.send({ from: 'ä@example.org', to: inbox.address, ...mail });
    await first.api('POST', `${path}/test`);
    const bodies = () => receiver.requests.map(({ body }) => body.toString('latin1')).toSorted();
    const all = MAILS.length + 1;
    const untilDelivered = (app: TestApp) =>
      expect
        .poll(async () => (await app.api('GET', `${path}/deliveries?state=delivered`)).body.deliveries)
        .toHaveLength(all);
    await untilDelivered(first);
    const sent = bodies();
    expect(sent).toHaveLength(all);
    await first.stop();

    const second = await start();
    receiver.requests.length = 0;
    const replay = { body: { state: 'delivered' } };
    expect((await second.api('POST', `${path}/deliveries/replay`, replay)).body).toEqual({ replayed: all });
    await untilDelivered(second);
    expect(bodies()).toEqual(sent);
    for (const body of receiver.requests.map((request) => JSON.parse(request.body.toString()))) {
      const { url: path, attachments } = body.data.message;
      expect(path).toMatch(/^\/v1\/inboxes\/inb_\w+\/messages\/msg_\w+$/);
      for (const one of attachments) expect(one.url).toBe(`${path}/attachments/${one.id}`);
    }
  });
});
