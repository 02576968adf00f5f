import { beforeAll, describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../http/start-http.ts';

describe('GET /v1/inboxes?address=', () => {
  const http = useHttp();
  let inbox: TestInbox;
  beforeAll(async () => {
    inbox = await http.createInbox({ localPart: 'ada.lovelace', labels: { run: '1' } });
    await http.createInbox({ domain: 'second.test', localPart: 'ada.lovelace' });
    await http.createInbox({ localPart: 'ada' });
  });

  /** @param address as it stands in the URL */
  const lookUp = (address: string) => http.api('GET', `/v1/inboxes?address=${address}`);
  const ids = (body: { inboxes: { id: string }[] }) => body.inboxes.map(({ id }) => id);

  it.each([
    ...['ada.lovelace@mayfly.test', 'Ada.Lovelace@MAYFLY.test', 'ada.lovelace%40mayfly.test'],
    ...['ada.lovelace%2Bsign-up@mayfly.test', 'ada.lovelace+sign-up+2@mayfly.test'],
    '%22ada.lovelace%22@mayfly.test',
  ])('finds the inbox that receives mail for %s', async (address) => {
    const { status, body } = await lookUp(address);
    expect(status).toBe(200);
    expect(ids(body)).toEqual([inbox.id]);
    expect(body.hasMore).toBe(false);
    expect(body.inboxes[0]).toEqual((await http.api('GET', `/v1/inboxes/${inbox.id}`)).body);
  });

  it.each([
    ...['nobody@mayfly.test', 'adalovelace@mayfly.test', 'lovelace@mayfly.test', 'ada.%25@mayfly.test'],
    ...['ada.lovelace@elsewhere.example', 'm%C3%BCller@mayfly.test', 'postmaster@[127.0.0.1]'],
  ])('answers an empty list for %s, which is nobody’s address', async (address) => {
    const { status, body } = await lookUp(address);
    expect([status, body]).toEqual([200, { inboxes: [], hasMore: false }]);
  });

  it.each([
    ...['', 'ada', '@mayfly.test', 'ada@', 'ada@@mayfly.test', 'ada@may_fly.test', 'a..b@mayfly.test'],
    ...['ada@mayfly.test,bob@mayfly.test', 'Ada%20%3Cada@mayfly.test%3E', '%3Cada@mayfly.test%3E'],
    ...['ada@mayfly.test%00', `${'a'.repeat(65)}@mayfly.test`, `a@${'b'.repeat(260)}.test`],
  ])('refuses %s and says what to give', async (address) => {
    const { status, body } = await lookUp(address);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors).toMatchObject([{ path: 'address' }]);
    expect(body.errors[0].message).toMatch(/such as "signup-test@mayfly\.test"|at most 254/);
  });

  it('narrows the other parameters', async () => {
    expect(ids((await lookUp('ada.lovelace@mayfly.test&label.run=1')).body)).toEqual([inbox.id]);
    expect(ids((await lookUp('ada.lovelace@mayfly.test&label.run=2')).body)).toEqual([]);
    expect(ids((await lookUp(`ada.lovelace@mayfly.test&before=${inbox.id}`)).body)).toEqual([]);
    expect(ids((await lookUp('ada.lovelace@mayfly.test&limit=1')).body)).toEqual([inbox.id]);
  });
});
