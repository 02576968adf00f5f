import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { Mayfly, WebhookVerificationError, webhook } from '../src/index.ts';

const { verify } = webhook;

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
});
afterAll(() => app.stop());

/** A webhook of the server, as an endpoint gets it. */
async function receive(): Promise<{
  body: string;
  headers: Record<string, string | string[] | undefined>;
  secret: string;
}> {
  const mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
  const { promise, resolve } = Promise.withResolvers<{
    body: string;
    headers: Record<string, string | string[] | undefined>;
  }>();
  const endpoint = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    response.end();
    resolve({ body, headers: request.headers });
  });
  await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done));
  const { secret } = await mayfly.webhooks.create({
    url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`,
  });
  const inbox = await mayfly.createInbox();
  await app.send({ from: 'a@shop.example', to: inbox.address, subject: 'Grüße, 你好', text: 'Hello.' });
  const received = await promise;
  endpoint.close();
  return { ...received, secret };
}

describe('the verification of webhooks', () => {
  it('accepts what the server signed, from headers of Node.js and of fetch, as text and as bytes', async () => {
    const { body, headers, secret } = await receive();
    expect((await verify(body, headers, secret)).data.message.subject).toBe('Grüße, 你好');
    const ofFetch = new Headers(Object.entries(headers) as Array<[string, string]>);
    expect((await verify(new TextEncoder().encode(body), ofFetch, secret)).type).toBe('message.received');
  });

  it('rejects another body, another secret, an old request and one without a signature', async () => {
    const { body, headers, secret } = await receive();
    const other = `whsec_${btoa('another secret of 32 bytes.......')}`;
    await expect(verify(`${body} `, headers, secret)).rejects.toThrow(WebhookVerificationError);
    await expect(verify(body, headers, other)).rejects.toThrow('The signature does not match');
    await expect(verify(body, headers, secret, new Date(Date.now() + 301_000))).rejects.toThrow(
      'more than 300 seconds',
    );
    await expect(verify(body, {}, secret)).rejects.toThrow('"webhook-id"');
    for (const none of ['', 'whsec_', undefined])
      await expect(verify(body, headers, none as string)).rejects.toThrow('There is no secret');
    const parsed = JSON.parse(body);
    await expect(verify(parsed, headers, secret)).rejects.toThrow('not parsed JSON');
    const damaged = { ...headers, 'webhook-signature': 'v1,%%% v2,x v1' };
    await expect(verify(body, damaged, secret)).rejects.toThrow('The signature does not match');
  });
});
