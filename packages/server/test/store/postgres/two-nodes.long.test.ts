import { expect, it, onTestFinished } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { startApp, type TestApp } from '../../support/start-app.ts';
import { createDatabase } from './open-postgres.ts';

/** A node notifies the others of the changes of this time together, milliseconds. */
const GATHERS_MS = 5;

it.skipIf(!(await hasPostgres()))(
  'two servers on one PostgreSQL answer a wait on one as soon as the mail came to the other, before anything is asked again',
  async () => {
    const url = await createDatabase(await sharedPostgres());
    // Their clocks stand still: nothing happens by the time that passes.
    const clock = new FakeClock(Date.now());
    const nodes: TestApp[] = [];
    onTestFinished(async () => {
      for (const node of nodes) await node.stop();
    });
    for (let n = 0; n < 2; n++) nodes.push(await startApp({ MAYFLY_DATABASE_URL: url }, { clock }));
    const [a, b] = nodes as [TestApp, TestApp];
    const inbox = await a.createInbox();
    for (let n = 0; n < 5; n++) {
      const body = { count: n + 1, timeoutSeconds: 20 };
      const held = a.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
      await b.send({ from: 'app@example.org', to: inbox.address, subject: `mail ${n}`, text: 'Hello.' });
      await clock.advance(GATHERS_MS);
      expect((await held).body.messages).toHaveLength(n + 1);
    }
  },
);
