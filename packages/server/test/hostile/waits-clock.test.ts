import { beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestInbox } from '../http/start-http.ts';
import { openStream } from '../support/event-stream.ts';

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;

describe.each([
  ['an hour forwards', HOUR],
  ['an hour backwards', -HOUR],
])('when the wall clock is set %s', (_name, jump) => {
  let http: TestHttp;
  let inbox: TestInbox;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox({ ttlMinutes: 600 });
    return () => http.stop();
  });

  const wait = (body: object) => http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
  /** Resolves with whether a response arrived before the clock moves on. */
  const isAnswered = async (response: Promise<unknown>): Promise<boolean> => {
    const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), 50));
    return Promise.race([response.then(() => true), pause]);
  };

  /** Sets the clock while a request is held, and makes it look again. */
  const stepClock = async (ms = jump) => {
    await http.clock.untilSleeping();
    http.clock.step(ms);
    http.events.publish({ inboxId: inbox.id, accountId: http.accountId });
  };

  it('an explained wait of 3 seconds ends after 3 seconds', async () => {
    const waiting = wait({ timeoutSeconds: 3 });
    await http.clock.untilSleeping();
    http.clock.step(jump);
    await http.deliver(inbox, { subject: 'other' }).then(() => http.clock.untilSleeping(0));
    const { body } = await waiting;
    expect(body.matched).toBe(true);

    const second = wait({ match: { subject: 'never' }, timeoutSeconds: 3 });
    await stepClock(-jump);
    expect(await isAnswered(second)).toBe(false);
    await http.clock.advance(2 * SECOND);
    expect(await isAnswered(second)).toBe(false);
    await http.clock.advance(1 * SECOND);
    expect((await second).body).toMatchObject({ matched: false, explanation: { reason: 'timeout' } });
  });

  it('silence is not confirmed before its time is over', async () => {
    const waiting = wait({ count: 0, timeoutSeconds: 3 });
    await stepClock();
    expect(await isAnswered(waiting)).toBe(false);
    await http.deliver(inbox);
    const explanation = { reason: 'unexpected_message' };
    expect((await waiting).body).toMatchObject({ matched: false, explanation });
  });

  it.each(['inbox', 'account'])(
    'a list of the %s that waits 3 seconds ends after 3 seconds',
    async (kind) => {
      const path = kind === 'inbox' ? `/v1/inboxes/${inbox.id}/messages` : '/v1/messages';
      const waiting = http.api('GET', `${path}?wait=3`);
      await stepClock();
      expect(await isAnswered(waiting)).toBe(false);
      await http.clock.advance(3 * SECOND);
      expect((await waiting).body.messages).toEqual([]);
    },
  );

  it('a stream still sends its comment every 15 seconds', async () => {
    const reader = await openStream(`${http.url}/v1/inboxes/${inbox.id}/events`, { as: http.keys.own });
    await reader.next();
    await http.clock.untilSleeping();
    http.clock.step(jump);
    for (let beat = 0; beat < 3; beat++) {
      await http.clock.untilSleeping();
      await http.clock.advance(15 * SECOND);
      expect(await reader.next()).toHaveProperty('comment');
    }
    reader.close();
  });

  it('a revoked key stays revoked', async () => {
    const { id, key } = (await http.api('POST', '/v1/keys', { body: { name: 'short' } })).body;
    const read = async () => (await http.api('GET', `/v1/inboxes/${inbox.id}`, { as: key })).status;
    expect(await read()).toBe(200);
    await http.api('DELETE', `/v1/keys/${id}`);
    http.clock.step(jump);
    await http.clock.advance(SECOND);
    expect(await read()).toBe(401);
  });

  it('an inbox that was swept does not come back', async () => {
    const short = await http.createInbox({ ttlMinutes: 1 });
    await http.clock.advance(61 * SECOND);
    while ((await http.store.upkeep.sweep(http.clock.now(), 1_000)) > 0);
    http.clock.step(jump);
    for (const as of [short.token, http.keys.own])
      expect((await http.api('GET', `/v1/inboxes/${short.id}`, { as })).status).toBe(410);
    const { body } = await http.api('GET', '/v1/inboxes');
    expect(body.inboxes.map(({ id }: TestInbox) => id)).not.toContain(short.id);
  });
});
