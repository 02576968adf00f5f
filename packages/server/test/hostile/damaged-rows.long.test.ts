import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databasePath } from '../../src/config/config.ts';
import { useFolder } from '../support/folder.ts';
import { startApp, type TestApp } from '../support/start-app.ts';

const folder = useFolder();
let app: TestApp;
let inbox: Awaited<ReturnType<TestApp['createInbox']>>;

/** Stops the server, changes its database, and starts it again. */
async function damage(statement: string, value: string): Promise<void> {
  await app.stop();
  const database = new DatabaseSync(databasePath(folder()));
  expect(database.prepare(statement).run(Buffer.from(value)).changes).toBe(1);
  database.close();
  app = await startApp({}, {}, folder());
}

beforeAll(async () => {
  app = await startApp({}, {}, folder());
  inbox = await app.createInbox();
  for (const name of ['first', 'second', 'third'])
    await app.send({ from: 'a@sender.test', to: inbox.address, subject: name, text: `text of ${name}` });
  // What each says is stored by then.
  expect(await list(`/v1/inboxes/${inbox.id}/messages`)).toHaveLength(3);
});

afterAll(() => app.stop());

/** The row of the second message, of which the three have one each. */
const OF_SECOND_SOURCE = 'where source_seq = (select seq from sources order by seq limit 1 offset 1)';
const SECOND = 'where seq = (select seq from sources order by seq limit 1 offset 1)';
const list = async (path: string) => (await app.api('GET', path)).body.messages;

describe('one damaged row', () => {
  it.each([
    ['summary', `update readings set summary = ? ${OF_SECOND_SOURCE}`, '{"from":nul'],
    ['content', `update readings set content = ? ${OF_SECOND_SOURCE}`, '{"text":'],
    ['envelope', `update sources set envelope = cast(? as text) ${SECOND}`, '{"mail'],
  ])(
    'with a %s that is no JSON costs the requests that need it 503, and no others',
    async (_, statement, value) => {
      const path = `/v1/inboxes/${inbox.id}/messages`;
      const [third, second] = await list(path);
      await damage(statement, value);
      const { status, body } = await app.api('GET', `${path}/${second.id}`);
      expect([status, body.code]).toEqual([503, 'storage_damaged']);
      expect((await app.api('GET', `${path}/${second.id}/raw`)).status).toBe(200);
      expect((await app.api('GET', `${path}/${third.id}`)).status).toBe(200);
      expect((await app.api('DELETE', `${path}/${second.id}`)).status).toBe(204);
      expect(await list(path)).toHaveLength(2);
      await app.send({ from: 'a@sender.test', to: inbox.address, subject: 'next', text: 'text of next' });
    },
  );

  it('of a refusal costs neither the list of refusals nor an explanation', async () => {
    const sending = app.send({ from: 'a@sender.test', to: 'nobody@mayfly.test' });
    await expect(sending).rejects.toThrow('550');
    const body = { match: { subject: 'no' }, timeoutSeconds: 0 };
    const wait = () => app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
    // The refusal is written before a wait explains it.
    await wait();
    await damage('update refusals set details = cast(? as text)', '{"re');
    const refusals = await app.api('GET', '/v1/refusals');
    expect([refusals.status, refusals.body.refusals[0].reply]).toEqual([200, '']);
    expect((await wait()).status).toBe(200);
  });
});
