import { beforeEach, describe, expect, it } from 'vitest';
import { type TestInbox, useAccounts } from '../http/start-http.ts';
import { clientOfTest, withSender } from '../smtp/start-smtp.ts';
import { openStream } from '../support/event-stream.ts';
import { rcpt } from '../support/mail/smtp-mail.ts';
import { appOfTest } from '../support/start-app.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (time: number) => new Date(time).toISOString();

describe('POST /v1/inboxes/{id}/expire', () => {
  const http = useAccounts();
  let inbox: TestInbox;
  let path: string;
  beforeEach(async () => {
    inbox = await http.createInbox({ ttlMinutes: 60, labels: { run: '1' } });
    path = `/v1/inboxes/${inbox.id}`;
  });

  const expire = (as = http.keys.own) => http.api('POST', `${path}/expire`, { as });

  it.each([
    ['its time has come', () => http.clock.advance(HOUR)],
    ['it is made to expire', () => expire()],
  ])(
    'answers 410 to its owner once %s, whatever is asked and was cached, and 404 after a day',
    async (_, end) => {
      const message = await http.deliver(inbox);
      const parts = ['', '/messages', `/messages/${message}`, `/messages/${message}/raw`];
      const paths = parts.map((part) => path + part);
      const ask = (one: string, as = http.keys.own) => http.api('GET', one, { as });
      await http.clock.advance(7);
      for (const one of [...paths, ...paths, ...paths])
        for (const as of [http.keys.own, inbox.token]) expect((await ask(one, as)).status).toBe(200);
      const begun = http.clock.now();
      await end();
      const expiredAt = at(Math.min(begun - 7 + HOUR, http.clock.now()));
      const expired = { status: 410, body: { code: 'inbox_expired', expiredAt } };
      for (const one of paths) {
        for (const as of [http.keys.own, http.keys.readOnly, inbox.token])
          expect(await ask(one, as)).toMatchObject(expired);
        expect((await ask(one, http.keys.foreign)).status).toBe(404);
      }
      for (const query of ['', `?address=${inbox.address}`])
        expect((await ask(`/v1/inboxes${query}`)).body.inboxes).toEqual([]);
      await http.clock.advance(24 * HOUR - 1_000);
      await http.store.upkeep.sweep(http.clock.now(), 1000);
      for (const as of [http.keys.own, inbox.token])
        for (const one of paths) expect((await ask(one, as)).status).toBe(410);
      await http.clock.advance(1_000);
      for (const one of paths) expect((await ask(one)).status).toBe(404);
      expect((await ask(path, inbox.token)).status).toBe(401);
    },
  );

  it('succeeds once of many at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => expire()));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([204, ...Array.from({ length: 19 }, () => 410)]);
  });

  it('ends held waits with 410 at once, and closes streams', async () => {
    const waits = [
      http.api('GET', `${path}/messages?wait=60`, { as: inbox.token }),
      http.api('POST', `${path}/wait`, { body: { timeoutSeconds: 60 } }),
    ];
    const stream = await openStream(`${http.url}${path}/events`, { as: inbox.token });
    expect(await stream.next()).toMatchObject({ id: inbox.cursor });
    await http.clock.untilSleeping(3);
    await expire();
    for (const { status, body } of await Promise.all(waits)) {
      expect([status, body.code]).toEqual([410, 'inbox_expired']);
    }
    expect((await stream.next())?.comment).toMatch(/expired/);
    expect(await stream.next()).toBeUndefined();
  });

  it('is not the only way: a lifetime made shorter ends a held wait at its new end', async () => {
    // A report has ended waits written, which otherwise sleeps a moment on the same clock.
    await http.api('GET', '/v1/reports/runs?label.run=1');
    const { id } = await http.createInbox({ ttlMinutes: 5 });
    const second = http.api('GET', `/v1/inboxes/${id}/messages?wait=60`);
    await http.clock.untilSleeping();
    const now = http.clock.now();
    await http.store.inboxes.setExpiry(http.accountId, id, { ttlMinutes: 1, expiresAt: now + 100 }, now);
    http.events.publishInboxChange(id);
    await http.clock.untilSleeping();
    await http.clock.advance(100);
    expect((await second).status).toBe(410);
  });
});

it('an inbox that was made to expire refuses mail at RCPT, and of a session that had its recipient accepted', async () => {
  const app = await appOfTest();
  const { id, address } = await app.createInbox();
  const client = await clientOfTest(app.smtp.port);
  await client.play([...withSender, `RCPT TO:<${address}> → 250`, 'DATA → 354']);
  expect((await app.api('POST', `/v1/inboxes/${id}/expire`)).status).toBe(204);
  expect(await rcpt(app.smtp.port, address)).toBe('550 5.1.1 No such inbox here');
  await client.play(['Subject: x\r\n\r\nx\r\n. → 550 5.1.1']);
  const beside = await app.openStore();
  expect((await beside.inboxes.findTakers(address, Date.now())).ofAddress?.live).toBeUndefined();
  await beside.close();
});
