import { beforeAll, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { type TestApp, useApp } from '../../support/start-app.ts';
import { MAILS } from './mails.ts';
import queries from './queries.json' with { type: 'json' };

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;

/** The names of the mails that a query must find; or all but some, from one on, or before one, in their order. */
type Finds = string[] | { but: string[] } | { from: string } | { before: string };

const ALL = MAILS.map(({ name }) => name);
function namesOf(finds: Finds): string[] {
  if (Array.isArray(finds)) return finds;
  if ('but' in finds) return ALL.filter((name) => !finds.but.includes(name));
  return 'from' in finds ? ALL.slice(ALL.indexOf(finds.from)) : ALL.slice(0, ALL.indexOf(finds.before));
}
const FOUND = Object.values(queries.found).flat() as [q: string, finds: Finds][];
const REFUSED = queries.refused as [q: string, says: string, flags: string][];

describeOnEngines('searches', (engine) => {
  const inboxes = new Map<string, Inbox>();
  const names = new Map<string, string>();
  const clock = new FakeClock(Date.parse(MAILS[0]?.at ?? ''));
  const app = useApp(engine.env, { clock });
  beforeAll(async () => {
    for (const name of ['ada', 'ops']) {
      inboxes.set(name, await app.createInbox({ localPart: name, ttlMinutes: 10_080 }));
    }
    // A random domain may hold a word of the queries, such as that of a "bobcat".
    let shop: Inbox;
    do shop = await app.createInbox({ catchAll: true, ttlMinutes: 10_080 });
    while (/bob|crew/.test(shop.address));
    inboxes.set('shop', shop);
    for (const { name, inbox, at, raw, rcptTo = '', read, tags } of MAILS) {
      const { id, address } = inboxes.get(inbox) as Inbox;
      if (at) clock.step(Date.parse(at) - clock.now());
      const to = encodeURIComponent(rcptTo.replace('*', address.split('@')[1] ?? '') || address);
      const message = { body: Buffer.from(raw), headers: { 'content-type': 'message/rfc822' } };
      const sent = await app.api('POST', `/v1/inboxes/${id}/messages?rcptTo=${to}`, message);
      expect([name, sent.status]).toEqual([name, 201]);
      names.set(sent.body.id, name);
      if (!read && !tags) continue;
      const path = `/v1/inboxes/${id}/messages/${sent.body.id}`;
      expect((await app.api('PATCH', path, { body: { read, tags } })).status).toBe(200);
    }
  });

  /** The names of all messages of a list, newest first. */
  async function found(path: string): Promise<(string | undefined)[]> {
    const { status, body } = await app.api('GET', `${path}&limit=200`);
    expect([status, body.hasMore, body.searchedTo]).toEqual([200, false, undefined]);
    return body.messages.map(({ id }: { id: string }) => names.get(id));
  }
  const inOrder = (finds: readonly string[], of?: string) =>
    MAILS.flatMap(({ name, inbox }) =>
      finds.includes(name) && inbox === (of ?? inbox) ? name : [],
    ).reverse();

  it.each(FOUND)('%j finds what it must, in the account and in each inbox', async (q, finds) => {
    const expected = namesOf(finds);
    const query = `q=${encodeURIComponent(q)}`;
    expect(await found(`/v1/messages?${query}`)).toEqual(inOrder(expected));
    for (const [name, { id }] of inboxes) {
      const list = await found(`/v1/inboxes/${id}/messages?${query}`);
      expect([name, ...list]).toEqual([name, ...inOrder(expected, name)]);
    }
  });

  it.each(REFUSED)('%j is refused with a message that names what is wrong', async (q, says, flags) => {
    const id = inboxes.get('ada')?.id;
    for (const path of ['/v1/messages', `/v1/inboxes/${id}/messages`]) {
      const { status, body } = await app.api('GET', `${path}?q=${encodeURIComponent(q)}`);
      expect([status, body.code, body.errors?.[0]?.path]).toEqual([400, 'invalid_request', 'q']);
      expect(body.detail).toMatch(new RegExp(says, flags));
    }
  });

  it.each([
    ['from=bob', 'from:bob'],
    ['to=ada%2Bsecret', 'to:ada+secret'],
    ['rcptTo=signup-1%40', 'to:signup-1@'],
    ['subject=weekly%20build', 'subject:"weekly build"'],
    ['text=order%20has%20shipped', 'text:"order has shipped"'],
    ['hasAttachments=true', 'has:attachment'],
    ['hasAttachments=false&from=acme', '-has:attachment from:acme'],
  ])('the filter %s finds what %s does', async (filter, q) => {
    const expected = await found(`/v1/messages?q=${encodeURIComponent(q)}`);
    expect(expected.length).toBeGreaterThan(0);
    expect(await found(`/v1/messages?${filter}`)).toEqual(expected);
  });
});
