import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStream } from '../support/event-stream.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';

const folder = mkdtempSync(join(tmpdir(), 'mayfly-damaged-'));
let app: TestApp;
let inbox: Awaited<ReturnType<TestApp['createInbox']>>;

/** Stops the server, changes its database, and starts it again. */
async function damage(statement: string, ...values: Uint8Array[]): Promise<void> {
  await app.stop();
  const [file = ''] = readdirSync(folder).filter((name) => /\.(?:db|sqlite3?)$/.test(name));
  const database = new DatabaseSync(join(folder, file));
  expect(database.prepare(statement).run(...values).changes).toBe(1);
  database.close();
  app = await startApp({}, {}, folder);
}

beforeAll(async () => {
  app = await startApp({}, {}, folder);
  inbox = await app.createInbox();
  for (const name of ['first', 'second', 'third']) {
    await app.send({ from: 'a@sender.test', to: inbox.address, subject: name, text: `text of ${name}` });
  }
  // What each says is stored by then.
  expect(await list(`/v1/inboxes/${inbox.id}/messages`)).toHaveLength(3);
});

afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The row of the second message, of which the three have one each. */
const OF_SECOND_SOURCE = 'where source_seq = (select seq from sources order by seq limit 1 offset 1)';
const SECOND = 'where seq = (select seq from sources order by seq limit 1 offset 1)';
const list = async (path: string) => (await app.api('GET', path)).body.messages;

describe('one damaged row', () => {
  it.each([
    ['a summary that is no JSON', '{"from":nul'],
    ['a summary without fields', '{}'],
    ['an empty summary', ''],
  ])('%s costs neither the list, nor a search, nor a wait', async (_, summary) => {
    await damage(`update readings set summary = ? ${OF_SECOND_SOURCE}`, Buffer.from(summary));
    const subjects = ['third', '', 'first'];
    const path = `/v1/inboxes/${inbox.id}/messages`;
    expect((await list(path)).map(({ subject }: { subject: string }) => subject)).toEqual(subjects);
    expect((await list('/v1/messages')).map(({ subject }: { subject: string }) => subject)).toEqual(subjects);
    expect(await list(`${path}?subject=first`)).toHaveLength(1);
    expect(await list('/v1/messages?q=first')).toHaveLength(1);
    const wait = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'first' }, since: '0', timeoutSeconds: 1 },
    });
    expect([wait.status, wait.body.messages.length]).toEqual([200, 1]);
    const [, damaged] = await list(path);
    const full = await app.api('GET', `${path}/${damaged.id}`);
    expect(full.status).toBe(200);
    expect(full.body.parseError).toMatch(/damaged/);
    expect(full.body.text).toBe('text of second\n');
  });

  it('a content that is no JSON is read from the raw source', async () => {
    await damage(`update readings set content = ? ${OF_SECOND_SOURCE}`, Buffer.from('{"text":'));
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const [, second] = await list(path);
    const { status, body } = await app.api('GET', `${path}/${second.id}`);
    expect([status, body.text]).toEqual([200, 'text of second\n']);
    expect(await list(`${path}?text=third`)).toHaveLength(1);
  });
});

describe('one damaged row of a message', () => {
  const OF_SECOND = `where source_seq = (select seq from sources ${SECOND})`;

  it.each([
    ['recipients that are no JSON', `update messages set rcpt_to = cast(? as text) ${OF_SECOND}`, '["a'],
    ['recipients that are no list', `update messages set rcpt_to = cast(? as text) ${OF_SECOND}`, '5'],
    ['tags that are no JSON', `update messages set tags = cast(? as text) ${OF_SECOND}`, '["a'],
    ['an envelope that is no JSON', `update sources set envelope = cast(? as text) ${SECOND}`, '{"mail'],
    [
      'a parse error that is no JSON',
      `update readings set parse_error = cast(? as text) ${OF_SECOND_SOURCE}`,
      '"x',
    ],
    [
      'a summary with fields of other types',
      `update readings set summary = ? ${OF_SECOND_SOURCE}`,
      '{"to":1,"cc":"x"}',
    ],
  ])('%s costs neither lists, nor searches, nor waits, nor streams', async (_, statement, value) => {
    await damage(statement, Buffer.from(value));
    const path = `/v1/inboxes/${inbox.id}`;
    expect(await list(`${path}/messages`)).toHaveLength(3);
    expect(await list('/v1/messages')).toHaveLength(3);
    for (const query of ['q=tag:a', 'rcptTo=nobody', 'text=third', 'subject=third', 'to=nobody']) {
      const found = await app.api('GET', `${path}/messages?${query}`);
      expect([query, found.status]).toEqual([query, 200]);
    }
    expect(await list('/v1/messages?q=third')).toHaveLength(1);
    expect(await list(`/v1/messages?rcptTo=${inbox.address}&text=third`)).toHaveLength(1);
    const wait = await app.api('POST', `${path}/wait`, {
      body: { match: { subject: 'nothing like that' }, timeoutSeconds: 0 },
    });
    expect([wait.status, wait.body.explanation.seenCount]).toEqual([200, 3]);
    const [, damaged] = await list(`${path}/messages`);
    expect((await app.api('GET', `${path}/messages/${damaged.id}`)).status).toBe(200);
    for (const stream of [`${path}/events`, '/v1/events']) {
      const reader = await openStream(`${app.url}${stream}?since=0`, { as: TEST_KEY });
      const events = [await reader.nextEvent(), await reader.nextEvent(), await reader.nextEvent()];
      reader.close();
      expect(events.map((event) => event?.data.message.subject).at(-1)).toBe('third');
    }
  });

  it('of a refusal costs neither the list of refusals nor an explanation', async () => {
    await app
      .send({ from: 'a@sender.test', to: 'nobody@mayfly.test', subject: 'x', text: 'x' })
      .catch(() => undefined);
    await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'no' }, timeoutSeconds: 0 },
    });
    await damage(
      `update refusals set details = cast(? as text) where seq = (select max(seq) from refusals)`,
      Buffer.from('{"re'),
    );
    const refusals = await app.api('GET', '/v1/refusals');
    expect([refusals.status, refusals.body.refusals[0].reply]).toEqual([200, '']);
    const wait = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'no' }, timeoutSeconds: 0 },
    });
    expect(wait.status).toBe(200);
  });
});

describe('mails whose subject is 1.9 MB of control characters', () => {
  it('cost neither the list nor other messages', async () => {
    const many = await app.createInbox();
    const mail = `From: a@sender.test\r\nSubject: x${'\u0001'.repeat(1_900_000)}y\r\n\r\ntext\r\n`;
    for (let i = 0; i < 5; i++) {
      const { status } = await app.api('POST', `/v1/inboxes/${many.id}/messages`, {
        body: mail,
        headers: { 'content-type': 'message/rfc822' },
      });
      expect(status).toBe(201);
    }
    const shown = await list(`/v1/inboxes/${many.id}/messages`);
    expect(shown).toHaveLength(5);
    expect(JSON.stringify(shown).length).toBeLessThan(50_000);
  });
});
