import { expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { describeOnPostgres, useServers } from '../../support/nodes.ts';

/** A node notifies the others of the changes of this time together, milliseconds. */
const GATHERS_MS = 5;

describeOnPostgres('a wait on one server', (engine) => {
  // Their clock stands still: nothing happens by the time that passes.
  const clock = new FakeClock(Date.now());
  const { first, last } = useServers(engine, {}, { clock });

  it('is answered as soon as the mail came to the other, before anything is asked again', async () => {
    const inbox = await first().createInbox();
    for (let n = 0; n < 5; n++) {
      const body = { count: n + 1, timeoutSeconds: 20 };
      const held = first().api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
      await last().send({ from: 'app@example.org', to: inbox.address, subject: `mail ${n}`, text: 'Hello.' });
      await clock.advance(GATHERS_MS);
      expect((await held).body.messages).toHaveLength(n + 1);
    }
  });
});
