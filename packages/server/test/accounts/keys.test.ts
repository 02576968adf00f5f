import { describe, expect, it } from 'vitest';
import { MAX_KEYS_PER_ACCOUNT, newKey } from '../../src/accounts/keys.ts';
import { hasValidChecksum } from '../../src/ids.ts';
import { type Answer, type Body, startHttp, useHttp } from '../http/start-http.ts';

describe('API keys', () => {
  const http = useHttp();

  const create = (body: object = {}, as = http.keys.own): Promise<Answer> =>
    http.api('POST', '/v1/keys', { as, body: { name: 'ci', ...body } });
  const list = async (as = http.keys.own): Promise<Body[]> =>
    (await http.api('GET', '/v1/keys', { as })).body.keys;
  const revoke = (id: string, as = http.keys.own) => http.api('DELETE', `/v1/keys/${id}`, { as });
  /** What a key is told when it reads, and when it writes. */
  const tried = async (as: string) => [
    (await http.api('GET', '/v1/inboxes', { as })).status,
    (await http.api('POST', '/v1/inboxes', { as })).status,
  ];
  const idOf = async (name: string): Promise<string> =>
    (await list()).find((key) => key.prefix === name.slice(0, key.prefix.length))?.id;

  it('are made with a secret that works at once and is shown this once, and listed with their last use', async () => {
    const { status, headers, body } = await create({ name: 'Zoë’s laptop 💻' });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/v1/keys/${body.id}`);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({ name: 'Zoë’s laptop 💻', scope: 'full', expiresAt: null, lastUsedAt: null });
    expect(body.key).toMatch(/^mfk_\w{33}$/);
    expect([hasValidChecksum(body.key), body.key.startsWith(body.prefix)]).toEqual([true, true]);
    expect(await tried(body.key)).toEqual([200, 201]);
    const { key, ...shown } = body;
    await http.usage.report();
    expect(await list()).toContainEqual({ ...shown, lastUsedAt: new Date(http.clock.now()).toISOString() });
    expect(JSON.stringify([await list(), http.logged])).not.toContain(key.slice(8));
  });

  it('die at their expiry, to the millisecond, and stay listed', async () => {
    const expiresAt = new Date(http.clock.now() + 60_000).toISOString();
    const { body } = await create({ expiresAt: expiresAt.replace('Z', '+00:00') });
    expect(body.expiresAt).toBe(expiresAt);
    await http.clock.advance(59_999);
    expect(await tried(body.key)).toEqual([200, 201]);
    await http.clock.advance(1);
    expect(await tried(body.key)).toEqual([401, 401]);
    expect((await list()).map(({ id }) => id)).toContain(body.id);
  });

  it('take no expiry but a time in the future', async () => {
    const now = new Date(http.clock.now()).toISOString();
    const odd = ['2999-12-31T23:59:60Z', '9999-12-31T23:59:59-12:00', '2999-02-30T00:00:00Z', '2999-01-01'];
    for (const expiresAt of [now, '2001-01-01T00:00:00Z', ...odd, 'tomorrow', '']) {
      const { status, body } = await create({ expiresAt });
      expect([expiresAt, status, body.code]).toEqual([expiresAt, 400, 'invalid_request']);
      expect(body.errors.map(({ path }: Body) => path)).toEqual(['/expiresAt']);
    }
  });

  it('leave one that is live and does everything: the last cannot be revoked', async () => {
    await http.stop();
    Object.assign(http, await startHttp());
    const own = await idOf(http.keys.own);
    await create({ expiresAt: new Date(http.clock.now() + 1_000).toISOString() });
    await http.clock.advance(1_000);
    const refused = await revoke(own);
    expect([refused.status, refused.body.code]).toEqual([409, 'last_key']);
    expect(await tried(http.keys.own)).toEqual([200, 201]);
    const other = await create();
    expect((await revoke(own)).status).toBe(204);
    expect(await tried(http.keys.own)).toEqual([401, 401]);
    expect((await revoke(other.body.id, other.body.key)).body.code).toBe('last_key');
    http.keys.own = other.body.key;
  });

  it(`are at most ${MAX_KEYS_PER_ACCOUNT} an account`, async () => {
    const now = http.clock.now();
    const wanted = { accountId: http.accountId, name: 'x', scope: 'read', expiresAt: null } as const;
    const missing = MAX_KEYS_PER_ACCOUNT - (await list()).length;
    // One after the other: a thousand at once wait for a connection to PostgreSQL for longer than it allows.
    for (let n = 1; n < missing; n++) await http.store.keys.create(newKey(wanted, now).record);
    const last = await create();
    expect(last.status).toBe(201);
    const refused = await create();
    expect([refused.status, refused.body.code]).toEqual([409, 'limit_reached']);
    expect((await create({}, http.keys.foreign)).status).toBe(201);
    await revoke(last.body.id);
    const atOnce = await Promise.all(Array.from({ length: 50 }, () => create()));
    expect(atOnce.map(({ status }) => status).toSorted()).toEqual([201, ...Array(49).fill(409)]);
    expect(await list()).toHaveLength(MAX_KEYS_PER_ACCOUNT);
  });
});
