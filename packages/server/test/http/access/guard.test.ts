import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { HttpDeps } from '../../../src/http/context.ts';
import { buildApp } from '../../../src/http/server.ts';
import { hashCredential, newId } from '../../../src/ids.ts';
import { testConfig, useHttp } from '../start-http.ts';

const http = useHttp();

describe('the guard', () => {
  it('asks the store again after half a second, and never remembers a refusal', async () => {
    const key = 'operator_chosen_key_0123';
    const status = async () => (await http.api('GET', '/v1/inboxes', { as: key })).status;
    expect(await status()).toBe(401);
    const createdAt = http.clock.now();
    await http.store.keys.create({
      ...{ id: newId('key', createdAt), accountId: http.accountId, name: 'k', scope: 'full', prefix: 'k' },
      ...{ createdAt, expiresAt: null, hash: hashCredential(key) },
    });
    expect(await status()).toBe(200);
    const { findByHash } = http.store.keys;
    http.store.keys.findByHash = async () => undefined;
    await http.clock.advance(499);
    expect(await status()).toBe(200);
    await http.clock.advance(1);
    expect(await status()).toBe(401);
    http.store.keys.findByHash = findByHash;
  });

  it('stands before every route: one that does not say what it demands fails at start', async () => {
    const deps: Partial<HttpDeps> = { metrics: new Registry(), store: http.store, clock: http.clock };
    const { app } = await buildApp(testConfig(), deps as HttpDeps);
    expect(() => app.get('/v1/forgotten', async () => 'open')).toThrow(
      'GET /v1/forgotten declares no access',
    );
  });
});
