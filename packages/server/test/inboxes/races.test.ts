import { beforeEach, describe, expect, it } from 'vitest';
import { type TestInbox, useAccounts } from '../http/start-http.ts';

const EXPIRED = { status: 410, body: { code: 'inbox_expired' } };

const http = useAccounts();
let inbox: TestInbox;
/** Of a message in it. */
let path: string;
async function begin(): Promise<void> {
  inbox = await http.createInbox({ ttlMinutes: 60 });
  path = `/v1/inboxes/${inbox.id}/messages/${await http.deliver(inbox)}`;
}
beforeEach(begin);
const expire = () => http.api('POST', `/v1/inboxes/${inbox.id}/expire`);
const remove = () => http.api('DELETE', `/v1/inboxes/${inbox.id}`);

describe('a change of an inbox that ends after the request was admitted', () => {
  /** Runs `first` when the store is asked for the next change of an expiry, and then lets that change go on. */
  function beforeNextChange(first: () => Promise<unknown>): void {
    const { inboxes } = http.store;
    const { setExpiry } = inboxes;
    inboxes.setExpiry = async (...args) => {
      inboxes.setExpiry = setExpiry;
      await first();
      return setExpiry(...args);
    };
  }
  const extend = () => http.api('PATCH', `/v1/inboxes/${inbox.id}`, { body: { ttlMinutes: 30 } });

  it('gets 410 inbox_expired with the time of its end when it expired', async () => {
    const expiredAt = new Date(http.clock.now()).toISOString();
    beforeNextChange(expire);
    expect(await extend()).toMatchObject({ status: 410, body: { code: 'inbox_expired', expiredAt } });
  });

  it('gets 410, and stays expired, when it expired at a later time than that of the change', async () => {
    beforeNextChange(async () => {
      await http.clock.advance(1);
      await expire();
    });
    expect(await extend()).toMatchObject(EXPIRED);
    expect((await http.api('GET', `/v1/inboxes/${inbox.id}`)).status).toBe(410);
  });

  it('gets 410 also when its messages were already freed', async () => {
    beforeNextChange(async () => {
      await expire();
      await http.store.upkeep.sweep(http.clock.now(), 1000);
    });
    expect(await extend()).toMatchObject(EXPIRED);
  });

  it('gets 404 when it was deleted', async () => {
    beforeNextChange(remove);
    expect(await extend()).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});

describe('a request for a message whose inbox ends after the request was admitted', () => {
  /** Runs `first` when the store is asked for the next message, to read or to delete it. */
  function beforeNextMessage(first: () => Promise<unknown>): void {
    const { messages } = http.store;
    const { find, sizeOf, delete: remove } = messages;
    const once = async (): Promise<void> => {
      Object.assign(messages, { find, sizeOf, delete: remove });
      await first();
    };
    messages.find = (...args) => once().then(() => find(...args));
    messages.sizeOf = (...args) => once().then(() => sizeOf(...args));
    messages.delete = (...args) => once().then(() => remove(...args));
  }
  it.each([
    ['GET', ''],
    ['GET', '/raw'],
    ['GET', '/lint'],
    ['GET', '/timeline'],
    ['POST', '/preview'],
    ['DELETE', ''],
  ])('gets the response of a later request: %s …/{messageId}%s', async (method, part) => {
    beforeNextMessage(remove);
    const deleted = await http.api(method, path + part);
    expect([deleted.status, deleted.body.detail]).toEqual([404, expect.stringContaining(inbox.id)]);
    await begin();
    beforeNextMessage(expire);
    expect(await http.api(method, path + part)).toMatchObject(EXPIRED);
  });

  it('or that stores one learns that it was stored, and that it is gone', async () => {
    const message = { body: 'Subject: x\r\n\r\nx\r\n', headers: { 'content-type': 'message/rfc822' } };
    const inject = () => http.api('POST', `/v1/inboxes/${inbox.id}/messages`, message);
    beforeNextMessage(() => http.api('DELETE', `/v1/inboxes/${inbox.id}/messages`));
    const emptied = await inject();
    expect([emptied.status, emptied.body.code]).toEqual([404, 'not_found']);
    expect(emptied.body.detail).toMatch(/^The message was stored, and deleted before it could be returned\./);
    expect(emptied.headers.get('location')).toBe(null);
    beforeNextMessage(expire);
    expect(await inject()).toMatchObject(EXPIRED);
  });
});
