import { describe, expect, it } from 'vitest';
import { MAX_RUN_INBOXES } from '../../src/reports/sql.ts';
import type { Body } from '../support/api-client.ts';
import { openStream } from '../support/event-stream.ts';
import { TEST_KEY, useApp } from '../support/start-app.ts';

const app = useApp();

const report = async (query: string): Promise<Body> => {
  const { status, body } = await app.api('GET', `/v1/reports/runs?${query}`);
  expect(status).toBe(200);
  return body;
};
const mailTo = (to: string, subject: string) => ({ from: 'app@shop.example', to, subject, text: 'x' });
const FAILED = 'A wait of 0.0 s for a message failed.';
const wait = (id: string, body: object) =>
  app.api('POST', `/v1/inboxes/${id}/wait`, { body: { timeoutSeconds: 0, ...body } });

describe('GET /v1/reports/runs', () => {
  it('says what was wrong with the mail of a run, after its inboxes are deleted', async () => {
    const labels = { run: '4711', worker: '1' };
    const signUp = await app.createInbox({ labels });
    const reset = await app.createInbox({ labels: { ...labels, worker: '2' } });
    await app.createInbox({ labels: { run: '4712' } });
    await app.send(mailTo(signUp.address, 'Top secret: the merger'));
    expect((await wait(signUp.id, { match: { subject: 'Confirm', code: true } })).body.matched).toBe(false);
    expect((await wait(signUp.id, { match: { subject: 'secret' } })).body.matched).toBe(true);
    expect((await wait(signUp.id, { count: 0 })).body.matched).toBe(false);
    await wait(reset.id, {});
    await app.api('DELETE', `/v1/inboxes/${signUp.id}`);
    await app.api('POST', `/v1/inboxes/${reset.id}/expire`);
    await expect(app.send(mailTo(reset.address, 'late'))).rejects.toThrow('550');

    const body = await report('label.run=4711');
    expect(body.labels).toEqual({ run: '4711' });
    expect(body.totals).toEqual({
      ...{ inboxes: 2, inboxesWithoutMail: 1, messages: 1 },
      ...{ waitsSucceeded: 1, waitsFailed: 3, refusals: 1 },
      ...{ lists: { withMessages: 0, empty: 0 }, streams: { withMessages: 0, empty: 0 } },
    });
    expect(body.problems.map((one: string) => one.replace(/\d\.\d s/, '0.0 s'))).toEqual([
      expect.stringContaining(`${reset.address}: ${FAILED} No message has arrived so far: `),
      `${signUp.address}: ${FAILED} 1 message arrived; none has "Confirm" in its subject.`,
      `${signUp.address}: A wait of 0.0 s for silence failed. A message arrived although none was expected.`,
      `${reset.address}: A mail was refused, the last one with "550 5.1.1 No such inbox here".`,
    ]);
    const [second, first] = body.inboxes;
    expect(first).toMatchObject({
      ...{ id: signUp.id, address: signUp.address, labels, state: 'deleted', messageCount: 1 },
      waits: { succeeded: 1, failed: 2 },
    });
    const match = { subject: 'Confirm', code: 'true' };
    expect(first.waits.failures[0]).toMatchObject({ count: 1, match, reason: 'timeout', seenCount: 1 });
    expect(first.firstMessageAfterMs).toBe(Date.parse(first.firstMessageAt) - Date.parse(first.createdAt));
    expect(second).toMatchObject({
      ...{ id: reset.id, state: 'expired', messageCount: 0, firstMessageAt: null, firstMessageAfterMs: null },
      refusals: { count: 1, last: { mailFrom: 'app@shop.example' } },
    });
    expect(JSON.stringify(body)).not.toContain('merger');

    expect((await report('label.run=4711&label.worker=2')).inboxes).toMatchObject([{ id: reset.id }]);
  });

  it('counts a wait that its client makes of several requests once, by how it ended', async () => {
    const { id, address } = await app.createInbox({ labels: { run: 'split' } });
    const waitFor = (subject: string, waitedSeconds?: number) =>
      wait(id, { match: { subject }, timeoutSeconds: 0.01, waitedSeconds });
    for (const waited of [undefined, 25, 50]) await waitFor('never', waited);
    for (const waited of [undefined, 25]) await waitFor('late', waited);
    await app.send(mailTo(address, 'late'));
    expect((await waitFor('late', 30)).body.matched).toBe(true);
    const { totals, inboxes } = await report('label.run=split');
    expect(totals).toMatchObject({ waitsSucceeded: 1, waitsFailed: 1 });
    expect(inboxes[0].waits.failures.map(({ match }: Body) => match.subject)).toEqual(['never']);
  });

  it('counts lists that waited and streams, and says where none of them had a message', async () => {
    const labels = { run: 'held' };
    const [busy, quiet] = [await app.createInbox({ labels }), await app.createInbox({ labels })];
    await app.send(mailTo(busy.address, 'Hello'));
    for (const { id } of [busy, quiet]) {
      expect((await app.api('GET', `/v1/inboxes/${id}/messages?wait=1`)).status).toBe(200);
      const stream = await openStream(`${app.url}/v1/inboxes/${id}/events`, { as: TEST_KEY });
      await (id === busy.id ? stream.nextEvent() : stream.next());
      stream.close();
    }
    await app.api('GET', `/v1/inboxes/${busy.id}/messages?wait=1&subject=never`);
    await app.api('GET', `/v1/inboxes/${busy.id}/messages?subject=never`);
    const streamsOf = async () => (await report('label.run=held')).totals.streams;
    await expect.poll(streamsOf).toEqual({ withMessages: 1, empty: 1 });
    const { totals, inboxes, problems } = await report('label.run=held');
    expect(totals.lists).toEqual({ withMessages: 1, empty: 2 });
    expect(inboxes.map(({ waits }: Body) => waits.lists)).toEqual([
      { withMessages: 0, empty: 1 },
      { withMessages: 1, empty: 1 },
    ]);
    expect(problems).toEqual([
      `${quiet.address}: A list that waited ended without a message. In all, no message arrived.`,
      `${quiet.address}: A stream ended without a message. In all, no message arrived.`,
    ]);
  });

  it('counts all inboxes of a run, also those that it does not list, and the runs that are live beside it', async () => {
    const oldest = await app.createInbox({ labels: { run: 'large' } });
    await wait(oldest.id, {});
    let made = 1;
    const some = async () => {
      while (made++ < 1_020) await app.createInbox({ labels: { run: 'large', test: `large ${made}` } });
    };
    await Promise.all([...Array.from({ length: 20 }, some), app.createInbox({ labels: { run: '1' } })]);
    const body = await report('label.run=large');
    expect([body.totals.inboxes, body.inboxes.length, body.hasMore]).toEqual([1_020, MAX_RUN_INBOXES, true]);
    // The newest are listed, and those with a problem.
    expect(body.inboxes.at(-1)).toMatchObject({ id: oldest.id, waits: { failed: 1 } });
    const { labels } = (await app.api('GET', '/v1/labels?name=run&limit=200')).body;
    const counts = new Map(labels.map(({ value, inboxes }: Body) => [value, inboxes]));
    expect([counts.get('large'), counts.get('1')]).toEqual([1_020, 1]);
    expect((await app.api('GET', '/v1/labels?limit=200')).body.hasMore).toBe(true);
  });

  it('is empty for labels that no inbox has, and refused without a label', async () => {
    expect(await report('label.run=none')).toMatchObject({ problems: [], inboxes: [], hasMore: false });
    const { status, body } = await app.api('GET', '/v1/reports/runs');
    expect(status).toBe(400);
    expect(body.errors[0].message).toContain('A report needs at least one label');
  });
});
