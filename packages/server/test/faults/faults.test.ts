import { beforeAll, describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../http/start-http.ts';

const http = useHttp();
let inbox: TestInbox;
beforeAll(async () => {
  inbox = await http.createInbox();
});

const put = (body: object) => http.api('PUT', `/v1/inboxes/${inbox.id}/faults`, { body });

describe('PUT, GET and DELETE /v1/inboxes/{id}/faults', () => {
  it('sets rules, shows them completed, and removes them', async () => {
    const rules = [
      { at: 'rcpt', reply: { code: 451, text: '4.7.1 later' }, times: 2 },
      { at: 'data', delayMs: 900_000 },
      { at: 'end-of-data', reply: { code: 554 }, disconnect: true },
    ];
    const nothing = { reply: null, delayMs: 0, disconnect: false, times: 1, left: 1 };
    const shown = [
      { ...nothing, at: 'rcpt', reply: { code: 451, text: '4.7.1 later' }, times: 2, left: 2 },
      { ...nothing, at: 'data', delayMs: 900_000 },
      {
        ...{ ...nothing, at: 'end-of-data', disconnect: true },
        reply: { code: 554, text: 'A fault rule of this inbox gives this reply' },
      },
    ];
    expect(await put({ rules })).toMatchObject({ status: 200, body: { rules: shown } });
    const path = `/v1/inboxes/${inbox.id}/faults`;
    expect((await http.api('GET', path)).body).toEqual({ rules: shown });
    expect((await put({ rules: [] })).body).toEqual({ rules: [] });
    await put({ rules });
    expect((await http.api('DELETE', path)).status).toBe(204);
    expect((await http.api('GET', path)).body).toEqual({ rules: [] });
  });

  it.each([
    [{}, '"rules[0]" does nothing. Give it a "reply", a "delayMs" or "disconnect": true.'],
    [
      { at: 'rctp', delayMs: 1 },
      '"rules[0].at" must be one of "rcpt", "data", "end-of-data", "api", not the string "rctp". Did you mean "rcpt"?',
    ],
    [
      { reply: { code: 451, text: 'two\r\n250 lines' } },
      '"rules[0].reply.text" must have only printable ASCII characters (space to ~), because it is part of one line of SMTP. Remove the others.',
    ],
    [{ delayMs: 900_001 }, '"rules[0].delayMs" must be from 1 to 900000 milliseconds, not 900001.'],
  ])('says what is wrong with the rule %j', async (rule, detail) => {
    const { status, body } = await put({ rules: [{ at: 'rcpt', ...rule }] });
    expect([status, body.code, body.detail]).toEqual([400, 'invalid_request', detail]);
    expect((await http.api('GET', `/v1/inboxes/${inbox.id}/faults`)).body).toEqual({ rules: [] });
  });
});
