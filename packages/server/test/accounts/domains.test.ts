import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Answer, useHttp } from '../http/start-http.ts';
import { refusalOf } from '../store/builders.ts';

describe('domains of an account', () => {
  const http = useHttp();
  beforeEach(async () => {
    await http.store.domains.remove('ours.test');
    const createdAt = http.clock.now();
    await http.store.domains.add({ domain: 'ours.test', accountId: http.accountId, createdAt });
    await http.store.domains.add({ domain: 'a.theirs.test', accountId: http.foreignId, createdAt });
  });

  const listed = async (as: string) => (await http.api('GET', '/v1/domains', { as })).body.domains;
  const text = ({ status, headers, body }: Answer) => {
    const fixed = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
    return JSON.stringify([status, fixed, { ...body, requestId: '' }]);
  };
  const shared = [
    { domain: 'mayfly.test', default: true, shared: true },
    { domain: 'second.test', default: false, shared: true },
  ];

  it('are listed beside the shared ones, the default first and then by name, to their account alone', async () => {
    const withOwn = (domain: string) => shared.toSpliced(1, 0, { domain, default: false, shared: false });
    expect(await listed(http.keys.own)).toEqual(withOwn('ours.test'));
    expect(await listed(http.keys.readOnly)).toHaveLength(3);
    expect(await listed(http.keys.foreign)).toEqual(withOwn('a.theirs.test'));
    await http.store.domains.remove('ours.test');
    expect(await listed(http.keys.own)).toEqual(shared);
  });

  it('take inboxes of their account, chosen and generated', async () => {
    const inbox = await http.createInbox({ domain: 'Ours.TEST' });
    expect(inbox.address).toMatch(/@ours\.test$/);
    const chosen = await http.createInbox({ localPart: 'chosen', domain: 'ours.test' });
    expect(chosen).toMatchObject({ address: 'chosen@ours.test', domain: 'ours.test' });
    const generated = await http.api('POST', '/v1/addresses/generate', { body: { domain: 'ours.test' } });
    expect(generated.body).toMatchObject({ domain: 'ours.test' });
    const { address } = generated.body;
    expect(await http.createInbox({ address })).toMatchObject({ address });
  });

  it('are for other accounts like a domain that is not served, byte for byte but for the request id', async () => {
    const ask = async (domain: string, as: string): Promise<string[]> => {
      const texts: string[] = [];
      const post = async (path: string, body: object) =>
        texts.push(text(await http.api('POST', path, { as, body })).replaceAll(domain, 'DOMAIN'));
      for (const how of [{}, { catchAll: true }, { localPart: 'chosen' }])
        await post('/v1/inboxes', { domain, ...how });
      await post('/v1/inboxes', { address: `chosen@${domain}` });
      await post('/v1/addresses/generate', { domain });
      return texts;
    };
    const unserved = await ask('nope.test', http.keys.foreign);
    expect(unserved[0]).toContain('"status":400');
    expect(await ask('ours.test', http.keys.foreign)).toEqual(unserved);
    await http.store.domains.remove('ours.test');
    expect(await ask('ours.test', http.keys.foreign)).toEqual(unserved);
    expect(await ask('ours.test', http.keys.own)).toEqual(await ask('nope.test', http.keys.own));
  });

  it('cost nothing where shared ones are used: they are not looked up', async () => {
    using _list = vi.spyOn(http.store.domains, 'list').mockRejectedValue(new Error('asked'));
    expect((await http.api('POST', '/v1/inboxes', { body: { domain: 'second.test' } })).status).toBe(201);
    expect((await http.api('POST', '/v1/addresses/generate')).status).toBe(200);
    expect((await http.api('POST', '/v1/inboxes', { body: { domain: 'x.test' } })).status).toBe(500);
  });

  describe('in explained waits', () => {
    const refuse = (address: string) =>
      http.store.refusals.add([refusalOf(address, { at: http.clock.now() })]);
    const explained = async (inbox: { id: string; token: string }, as: string) => {
      const path = `/v1/inboxes/${inbox.id}/wait`;
      const { body } = await http.api('POST', path, { as, body: { timeoutSeconds: 0 } });
      const { nearMisses, refused } = body.explanation;
      return [nearMisses, refused].map((all) => all.map(({ address }: { address: string }) => address));
    };

    it('are looked at for their account, and never shown to another', async () => {
      const mine = await http.createInbox({ localPart: 'signup', domain: 'mayfly.test' });
      const there = await http.createInbox({ localPart: 'sign.up', domain: 'ours.test' });
      const alike = { localPart: 'sign-up', domain: 'mayfly.test' };
      const theirs = await http.createInbox(alike, http.keys.foreign);
      const refused = ['sign-up@ours.test', 'signup@ours.test'];
      for (const address of refused) await refuse(address);
      expect(await explained(mine, http.keys.own)).toEqual([['signup@ours.test'], []]);
      expect((await explained(there, http.keys.own))[0]?.toSorted()).toEqual(refused);
      expect(await explained(theirs, http.keys.foreign)).toEqual([[], []]);
      // A read token knows its inbox only.
      expect(await explained(theirs, theirs.token)).toEqual([[], []]);
      await http.store.domains.remove('ours.test');
      expect(await explained(theirs, http.keys.foreign)).toEqual([[], []]);
    });
  });
});
