import { beforeAll, describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../http/start-http.ts';
import { refusalOf } from '../store/builders.ts';

describe('GET /v1/refusals', () => {
  const http = useHttp();
  let own: TestInbox;
  let foreign: TestInbox;
  beforeAll(async () => {
    own = await http.createInbox({ address: 'mine@mayfly.test' });
    foreign = await http.createInbox({ address: 'theirs@mayfly.test' }, http.keys.foreign);
    const at = http.clock.now();
    const refusal = (address: string, later: number, reply = '452 4.2.2 The inbox is full') =>
      refusalOf(address, { at: at + later, reply });
    await http.store.refusals.add([
      ...[refusal(own.address, 1), refusal(foreign.address, 2), refusal('nobody@mayfly.test', 3)],
      refusal(own.address, 4, '552 5.3.4 Message too large'),
      refusal('', 5, 'The client rejected the certificate'),
    ]);
    await http.clock.advance(10);
  });

  const list = (query = '', as = http.keys.own) => http.api('GET', `/v1/refusals${query}`, { as });

  it('lists refusals for the addresses of the account, newest first, and of no other account', async () => {
    const refusals = [
      { address: own.address, reply: '552 5.3.4 Message too large', remoteAddress: '127.0.0.1' },
      { address: own.address, reply: '452 4.2.2 The inbox is full' },
    ];
    expect(await list()).toMatchObject({ status: 200, body: { refusals, hasMore: false } });
    const { body: theirs } = await list('', http.keys.foreign);
    expect(theirs.refusals).toMatchObject([{ address: foreign.address }]);
  });

  it('is narrowed by time, by address and by number', async () => {
    const { body } = await list('?limit=1');
    expect(body).toMatchObject({ refusals: { length: 1 }, hasMore: true });
    const since = encodeURIComponent(body.refusals[0].at);
    expect((await list(`?since=${since}`)).body.refusals).toEqual([]);
    expect((await list('?address=Mine%2Btag@Mayfly.test')).body.refusals).toHaveLength(2);
    expect((await list('?address=mine+tag@mayfly.test')).body.refusals).toHaveLength(2);
    expect((await list(`?address=${foreign.address}`)).body.refusals).toEqual([]);
  });

  it('still lists those of an inbox that ended, for 24 hours', async () => {
    const gone = await http.createInbox();
    await http.store.refusals.add([refusalOf(gone.address, { at: http.clock.now() })]);
    await http.api('DELETE', `/v1/inboxes/${gone.id}`);
    const query = `?address=${gone.address}`;
    expect((await list(query)).body.refusals).toHaveLength(1);
    await http.clock.leap(25 * 60 * 60 * 1_000);
    expect((await list(query)).body.refusals).toEqual([]);
  });

  it.each([
    ['since=yesterday', 'invalid_since'],
    ['address=nobody', 'invalid_request'],
  ])('rejects %s', async (query, code) => {
    const { status, body } = await list(`?${query}`);
    expect([status, body.code]).toEqual([400, code]);
  });
});
