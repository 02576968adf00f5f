import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store.ts';
import { mailTo } from '../store/builders.ts';
import { type Chance, chance } from '../support/chance.ts';
import { openStream } from '../support/event-stream.ts';
import { inForm, timeLimit } from '../support/form.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { TEST_KEY, type TestApp, useApp } from '../support/start-app.ts';

type Inbox = Awaited<ReturnType<TestApp['createInbox']>>;
type Page = { messages: { id: string }[]; cursor: string; hasMore: boolean };

/** What a cursor stands for: the time of an inbox's message, or the place of one in the account. */
const placeOf = (cursor: string): number => Number.parseInt(cursor.split('_')[1] ?? '', 36);

describe('a cursor', () => {
  const app = useApp();
  let other: Store;
  beforeAll(async () => {
    other = await app.openStore();
  });
  afterAll(() => other.close());

  /** Commits a mail that the server can read and has not been told of, as it is for a moment after each commit. */
  async function commitUntold(inbox: Inbox): Promise<void> {
    const account = await other.accounts.findFirst();
    await other.messages.addBatch([mailTo([{ ...inbox, accountId: account?.id ?? '' }])], Date.now());
  }
  const get = async (path: string, as = TEST_KEY): Promise<Page> => (await app.api('GET', path, { as })).body;

  it('never goes back when two credentials poll one inbox in turns', async () => {
    const inbox = await app.createInbox();
    const path = `/v1/inboxes/${inbox.id}/messages`;
    await get(path);
    await commitUntold(inbox);
    const seen: string[] = [];
    let since = inbox.cursor;
    for (const as of [inbox.token, TEST_KEY, inbox.token, TEST_KEY]) {
      const { messages, cursor } = await get(`${path}?since=${since}`, as);
      expect(placeOf(cursor)).toBeGreaterThanOrEqual(placeOf(since));
      seen.push(...messages.map(({ id }) => id));
      since = cursor;
    }
    expect(seen).toEqual([...new Set(seen)]);
  });

  it('of an account never goes back behind the event of a stream that was passed as since', async () => {
    const inbox = await app.createInbox();
    const { cursor: start } = await get('/v1/messages');
    await commitUntold(inbox);
    const stream = await openStream(`${app.url}/v1/events`, { as: TEST_KEY, lastEventId: start });
    const { id: event = '' } = (await stream.nextEvent()) ?? {};
    stream.close();
    expect(placeOf(event)).toBeGreaterThan(placeOf(start));
    const { cursor } = await get(`/v1/messages?since=${event}`);
    expect(placeOf(cursor)).toBeGreaterThanOrEqual(placeOf(event));
  });

  it('is not older than a since that lies ahead of all messages', async () => {
    const inbox = await app.createInbox();
    const ahead = Date.now() + 60_000;
    for (const query of ['', '&subject=x', '&text=x', '&wait=1']) {
      const { cursor } = await get(`/v1/inboxes/${inbox.id}/messages?since=${ahead}${query}`);
      expect([query, placeOf(cursor)]).toEqual([query, ahead]);
    }
    const wait = { body: { since: String(ahead), timeoutSeconds: 0 } };
    const waited = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, wait);
    expect(placeOf(waited.body.cursor)).toBe(ahead);
  });
});

/** The ledger of one inbox: what was sent to it, and what a reader with changing credentials saw. */
interface Ledger {
  sent: Set<string>;
  seen: string[];
  goneBack: number;
}

describeOnEngines('polls with changing credentials', (engine) => {
  const INBOXES = 8;
  const POLLS = inForm(2_000, 50_000);
  const servers = useServers(engine);
  const keys: string[] = [TEST_KEY];
  beforeAll(async () => {
    for (const scope of ['full', 'read']) {
      const { body } = await servers.first().api('POST', '/v1/keys', { body: { name: scope, scope } });
      keys.push(body.key);
    }
  });

  const any = <T>(random: Chance, of: readonly T[]): T => of[random.between(0, of.length - 1)] as T;

  async function send(random: Chance, { id }: Inbox, ledger: Ledger): Promise<void> {
    const message = { body: 'Subject: x\r\n\r\nHello\r\n', headers: { 'content-type': 'message/rfc822' } };
    const burst = Array.from({ length: random.between(1, 3) }, async () => {
      const app = any(random, servers.apps);
      const { status, body } = await app.api('POST', `/v1/inboxes/${id}/messages`, message);
      expect(status).toBe(201);
      ledger.sent.add(body.id);
    });
    await Promise.all(burst);
  }

  /** Follows the inbox, each request with another credential and by another way of asking. */
  async function follow(random: Chance, inbox: Inbox, ledger: Ledger, polls: number): Promise<void> {
    let since = inbox.cursor;
    const ask = async (query: string): Promise<Page> => {
      const as = any(random, [inbox.token, inbox.token, ...keys]);
      const path = `/v1/inboxes/${inbox.id}/messages?since=${since}&${query}`;
      const { status, body } = await any(random, servers.apps).api('GET', path, { as });
      expect(status).toBe(200);
      return body;
    };
    const step = async (query: string) => {
      const limit = random.between(1, 5);
      const first = await ask(`limit=${limit}&${query}`);
      const found = [...first.messages];
      for (let page = first; page.hasMore; found.push(...page.messages)) {
        page = await ask(`limit=${limit}&before=${found.at(-1)?.id}`);
      }
      ledger.seen.push(...found.map(({ id }) => id).reverse());
      if (placeOf(first.cursor) < placeOf(since)) ledger.goneBack++;
      since = first.cursor;
    };
    let sending = Promise.resolve();
    for (let poll = 0; poll < polls; poll++) {
      const query = any(random, ['', '', '', 'wait=60', 'subject=x']);
      // Polls run beside what was sent before them; those that wait need some mail to come.
      if (query.startsWith('wait') || random.between(1, 3) === 1) {
        sending = Promise.all([sending, send(random, inbox, ledger)]).then(() => undefined);
      }
      await step(query);
    }
    await sending;
    await step('');
  }

  const random = chance();
  it(`show each message once, in order, in ${POLLS} polls (TEST_SEED=${random.seed})`, {
    timeout: timeLimit(7_200_000),
  }, async () => {
    const ledgers = await Promise.all(
      Array.from({ length: INBOXES }, async () => {
        const inbox = await servers.first().createInbox();
        const ledger: Ledger = { sent: new Set(), seen: [], goneBack: 0 };
        await follow(random, inbox, ledger, POLLS / INBOXES);
        const { body } = await servers.last().api('GET', `/v1/inboxes/${inbox.id}`);
        expect(body.messageCount).toBe(ledger.sent.size);
        return ledger;
      }),
    );
    for (const { sent, seen, goneBack } of ledgers) {
      expect(goneBack).toBe(0);
      expect(seen).toEqual([...new Set(seen)].sort());
      expect([...sent].sort()).toEqual(seen);
    }
  });
});
