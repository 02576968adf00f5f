import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { createDatabase } from './open-postgres.ts';

const IS_THERE = await hasPostgres();
/** A node tells the other ones of the changes of this time together, milliseconds. */
const GATHERS_MS = 5;

describe.skipIf(!IS_THERE)('two servers on one PostgreSQL', () => {
  let url: string;
  let nodes: TestApp[] = [];
  beforeEach(async () => {
    url = await createDatabase(await sharedPostgres());
    nodes = await Promise.all([1, 2].map(() => startApp({ MAYFLY_DATABASE_URL: url })));
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.stop();
  });

  const pair = () => nodes as [TestApp, TestApp];
  const mail = (to: string, subject: string) => ({ from: 'app@example.org', to, subject, text: 'Hello.' });

  it('make one first account, and know the inboxes of each other', async () => {
    const [a, b] = pair();
    const inbox = await a.createInbox();
    await b.send(mail(inbox.address, 'Over the other server'));
    const { body } = await a.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    expect(body.messages).toMatchObject([{ subject: 'Over the other server' }]);
    const { body: list } = await b.api('GET', '/v1/inboxes');
    expect(list.inboxes).toMatchObject([{ id: inbox.id }]);
  });

  /** Two more, whose clocks stand still: nothing happens there by the time that passes. */
  async function startWithClocks() {
    const clock = new FakeClock(Date.now());
    const start = () => startApp({ MAYFLY_DATABASE_URL: url }, { clock });
    const [a, b] = [await start(), await start()];
    nodes.push(a, b);
    return { clock, a, b };
  }

  it('answer a wait on one as soon as the mail came to the other, before anything is asked again', async () => {
    const { clock, a, b } = await startWithClocks();
    const inbox = await a.createInbox();
    for (let n = 0; n < 5; n++) {
      const held = a.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
        body: { count: n + 1, timeoutSeconds: 20 },
      });
      await b.send(mail(inbox.address, `mail ${n}`));
      await clock.advance(GATHERS_MS);
      expect((await held).body.messages).toHaveLength(n + 1);
    }
  });

  it('end a wait on one when the inbox is deleted on the other', async () => {
    const [a, b] = pair();
    const inbox = await a.createInbox();
    const held = a.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: { timeoutSeconds: 20 } });
    await expect.poll(async () => (await b.api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(404);
    expect((await held).status).toBe(404);
  });
});
