import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestHttp, type TestInbox, useAccounts } from '../http/start-http.ts';

const SECOND = 1_000;

type Ask = (
  asked: { subject?: string; seconds?: number; since?: string },
  inbox?: TestInbox,
  signal?: AbortSignal,
) => ReturnType<TestHttp['api']>;

const http = useAccounts();
let inbox: TestInbox;
beforeEach(async () => {
  // What the case before explained is stored after a moment, which sleeps, too.
  await http.clock.advance(SECOND);
  inbox = await http.createInbox();
});

const list: Ask = ({ subject, seconds = 60, since }, { id, token: as } = inbox, signal) => {
  const query = new URLSearchParams({
    wait: `${seconds}`,
    ...(subject && { subject }),
    ...(since && { since }),
  });
  return http.api('GET', `/v1/inboxes/${id}/messages?${query}`, { as, ...(signal && { signal }) });
};
const accountList: Ask = ({ subject, seconds = 60, since }, _inbox, signal) => {
  // All words must match: every message has the first one, in its text.
  const q = subject && `hello subject:${subject}`;
  const query = new URLSearchParams({ wait: `${seconds}`, ...(q && { q }), ...(since && { since }) });
  return http.api('GET', `/v1/messages?${query}`, { ...(signal && { signal }) });
};
const wait: Ask = ({ subject, seconds = 60, since }, { id, token: as } = inbox, signal) => {
  const body = { match: { subject }, timeoutSeconds: seconds, since };
  return http.api('POST', `/v1/inboxes/${id}/wait`, { as, body, ...(signal && { signal }) });
};

const ofInbox: [string, Ask][] = [
  ['a list that waits', list],
  ['an explained wait', wait],
];
const all: [string, Ask][] = [...ofInbox, ['a list of the account that waits', accountList]];

describe.each(all)('%s', (_name, ask) => {
  it('answers at once when something is there, and without waiting with 0 seconds', async () => {
    const id = await http.deliver(inbox);
    for (const seconds of [60, 0]) expect((await ask({ seconds })).body.messages).toMatchObject([{ id }]);
    const { cursor } = (await ask({})).body;
    for (const since of ask === accountList ? [cursor] : [cursor, id])
      expect((await ask({ since, seconds: 0 })).body.messages).toEqual([]);
  });

  it('goes on waiting while nothing matches, and its cursor covers what it passed over', async () => {
    const waiting = ask({ subject: 'reset' });
    await http.clock.untilSleeping();
    await http.deliver(inbox, { subject: 'welcome' });
    await http.clock.untilSleeping();
    const wanted = await http.deliver(inbox, { subject: 'Password RESET' });
    const { body } = await waiting;
    expect(body.messages).toMatchObject([{ id: wanted }]);
    expect((await ask({ since: body.cursor, seconds: 0 })).body.messages).toEqual([]);
  });

  it('answers nothing but the cursor when its time is over, after one last look', async () => {
    const waiting = ask({ subject: 'never', seconds: 30 });
    await http.clock.untilSleeping();
    await http.deliver(inbox);
    await http.clock.untilSleeping();
    await http.clock.advance(30 * SECOND - 1);
    await expect.poll(() => http.clock.sleepers).toBe(1);
    await http.clock.advance(1);
    const { status, body } = await waiting;
    // An explained wait has no further pages.
    const { messages, hasMore = false, before = null } = body;
    expect([status, messages, hasMore, before]).toEqual([200, [], false, null]);
    const late = await http.deliver(inbox);
    expect((await ask({ since: body.cursor })).body.messages).toMatchObject([{ id: late }]);
  });

  it('finds what was committed without a hint, at the end of its time', async () => {
    const waiting = ask({ seconds: 10 });
    await http.clock.untilSleeping();
    using _silent = vi.spyOn(http.events, 'publish').mockReturnValue();
    const id = await http.deliver(inbox);
    await http.clock.advance(10 * SECOND);
    expect((await waiting).body.messages).toMatchObject([{ id }]);
  });

  it('frees everything when the client goes away', async () => {
    const gone = new AbortController();
    const waiting = ask({}, inbox, gone.signal);
    await http.clock.untilSleeping();
    gone.abort();
    await expect(waiting).rejects.toThrow();
    while (http.clock.sleepers > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('serves many at once: one message ends all their waits', async () => {
    const waiting = Array.from({ length: 100 }, () => ask({}));
    await http.clock.untilSleeping(100);
    const id = await http.deliver(inbox);
    for (const { body } of await Promise.all(waiting)) expect(body.messages).toMatchObject([{ id }]);
  });
});

it.each(ofInbox)(
  '%s ends at once with 410 when the inbox expires meanwhile, and with 404 when it is deleted',
  async (_name, ask) => {
    const short = await http.createInbox({ ttlMinutes: 1 });
    await http.clock.advance(50 * SECOND);
    const expiring = ask({}, short);
    await http.clock.untilSleeping();
    await http.clock.advance(10 * SECOND);
    expect((await expiring).status).toBe(410);

    const deleted = ask({});
    await http.clock.untilSleeping();
    await http.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect((await deleted).status).toBe(404);

    const labels = { run: '4711' };
    const run = await Promise.all([http.createInbox({ labels }), http.createInbox({ labels })]);
    const waits = run.map((one) => ask({}, one));
    await http.clock.untilSleeping(2);
    await http.api('DELETE', '/v1/inboxes?label.run=4711');
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual([404, 404]);
  },
);

it.each(ofInbox)(
  '%s answers at once when a message arrives after the inbox was found and before the wait begins',
  async (_name, ask) => {
    const { inboxes } = http.store;
    const { findByToken } = inboxes;
    let id = '';
    using _finding = vi.spyOn(inboxes, 'findByToken').mockImplementation(async (...args) => {
      const found = await findByToken(...args);
      id ||= await http.deliver(inbox);
      return found;
    });
    const { body } = await ask({});
    expect(body.messages).toMatchObject([{ id }]);
  },
);
