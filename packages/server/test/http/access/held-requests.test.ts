import { describe, expect, it } from 'vitest';
import { MAX_HELD_PER_ACCOUNT } from '../../../src/http/limits.ts';
import { hashCredential, newCredential, newId } from '../../../src/ids.ts';
import { useAccounts } from '../start-http.ts';

describe('a held request', () => {
  const http = useAccounts();

  const REVOKED = ': The API key or token is unknown, revoked or expired.';
  const follow = (key: string) =>
    fetch(`${http.url}/v1/events`, { headers: { authorization: `Bearer ${key}` } });

  it('ends with 401 when its key is revoked, and so does a stream; those of other keys go on', async () => {
    const inbox = await http.createInbox();
    const { body: leaked } = await http.api('POST', '/v1/keys', { body: { name: 'leaked' } });
    const wait = `/v1/inboxes/${inbox.id}/messages?wait=60`;
    const dying = http.api('GET', wait, { as: leaked.key });
    const explained = http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: leaked.key, body: {} });
    const living = http.api('GET', wait);
    const stream = await follow(leaked.key);
    await http.clock.untilSleeping(4);
    expect((await http.api('DELETE', `/v1/keys/${leaked.id}`)).status).toBe(204);
    for (const { body } of [await dying, await explained])
      expect(body).toMatchObject({ status: 401, code: 'unauthorized' });
    expect(await stream.text()).toContain(REVOKED);
    await http.deliver(inbox);
    expect((await living).body.messages).toHaveLength(1);
  });

  it.each(['another process revokes its key', 'its key expires'])(
    'ends with 401 when %s, and so does a stream',
    async (why) => {
      const inbox = await http.createInbox();
      const [key, createdAt] = [newCredential('mfk'), http.clock.now()];
      const id = newId('key', createdAt);
      await http.store.keys.create({
        ...{ id, accountId: http.accountId, name: 'short', scope: 'full', prefix: 'mfk_', createdAt },
        ...{ expiresAt: createdAt + 20_000, hash: hashCredential(key) },
      });
      const dying = http.api('GET', `/v1/inboxes/${inbox.id}/messages?wait=60`, { as: key });
      const stream = await follow(key);
      await http.clock.untilSleeping(2);
      const isRevoked = why !== 'its key expires';
      if (isRevoked) await http.store.keys.revoke(http.accountId, id, false, createdAt);
      await http.clock.advance(isRevoked ? 500 : 20_000);
      await http.recheckHeld();
      expect((await dying).status).toBe(401);
      expect(await stream.text()).toContain(REVOKED);
    },
  );

  it('is one of a thousand of its account: the next is told so, other accounts wait on', async () => {
    const inbox = await http.createInbox();
    const foreign = await http.createInbox({}, http.keys.foreign);
    const path = ({ id }: { id: string }) => `/v1/inboxes/${id}/messages?wait=60`;
    const gone = new AbortController();
    const held = Array.from({ length: MAX_HELD_PER_ACCOUNT }, () =>
      http.api('GET', path(inbox), { signal: gone.signal }).catch(() => 'left'),
    );
    await http.clock.untilSleeping(MAX_HELD_PER_ACCOUNT);
    const refused = await http.api('GET', path(inbox));
    expect(refused.body).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(refused.headers.get('retry-after')).toBe('1');
    const stream = await http.api('GET', `/v1/inboxes/${inbox.id}/events`);
    expect(stream.body).toMatchObject({ status: 429, code: 'rate_limited' });
    const other = http.api('GET', path(foreign), { as: http.keys.foreign });
    await http.clock.untilSleeping(MAX_HELD_PER_ACCOUNT + 1);
    await http.deliver(foreign, {}, http.foreignId);
    expect((await other).status).toBe(200);
    gone.abort();
    await Promise.all(held);
    while (http.clock.sleepers > 0) await new Promise((resolve) => setImmediate(resolve));
    const again = http.api('GET', path(inbox));
    await http.clock.untilSleeping();
    await http.deliver(inbox);
    expect((await again).status).toBe(200);
  });
});
