import { describe, expect, it } from 'vitest';
import { useAccounts } from '../http/start-http.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (time: number) => new Date(time).toISOString();

const http = useAccounts();

describe('inboxes', () => {
  it('are created without a body: 201, Location, a random address, an hour of life, and a read token', async () => {
    const created = await http.api('POST', '/v1/inboxes');
    expect(created.status).toBe(201);
    const { id, token, ...rest } = created.body;
    expect(created.headers.get('location')).toBe(`/v1/inboxes/${id}`);
    expect(created.headers.get('cache-control')).toBe('no-store');
    expect(token).toMatch(/^mft_/);
    const now = http.clock.now();
    expect(rest).toEqual({
      address: expect.stringMatching(/^[a-z]+\.[a-z]+\d+@mayfly\.test$/),
      ...{ domain: 'mayfly.test', labels: {}, catchAll: false, phoneNumber: null },
      ...{ eviction: 'none', replay: 'none', messageCount: 0, full: false, lastMessageAt: null },
      ...{ ttlMinutes: 60, createdAt: at(now), expiresAt: at(now + HOUR) },
      maxExpiresAt: at(now + 43_200 * MINUTE),
      cursor: expect.stringMatching(/^cur_/),
    });
    const fetched = await http.api('GET', `/v1/inboxes/${id}`, { as: token });
    expect(fetched.body).toEqual({ id, ...rest });
  });

  it('take the address that is wished for, by local part, by address, and on another domain', async () => {
    expect((await http.createInbox({ localPart: 'ada' })).address).toBe('ada@mayfly.test');
    expect((await http.createInbox({ address: 'bob@second.test' })).address).toBe('bob@second.test');
    const both = { domain: 'second.test', localPart: 'ada' };
    expect((await http.createInbox(both)).address).toBe('ada@second.test');
    const again = await http.api('POST', '/v1/inboxes', { body: { localPart: 'ada' } });
    expect([again.status, again.body.code]).toEqual([409, 'address_taken']);
  });

  it.each(
    Object.entries({
      '/ttlMinutes of {"ttlMinutes": 43201}':
        '"ttlMinutes" must be from 1 to 43200 minutes, the maximum of the plan "unlimited", not 43201.',
      '/domain of {"domain": "mayfly.tets"}':
        '"domain" must be one of the served domains, not "mayfly.tets". Served domains are "mayfly.test", "second.test". Did you mean "mayfly.test"?',
      '/localPart of {"localPart": "Ada"}':
        'The local part "Ada" must have 1 to 64 of the characters a-z 0-9 . _ - and no leading, trailing or double dot.',
      '/localPart of {"localPart": "postmaster"}':
        'The local part "postmaster" is reserved for the operator of the domain (RFC 2142). Choose another one.',
      '/address of {"address": "ada"}':
        '"address" must be an email address such as "signup-test@mayfly.test", not "ada". To choose only the part before the @, send "localPart".',
      '/address of {"address": "ada+x@mayfly.test"}':
        'The local part "ada+x" must have 1 to 64 of the characters a-z 0-9 . _ - and no leading, trailing or double dot.',
      '/address of {"address": "ada@elsewhere.test"}':
        'The domain of "address" must be one of the served domains, not "elsewhere.test". Served domains are "mayfly.test", "second.test".',
      '/localPart of {"address": "eve@mayfly.test", "localPart": "eve"}':
        '"localPart" cannot be given together with "address", which contains it. Send one of the two.',
      '/labels/a b of {"labels": {"a b": "x"}}':
        'The label name "a b" must have 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit.',
      '/labels/run of {"labels": {"run": 7}}': '"labels.run" must be a string, not 7.',
      '/labels/run of {"labels": {"run": "a\\u0000b"}}':
        '"labels.run" must not contain control characters or unpaired surrogates. Remove them.',
      [`/labels/run of {"labels": {"run": "${'x'.repeat(257)}"}}`]:
        '"labels.run" must have at most 256 characters; it has 257.',
    }),
  )('refuse and name the field: %s', async (field, message) => {
    const [path, body] = field.split(' of ');
    const answer = await http.api('POST', '/v1/inboxes', { body });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors).toContainEqual({ path, message });
  });

  it('are found by label and by words, page by page, and deleted by label alone', async () => {
    const ids: string[] = [];
    for (const worker of ['1', '2', '3']) {
      const labels = { run: 'Nightly 4711', worker, constructor: 'odd' };
      ids.unshift((await http.createInbox({ labels })).id);
      http.clock.advance(1);
    }
    const other = await http.createInbox({ labels: { run: 'other', worker: '1' } });
    const found = async (query: string, as = http.keys.own) => {
      const { body } = await http.api('GET', `/v1/inboxes?${query}`, { as });
      return [body.inboxes.map(({ id }: { id: string }) => id), body.hasMore];
    };
    const run = 'label.run=Nightly%204711';
    expect(await found(`${run}&label.constructor=odd&limit=2`)).toEqual([ids.slice(0, 2), true]);
    expect(await found(`${run}&before=${ids[1]}`)).toEqual([ids.slice(2), false]);
    expect(await found('q=%20nightly%20%20run=night%20&limit=2')).toEqual([ids.slice(0, 2), true]);
    expect(await found('q=worker&label.worker=1')).toEqual([[other.id, ids[2]], false]);
    expect(await found('q=nightly', http.keys.foreign)).toEqual([[], false]);
    expect((await http.api('GET', '/v1/inboxes?q=')).status).toBe(400);

    const remove = async (query: string, as = http.keys.own) =>
      (await http.api('DELETE', `/v1/inboxes${query}`, { as })).body;
    expect(await remove('')).toMatchObject({ status: 400 });
    expect(await remove(`?${run}`, http.keys.foreign)).toEqual({ deleted: 0 });
    expect(await remove(`?${run}&label.worker=1`)).toEqual({ deleted: 1 });
    expect(await remove(`?${run}`)).toEqual({ deleted: 2 });
    expect(await found('')).toEqual([[other.id], false]);
  });

  it('are extended from now on, never past the longest life', async () => {
    const { id } = await http.createInbox({ ttlMinutes: 10 });
    await http.clock.advance(5 * MINUTE);
    const extended = await http.api('PATCH', `/v1/inboxes/${id}`, { body: { ttlMinutes: 30 } });
    expect(extended.body).toMatchObject({ ttlMinutes: 30, expiresAt: at(http.clock.now() + 30 * MINUTE) });
    const longest = await http.api('PATCH', `/v1/inboxes/${id}`, { body: { ttlMinutes: 43_200 } });
    expect(longest.body.expiresAt).toBe(longest.body.maxExpiresAt);
    const beyond = await http.api('PATCH', `/v1/inboxes/${id}`, { body: { ttlMinutes: 43_201 } });
    expect(beyond.body.errors).toMatchObject([{ path: '/ttlMinutes' }]);
  });
});

it('a generated address is held for ten minutes for the account that asked', async () => {
  const generated = await http.api('POST', '/v1/addresses/generate', { body: { domain: 'second.test' } });
  expect(generated.status).toBe(200);
  const { address, localPart, domain, heldUntil } = generated.body;
  expect(address).toBe(`${localPart}@${domain}`);
  expect(domain).toBe('second.test');
  expect(heldUntil).toBe(at(http.clock.now() + 10 * MINUTE));
  const stranger = await http.api('POST', '/v1/inboxes', { body: { address }, as: http.keys.foreign });
  expect(stranger.body.code).toBe('address_taken');
  expect((await http.createInbox({ address })).address).toBe(address);
});

describe('an idempotency key', () => {
  const create = (key: string, body: object, as = http.keys.own) =>
    http.api('POST', '/v1/inboxes', { body, as, headers: { 'idempotency-key': key } });

  it('answers the same however the fields of the body are ordered', async () => {
    const domain = 'mayfly.test';
    const first = await create('run-2', { ttlMinutes: 5, domain, labels: { a: '1', b: '2' } });
    const second = await create('run-2', { labels: { b: '2', a: '1' }, domain, ttlMinutes: 5 });
    expect(second.body).toEqual(first.body);
  });

  it('is refused with another body, and is forgotten after a day', async () => {
    await create('run-3', { ttlMinutes: 5 });
    const reused = await create('run-3', { ttlMinutes: 6 });
    expect([reused.status, reused.body.code]).toEqual([422, 'idempotency_key_reused']);
    await http.clock.advance(24 * HOUR + 1);
    expect((await create('run-3', { ttlMinutes: 6 })).status).toBe(201);
  });

  it('returns the same inbox and the same token whichever credential of the account repeats the request', async () => {
    const first = await create('run-5', { ttlMinutes: 5 });
    const { body: other } = await http.api('POST', '/v1/keys', { body: { name: 'other' } });
    const second = await create('run-5', { ttlMinutes: 5 }, other.key);
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await create('run-5', { ttlMinutes: 6 }, other.key)).body.code).toBe('idempotency_key_reused');
  });

  it('means nothing to another account', async () => {
    const own = await create('run-4', {});
    const foreign = await create('run-4', {}, http.keys.foreign);
    expect(foreign.status).toBe(201);
    expect(foreign.body.id).not.toBe(own.body.id);
  });

  it.each(['', 'a b', 'x'.repeat(256), 'sch\u00f6n'])('is refused when it is %j', async (key) => {
    expect((await create(key, {})).status).toBe(400);
  });
});
