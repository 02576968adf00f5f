import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSlots, readUntil } from '../../src/messages/held.ts';
import { startHttp, type TestHttp, type TestInbox } from '../http/start-http.ts';
import { openStream } from '../support/event-stream.ts';
import { FakeClock } from '../support/fake-clock.ts';

const HELD = 200;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('many held requests on one inbox', () => {
  let http: TestHttp;
  let inbox: TestInbox;
  let reads: string[];
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox();
    reads = [];
    const messages = http.store.messages as unknown as Record<string, (...args: unknown[]) => unknown>;
    for (const [name, read] of Object.entries(messages)) {
      if (!/^(list|search|newestInAccount)/.test(name)) continue;
      messages[name] = (...args) => {
        reads.push(name);
        return read(...args);
      };
    }
  });
  afterEach(() => http.stop());

  it.each([
    ['lists', () => http.api('GET', `/v1/inboxes/${inbox.id}/messages?wait=60`)],
    ['lists of the account', () => http.api('GET', '/v1/messages?wait=60')],
    ['explained waits', () => http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: {} })],
  ])('%s look for a message once and not once each', async (_name, request) => {
    const waiting = Array.from({ length: HELD }, request);
    await http.clock.untilSleeping(HELD);
    reads.length = 0;
    const id = await http.deliver(inbox);
    for (const { body } of await Promise.all(waiting)) expect(body.messages).toMatchObject([{ id }]);
    expect(reads.length).toBeLessThan(10);
  });

  it.each([
    ['the inbox', () => `/v1/inboxes/${inbox.id}/events`],
    ['the account', () => '/v1/events'],
  ])('streams of %s read a message once and not once each', async (_name, path) => {
    const readers = await Promise.all(
      Array.from({ length: HELD }, () => openStream(http.url + path(), { as: http.keys.own })),
    );
    await http.clock.untilSleeping(HELD);
    reads.length = 0;
    const id = await http.deliver(inbox);
    for (const reader of readers) expect((await reader.nextEvent())?.data.message.id).toBe(id);
    expect(reads.length).toBeLessThan(10);
    for (const reader of readers) reader.close();
    while (http.clock.sleepers > 0) await turn();
  });
});

describe('many held requests that resume at the same time', () => {
  it.each(['a change', 'the end of their time'])(
    'do it a few in each turn of the event loop, one account after the other, after %s',
    async (why) => {
      const end = Promise.withResolvers<void>();
      // All timers of one millisecond fire in one turn, as those of Node do.
      const sleep = (_ms: number, signal?: AbortSignal) =>
        Promise.race([
          end.promise,
          new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
        ]);
      const clock = Object.assign(new FakeClock(), { sleep });
      const listeners: (() => void)[] = [];
      const resumed: string[] = [];
      const deps = { clock, wakes: createSlots(5), signal: new AbortController().signal };
      const hold = async (accountId: string): Promise<void> => {
        const subscribe = (listener: () => void) => {
          listeners.push(listener);
          return () => undefined;
        };
        let reads = 0;
        await readUntil({ ...deps, source: { accountId, subscribe } }, 1_000, async () => {
          reads++;
          return { result: null, isFinal: reads > 1, until: Number.POSITIVE_INFINITY };
        });
        expect(reads).toBe(2);
        resumed.push(accountId);
      };
      const waiting = [...Array.from({ length: 1_000 }, () => hold('many')), hold('one')];
      await turn();
      if (why === 'a change') for (const change of [...listeners, ...listeners]) change();
      else end.resolve();
      let mostInATurn = 0;
      for (let before = 0; resumed.length < waiting.length; before = resumed.length) {
        await turn();
        mostInATurn = Math.max(mostInATurn, resumed.length - before);
      }
      await Promise.all(waiting);
      expect(mostInATurn).toBeLessThan(20);
      expect(resumed.indexOf('one')).toBeLessThan(20);
    },
  );
});
