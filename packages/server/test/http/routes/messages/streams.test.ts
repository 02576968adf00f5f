import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EventReader, openStream } from '../../../support/event-stream.ts';
import { type Body, startHttp, type TestInbox, useHttp } from '../../start-http.ts';

const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;
const TYPE = 'text/event-stream; charset=utf-8';
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a stream', () => {
  const http = useHttp();
  let inbox: TestInbox;
  let readers: EventReader[];
  beforeEach(async () => {
    readers = [];
    // The inboxes of the case before are over by then.
    await http.clock.advance(2 * HOUR);
    inbox = await http.createInbox();
  });
  afterEach(async () => {
    for (const reader of readers) reader.close();
    while (http.clock.sleepers > 0) await turn();
  });

  const open = async (path: string, as = http.keys.own, lastEventId?: string): Promise<EventReader> => {
    const reader = await openStream(`${http.url}${path}`, { as, lastEventId });
    readers.push(reader);
    return reader;
  };
  const events = (from = inbox): string => `/v1/inboxes/${from.id}/events`;
  const take = async (reader: EventReader, count: number): Promise<Body[]> => {
    const taken: Body[] = [];
    for (let i = 0; i < count; i++) taken.push(await reader.nextEvent());
    return taken;
  };
  const idsOf = (taken: Body[]): string[] => taken.map(({ data }) => data.message.id);

  describe.each<[string, () => string]>([
    ['of an inbox', events],
    ['of the account', () => '/v1/events'],
  ])('%s', (_name, path) => {
    it('shows what is there and what comes, oldest first, as a list shows it', async () => {
      const first = await http.deliver(inbox, { subject: 'one\nline' });
      const reader = await open(path());
      expect([reader.status, reader.headers['content-type']]).toEqual([200, TYPE]);
      expect(reader.headers['cache-control']).toMatch(/no-cache/);
      const second = await http.deliver(inbox);
      const taken = await take(reader, 2);
      const { body } = await http.api('GET', `/v1/inboxes/${inbox.id}/messages`);
      expect(body.messages.map(({ id }: Body) => id)).toEqual([second, first]);
      for (const [n, { event, data }] of taken.toReversed().entries()) {
        expect(event).toBe('message.received');
        expect(data).toEqual({ inboxId: inbox.id, message: body.messages[n] });
      }
      expect(JSON.stringify(taken)).not.toContain(http.accountId);
    });

    it('begins with how soon to come back and the place to come back to', async () => {
      const reader = await open(path());
      const begin = await reader.next();
      expect(begin).toEqual({ retry: '1000', id: expect.any(String) });
      reader.close();
      const id = await http.deliver(inbox);
      const [event] = await take(await open(path(), http.keys.own, begin?.id), 1);
      expect(event.data.message.id).toBe(id);
    });

    it('goes on behind Last-Event-ID, or since, and the header goes before', async () => {
      for (let i = 0; i < 4; i++) await http.deliver(inbox);
      const all = await take(await open(path()), 4);
      const [one, two, three] = all;
      const both = await open(`${path()}?since=${one.id}`, http.keys.own, three.id);
      expect(await take(await open(path(), http.keys.own, two.id), 2)).toEqual(all.slice(2));
      expect(await take(await open(`${path()}?since=${two.id}`), 2)).toEqual(all.slice(2));
      expect(await take(both, 1)).toEqual(all.slice(3));
    });

    it('begins at a time, too', async () => {
      await http.deliver(inbox);
      await http.clock.advance(100 * SECOND);
      const time = http.clock.now();
      await http.clock.advance(1);
      const id = await http.deliver(inbox);
      for (const since of [String(time), new Date(time).toISOString()]) {
        expect(idsOf(await take(await open(`${path()}?since=${since}`), 1))).toEqual([id]);
      }
    });

    it('is quiet for 15 seconds at most: then a comment comes', async () => {
      const reader = await open(path());
      await reader.next();
      await http.clock.untilSleeping();
      await http.clock.advance(15 * SECOND - 1);
      const id = await http.deliver(inbox);
      expect(idsOf([await reader.next()])).toEqual([id]);
      await http.clock.untilSleeping();
      await http.clock.advance(15 * SECOND - 1);
      expect(http.clock.sleepers).toBe(1);
      await http.clock.advance(1);
      expect(await reader.next()).toEqual({ comment: 'still here' });
      await http.clock.untilSleeping();
      await http.clock.advance(15 * SECOND);
      expect(await reader.next()).toEqual({ comment: 'still here' });
    });

    it('finds what was committed without a hint, when it would be quiet', async () => {
      const reader = await open(path());
      await http.clock.untilSleeping();
      using _silent = vi.spyOn(http.events, 'publish').mockReturnValue();
      const id = await http.deliver(inbox);
      await http.clock.advance(15 * SECOND);
      expect(idsOf(await take(reader, 1))).toEqual([id]);
    });

    it('ends cleanly when the server stops', async () => {
      const reader = await open(path());
      await http.clock.untilSleeping();
      const stopping = http.stop();
      await reader.next();
      expect(await reader.next()).toEqual({
        comment: 'The server is stopping. Resume with the header Last-Event-ID.',
      });
      expect(await reader.next()).toBeUndefined();
      await stopping;
      Object.assign(http, await startHttp());
    });

    it('answers HEAD as GET, without the stream', async () => {
      const { status, headers } = await http.api('HEAD', path());
      expect([status, headers.get('content-type')]).toEqual([200, TYPE]);
      expect(http.clock.sleepers).toBe(0);
    });

    it('drops a reader that takes nothing for 30 seconds, and delays no other', async () => {
      // Far more than the buffers of both systems hold.
      const large = { subject: 'x'.repeat(200_000) };
      const slow = await open(path());
      const healthy = await open(path());
      await http.clock.untilSleeping(2);
      slow.pause();
      const delivered: string[] = [];
      for (let i = 0; i < 100; i++) delivered.push(await http.deliver(inbox, large));
      expect(idsOf(await take(healthy, 100))).toEqual(delivered);
      for (let i = 0; i < 20; i++) {
        await http.clock.advance(15 * SECOND);
        await turn();
      }
      await expect.poll(() => http.clock.sleepers).toBe(1);
      slow.resume();
      const taken: Body[] = [];
      for (let event = await slow.nextEvent(); event; event = await slow.nextEvent()) taken.push(event);
      expect(taken.length).toBeLessThan(100);
      const rest = await open(path(), http.keys.own, taken.at(-1)?.id);
      taken.push(...(await take(rest, 100 - taken.length)));
      expect(idsOf(taken)).toEqual(delivered);
      const id = await http.deliver(inbox);
      expect(idsOf(await take(healthy, 1))).toEqual([id]);
    });
  });

  it('of an inbox takes its read token, and closes with a comment when the inbox ends', async () => {
    const short = await http.createInbox({ ttlMinutes: 1 });
    const [expiring, deleted] = [await open(events(short), short.token), await open(events(), inbox.token)];
    await expiring.next();
    await deleted.next();
    await http.clock.untilSleeping(2);
    await http.api('DELETE', `/v1/inboxes/${inbox.id}`);
    expect((await deleted.next())?.comment).toContain(`No inbox with the id "${inbox.id}"`);
    expect(await deleted.next()).toBeUndefined();
    for (let i = 0; i < 4; i++) {
      await http.clock.untilSleeping();
      await http.clock.advance(15 * SECOND);
    }
    for (let i = 0; i < 3; i++) expect(await expiring.next()).toEqual({ comment: 'still here' });
    expect((await expiring.next())?.comment).toMatch(/^The inbox ".*" expired at /);
    expect(await expiring.next()).toBeUndefined();
    expect((await http.api('GET', events(short), { as: short.token })).status).toBe(410);
  });

  it('of the account shows all its inboxes, none of another account, and none that ended', async () => {
    const other = await http.createInbox();
    const foreign = await http.createInbox({}, http.keys.foreign);
    const gone = await http.createInbox();
    await http.deliver(gone);
    await http.api('DELETE', `/v1/inboxes/${gone.id}`);
    const reader = await open('/v1/events');
    await http.deliver(foreign, {}, http.foreignId);
    const delivered = [await http.deliver(inbox), await http.deliver(other), await http.deliver(inbox)];
    const taken = await take(reader, 3);
    expect(idsOf(taken)).toEqual(delivered);
    expect(taken.map(({ data }) => data.inboxId)).toEqual([inbox.id, other.id, inbox.id]);
  });

  it('knows no cursor but its own', async () => {
    await http.deliver(inbox);
    const other = await http.createInbox();
    const [ofInbox] = await take(await open(events()), 1);
    const [ofAccount] = await take(await open('/v1/events'), 1);
    const refused = async (path: string, cursor: string, as = http.keys.own) => {
      const query = await http.api('GET', `${path}?since=${cursor}`, { as });
      const header = await http.api('GET', path, { as, headers: { 'last-event-id': cursor } });
      for (const { status, body } of [query, header])
        expect([status, body.code]).toEqual([400, 'invalid_since']);
    };
    await refused('/v1/events', ofInbox.id);
    await refused(events(), ofAccount.id);
    await refused(events(other), ofInbox.id);
    await refused('/v1/events', ofAccount.id, http.keys.foreign);
    await refused('/v1/events', ofAccount.id.replace(/^acur_\w+?_/, 'acur_0_'));
    for (const odd of ['acur_', 'acur_zzzzzzzzzzz_aaaaaaaaaaa', 'x', ofAccount.data.message.id])
      await refused('/v1/events', odd);
    const list = await http.api('GET', `/v1/inboxes/${inbox.id}/messages?since=${ofAccount.id}`);
    expect([list.status, list.body.code]).toEqual([400, 'invalid_since']);
  });
});
