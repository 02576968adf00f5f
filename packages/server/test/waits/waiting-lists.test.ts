import { beforeEach, describe, expect, it } from 'vitest';
import { type TestHttp, type TestInbox, useAccounts } from '../http/start-http.ts';

const SECOND = 1_000;

type Ask = (
  http: TestHttp,
  inbox: Pick<TestInbox, 'id' | 'token'>,
  asked: { subject?: string; seconds?: number; since?: string },
  signal?: AbortSignal,
) => ReturnType<TestHttp['api']>;

const list: Ask = (http, { id, token: as }, { subject, seconds = 60, since }, signal) => {
  const query = new URLSearchParams({
    wait: `${seconds}`,
    ...(subject && { subject }),
    ...(since && { since }),
  });
  return http.api('GET', `/v1/inboxes/${id}/messages?${query}`, { as, ...(signal && { signal }) });
};
const wait: Ask = (http, { id, token: as }, { subject, seconds = 60, since }, signal) => {
  const body = { match: { subject }, timeoutSeconds: seconds, since };
  return http.api('POST', `/v1/inboxes/${id}/wait`, { as, body, ...(signal && { signal }) });
};

describe.each([
  ['a list that waits', list],
  ['an explained wait', wait],
])('%s', (_name, ask) => {
  const http = useAccounts();
  let inbox: TestInbox;
  beforeEach(async () => {
    // What the case before explained is stored after a moment, which sleeps, too.
    await http.clock.advance(SECOND);
    inbox = await http.createInbox();
  });

  it('answers at once when something is there, and without waiting with 0 seconds', async () => {
    const id = await http.deliver(inbox);
    for (const seconds of [60, 0])
      expect((await ask(http, inbox, { seconds })).body.messages).toMatchObject([{ id }]);
    const { body } = await ask(http, inbox, { since: id, seconds: 0 });
    expect(body.messages).toEqual([]);
  });

  it('answers at once when a message arrives after the inbox was found and before the wait begins', async () => {
    const { inboxes } = http.store;
    const { findByToken } = inboxes;
    let id = '';
    inboxes.findByToken = async (...args) => {
      const found = await findByToken(...args);
      id ||= await http.deliver(inbox);
      return found;
    };
    const { body } = await ask(http, inbox, {}).finally(() => Object.assign(inboxes, { findByToken }));
    expect(body.messages).toMatchObject([{ id }]);
  });

  it('goes on waiting while nothing matches, and its cursor covers what it passed over', async () => {
    const waiting = ask(http, inbox, { subject: 'reset', since: inbox.cursor });
    await http.clock.untilSleeping();
    await http.deliver(inbox, { subject: 'welcome' });
    await http.clock.untilSleeping();
    const wanted = await http.deliver(inbox, { subject: 'Password RESET' });
    const { body } = await waiting;
    expect(body.messages).toMatchObject([{ id: wanted }]);
    expect((await ask(http, inbox, { since: body.cursor, seconds: 0 })).body.messages).toEqual([]);
  });

  it('answers nothing but the cursor when its time is over, after one last look', async () => {
    const waiting = ask(http, inbox, { subject: 'never', seconds: 30 });
    await http.clock.untilSleeping();
    await http.deliver(inbox);
    await http.clock.untilSleeping();
    await http.clock.advance(30 * SECOND - 1);
    await expect.poll(() => http.clock.sleepers).toBe(1);
    await http.clock.advance(1);
    const { status, body } = await waiting;
    expect([status, body.messages]).toEqual([200, []]);
    const late = await http.deliver(inbox);
    expect((await ask(http, inbox, { since: body.cursor })).body.messages).toMatchObject([{ id: late }]);
  });

  it('finds what was committed without a hint, at the end of its time', async () => {
    const waiting = ask(http, inbox, { seconds: 10 });
    await http.clock.untilSleeping();
    const silent = http.events.publish;
    http.events.publish = () => undefined;
    const id = await http.deliver(inbox);
    http.events.publish = silent;
    await http.clock.advance(10 * SECOND);
    expect((await waiting).body.messages).toMatchObject([{ id }]);
  });

  it('ends at once with 410 when the inbox expires meanwhile, and with 404 when it is deleted', async () => {
    const short = await http.createInbox({ ttlMinutes: 1 });
    await http.clock.advance(50 * SECOND);
    const expiring = ask(http, short, {});
    await http.clock.untilSleeping();
    await http.clock.advance(10 * SECOND);
    expect((await expiring).status).toBe(410);

    const deleted = ask(http, inbox, {});
    await http.clock.untilSleeping();
    await http.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect((await deleted).status).toBe(404);

    const labels = { run: '4711' };
    const run = await Promise.all([http.createInbox({ labels }), http.createInbox({ labels })]);
    const waits = run.map((one) => ask(http, one, {}));
    await http.clock.untilSleeping(2);
    await http.api('DELETE', '/v1/inboxes?label.run=4711');
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual([404, 404]);
  });

  it('frees everything when the client goes away', async () => {
    const gone = new AbortController();
    const waiting = ask(http, inbox, {}, gone.signal);
    await http.clock.untilSleeping();
    gone.abort();
    await expect(waiting).rejects.toThrow();
    while (http.clock.sleepers > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('serves many at once: one message ends all their waits', async () => {
    const waiting = Array.from({ length: 100 }, () => ask(http, inbox, {}));
    await http.clock.untilSleeping(100);
    const id = await http.deliver(inbox);
    for (const { body } of await Promise.all(waiting)) expect(body.messages).toMatchObject([{ id }]);
  });
});
