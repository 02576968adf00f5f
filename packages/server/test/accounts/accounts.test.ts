import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { SIGN_UPS_PER_ADDRESS, SIGN_UPS_PER_MINUTE } from '../../src/accounts/keys.ts';
import { type Answer, httpOfTest, useHttp } from '../http/start-http.ts';

describe('signing up', () => {
  const http = useHttp({ signupPlan: 'free' });
  // Longer than any limit of sign-ups counts.
  beforeEach(() => http.clock.leap(600_000));

  const signUp = (body: unknown = { name: 'Web team' }): Promise<Answer> =>
    http.api('POST', '/v1/accounts', { as: null, body });

  it('is off by default: 404, and whom to ask', async () => {
    const off = await httpOfTest();
    const { status, body } = await off.api('POST', '/v1/accounts', { as: null, body: { name: 'x' } });
    expect([status, body.code]).toEqual([404, 'not_found']);
    expect(body.detail).toBe('This server has no sign-up. Ask its operator for an account.');
  });

  it('makes an account of the plan that the operator named, with a key that is shown this once', async () => {
    const { status, headers, body } = await signUp();
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(body).toEqual({
      account: { id: expect.stringMatching(/^acc_/), name: 'Web team', plan: 'free' },
      key: expect.stringMatching(/^mfk_\w{33}$/),
    });
    expect(http.logged.join('')).not.toContain(body.key.slice(8));
    await http.createInbox();
    expect((await http.api('GET', '/v1/inboxes', { as: body.key })).body.inboxes).toEqual([]);
    const inbox = await http.createInbox({ ttlMinutes: 60 }, body.key);
    expect((await http.api('GET', `/v1/inboxes/${inbox.id}`)).status).toBe(404);
    const tooLong = await http.api('POST', '/v1/inboxes', { as: body.key, body: { ttlMinutes: 61 } });
    expect(tooLong.body.code).toBe('invalid_request');
    const keys = await http.api('GET', '/v1/keys', { as: body.key });
    expect(keys.body.keys).toMatchObject([{ name: 'first key', scope: 'full', expiresAt: null }]);
  });

  it(`is done ${SIGN_UPS_PER_ADDRESS} times from one address, then once in two minutes; a mistake costs none of them`, async () => {
    expect((await signUp({ name: '' })).status).toBe(400);
    for (let i = 0; i < SIGN_UPS_PER_ADDRESS; i++) expect((await signUp()).status).toBe(201);
    const refused = await signUp();
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('retry-after')).toBe('120');
    await http.clock.leap(119_000);
    expect((await signUp()).status).toBe(429);
    await http.clock.leap(1_000);
    expect([(await signUp()).status, (await signUp()).status]).toEqual([201, 429]);
  });

  it(`is done ${SIGN_UPS_PER_MINUTE} times a minute from all addresses`, async () => {
    const body = JSON.stringify({ name: 'Web team' });
    const signUpFrom = async (localAddress: string): Promise<number> => {
      const socket = connect({ port: http.port, host: '127.0.0.1', localAddress });
      socket.write('POST /v1/accounts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n');
      socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return Number((await text(socket)).slice('HTTP/1.1 '.length, 12));
    };
    for (let i = 0; i < SIGN_UPS_PER_ADDRESS; i++) expect(await signUpFrom('127.0.0.99')).toBe(201);
    // One address leaves sign-ups to others, however often it is refused.
    for (let i = 0; i < SIGN_UPS_PER_MINUTE; i++) expect(await signUpFrom('127.0.0.99')).toBe(429);
    for (let i = SIGN_UPS_PER_ADDRESS; i < SIGN_UPS_PER_MINUTE; i++)
      expect(await signUpFrom(`127.0.0.${i + 2}`)).toBe(201);
    expect(await signUpFrom('127.0.0.100')).toBe(429);
    await http.clock.leap(6_000);
    expect(await signUpFrom('127.0.0.100')).toBe(201);
  });
});
