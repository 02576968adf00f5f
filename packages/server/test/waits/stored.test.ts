import { expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { describeOnEngines } from '../support/nodes.ts';
import { useApp } from '../support/start-app.ts';

const SECRET = 'Secret words 4711';
const SUMMARY = '1 message arrived; none has "confirm" in its subject.';

describeOnEngines('what a failed wait has explained', (engine) => {
  const clock = new FakeClock();
  const app = useApp(async () => ({ ...(await engine.env()), MAYFLY_SIGNUP_PLAN: 'free' }), { clock });

  /** An inbox with a message, and a wait in it that has failed. */
  async function failed(labels: Record<string, string> = {}, ttlMinutes = 60) {
    const inbox: Body = await app.createInbox({ labels, ttlMinutes });
    await app.send({ from: 'a@b.example', to: inbox.address, subject: SECRET, text: 'x' });
    const { waitId, explanation } = await fail(inbox);
    return { inbox, waitId, explanation, path: `/v1/inboxes/${inbox.id}/waits/${waitId}` };
  }
  const fail = async ({ id }: { id: string }): Promise<Body> => {
    const body = { match: { subject: 'confirm' }, timeoutSeconds: 0 };
    return (await app.api('POST', `/v1/inboxes/${id}/wait`, { body })).body;
  };

  it('is read by its id with API key and read token, and mail that comes later does not change it', async () => {
    const { inbox, waitId, explanation, path } = await failed();
    expect(explanation.summary).toContain(SECRET);
    await app.send({ from: 'a@b.example', to: inbox.address, subject: 'Confirm', text: 'x' });
    for (const as of [undefined, inbox.token]) {
      const { status, body } = await app.api('GET', path, as ? { as } : {});
      expect(status).toBe(200);
      expect(body).toEqual({
        ...{ id: waitId, inboxId: inbox.id, endedAt: new Date(clock.now()).toISOString() },
        ...{ waitedMs: 0, count: 1, match: { subject: 'confirm' }, hasContent: true, explanation },
      });
    }
  });

  it('is there for the API key when the inbox was deleted, without what messages said', async () => {
    const { inbox, path } = await failed();
    expect((await app.api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
    const { body } = await app.api('GET', path);
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(body).toMatchObject({
      hasContent: false,
      explanation: {
        ...{ summary: SUMMARY, seenCount: 1, seen: [] },
        causes: [{ code: 'not_matching', text: SUMMARY }],
      },
    });
    expect((await app.api('GET', path, { as: inbox.token })).status).toBe(401);
  });

  it('is in the report of the run', async () => {
    const { waitId } = await failed({ run: 'stored' });
    const { body } = await app.api('GET', '/v1/reports/runs?label.run=stored');
    const [failure] = body.inboxes[0].waits.failures;
    expect(failure).toMatchObject({ waitId, summary: SUMMARY });
  });

  it('is kept of the last 20 failed waits of an inbox', async () => {
    const { inbox, path } = await failed();
    const later: Body[] = [];
    while (later.length < 20) {
      await clock.advance(1);
      later.push(await fail(inbox));
    }
    expect((await app.api('GET', path)).status).toBe(404);
    for (const { waitId } of later)
      expect((await app.api('GET', `/v1/inboxes/${inbox.id}/waits/${waitId}`)).status).toBe(200);
  });

  it('is not stored for a wait that succeeded', async () => {
    const { inbox } = await failed();
    const { body } = await app.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body: {} });
    expect([body.matched, body.waitId]).toEqual([true, undefined]);
  });
});
