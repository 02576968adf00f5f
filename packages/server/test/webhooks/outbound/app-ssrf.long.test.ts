import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startTcp } from '../receivers.ts';
import { bodyOf, startWebhookApp, type WebhookApp } from '../start-webhooks.ts';
import { corpus, corpusNote } from './corpus.ts';

/** Stands for a public address in answers; nothing is ever sent while a name has it. */
const PUBLIC = '93.184.215.14';

const SPELLINGS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '0.0.0.0',
  '127.0.0.1.',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  'localhost',
  'inner.test',
];

describe('the error for a host name with an inner address', () => {
  const refusal = async (env: Record<string, string>): Promise<string> => {
    const resolve = async () => ['10.20.0.5'];
    const app = await startWebhookApp({ MAYFLY_WEBHOOK_ALLOW: '', ...env }, { resolve });
    try {
      const { body } = await app.api('POST', '/v1/webhooks', { body: { url: 'http://inner.test/' } });
      return body.detail;
    } finally {
      await app.stop();
    }
  };

  it('names the address and the setting that allows it', async () => {
    expect(await refusal({})).toMatch(
      / has the address 10\.20\.0\.5, .* MAYFLY_WEBHOOK_ALLOW, .* 10\.20\.0\.5\/32\.$/,
    );
  });

  it('does not name the address where strangers may sign up', async () => {
    const text = await refusal({ MAYFLY_SIGNUP_PLAN: 'free' });
    expect(text).toMatch(/^The host name "inner\.test" has an address that is not public\./);
    expect(text).not.toContain('10.20');
  });
});

describe('through the whole app, an inner address', () => {
  let app: WebhookApp;
  let canary: Receiver;
  /** What every name has. */
  let addresses: string[];
  beforeEach(async () => {
    canary = await startTcp();
    addresses = ['127.0.0.1'];
    const resolve = async (host: string) => (host.endsWith('localhost') ? ['127.0.0.1'] : addresses);
    app = await startWebhookApp({ MAYFLY_WEBHOOK_ALLOW: '' }, { resolve });
  });
  afterEach(async () => {
    await app.stop();
    await canary.close();
  });

  /** A webhook at a name that is public just now. */
  const registerPublic = async () => {
    addresses = [PUBLIC];
    const body = { url: `http://hook.test:${canary.port}/` };
    const webhook = bodyOf(await app.api('POST', '/v1/webhooks', { body }), 201);
    addresses = ['127.0.0.1'];
    return webhook;
  };
  /** As if the check at registration had let it pass. */
  const force = (id: string, url: string): void => {
    const database = new DatabaseSync(join(app.dataDir, 'mayfly.db'), { timeout: 5000 });
    database.prepare('update webhooks set url = ? where id = ?').run(url, id);
    database.close();
  };
  const urlsAtCanary = (hosts: string[]) => hosts.map((host) => `http://${host}:${canary.port}/`);

  async function expectNoWayIn(urls: string[]): Promise<void> {
    const webhook = await registerPublic();
    const path = `/v1/webhooks/${webhook.id}`;
    const inbox = await app.createInbox();
    for (const url of urls) {
      for (const [method, target, body] of [
        ['POST', '/v1/webhooks', { url }],
        ['PATCH', path, { url }],
        ['POST', '/v1/inboxes', { webhookUrl: url }],
      ] as const) {
        const answer = await app.api(method, target, { body });
        expect([answer.status, answer.body.code], url).toEqual([422, 'webhook_url_refused']);
      }
      force(webhook.id, url);
      const test = bodyOf(await app.api('POST', `${path}/test`), 202);
      const outcomeOf = async (attempts: number) => {
        const log = await app.untilDeliveries(webhook.id, (all) =>
          all.some(({ id, attempts: made }) => id === test.id && made.length === attempts),
        );
        return log.find(({ id }) => id === test.id).attempts.at(-1);
      };
      const refused = ['address_refused', 'url_refused'];
      expect(refused, url).toContain((await outcomeOf(1)).error.code);
      bodyOf(await app.api('POST', `${path}/deliveries/${test.id}/replay`), 202);
      expect(refused, url).toContain((await outcomeOf(2)).error.code);
    }
    // A webhook that failed pauses for a moment.
    await app.clock.advance(1_000);
    await app.mail(inbox.address);
    await app.untilDeliveries(webhook.id, (all) =>
      all.some(({ messageId, attempts }) => messageId !== null && attempts.length > 0),
    );
    expect(canary.connections()).toBe(0);
  }

  it('is never connected to: not by registering, changing, testing, replaying or a mail', () =>
    expectNoWayIn(urlsAtCanary(SPELLINGS)));

  it('is never connected to by a name that was public when it was registered', async () => {
    const webhook = await registerPublic();
    await app.mail((await app.createInbox()).address);
    const [delivery] = await app.untilDeliveries(webhook.id, ([one]) => one?.attempts.length > 0);
    expect(delivery.attempts).toMatchObject([{ status: null, error: { code: 'address_refused' } }]);
    expect(JSON.stringify(delivery)).not.toContain('127.0.0.1');
    expect(canary.connections()).toBe(0);
  });

  it.skipIf(!corpus)(
    `is never connected to: the shared list of addresses and URLs${corpusNote}`,
    async () => {
      const hosts = [...(corpus?.deny_ip ?? []), ...(corpus?.deny_ip_mailpit_style ?? [])].map((ip) =>
        ip.includes(':') ? `[${ip}]` : ip,
      );
      const aimed = (corpus?.deny_url ?? [])
        .filter((url) => URL.canParse(url) && new URL(url).hostname !== '')
        .map((url) => Object.assign(new URL(url), { port: String(canary.port) }).href);
      await expectNoWayIn([...urlsAtCanary(hosts), ...(corpus?.deny_url ?? []), ...aimed]);
    },
  );
});
