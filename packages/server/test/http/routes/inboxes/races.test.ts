import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestInbox } from '../../start-http.ts';

describe('a change of an inbox that ends after the request was admitted', () => {
  let http: TestHttp;
  let inbox: TestInbox;
  beforeEach(async () => {
    http = await startHttp();
    inbox = await http.createInbox({ ttlMinutes: 60 });
  });
  afterEach(() => http.stop());

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
    beforeNextChange(() => http.api('POST', `/v1/inboxes/${inbox.id}/expire`));
    expect(await extend()).toMatchObject({ status: 410, body: { code: 'inbox_expired', expiredAt } });
  });

  it('gets 410 also when its messages were already freed', async () => {
    beforeNextChange(async () => {
      await http.api('POST', `/v1/inboxes/${inbox.id}/expire`);
      await http.store.upkeep.sweep(http.clock.now(), 1000);
    });
    expect(await extend()).toMatchObject({ status: 410, body: { code: 'inbox_expired' } });
  });

  it('gets 404 when it was deleted', async () => {
    beforeNextChange(() => http.api('DELETE', `/v1/inboxes/${inbox.id}`));
    expect(await extend()).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });
});
