import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { everything, inboxAt, mailTo, onlyPlaced, saying, T } from '../builders.ts';
import type { Opened } from '../contract/suite.ts';
import { openTemporary } from './open-sqlite.ts';

describe('the thread that searches', () => {
  const owner = newId('acc', T);
  let on: Opened;
  let inbox: InboxRecord;
  beforeEach(async () => {
    on = await openTemporary();
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await on.store.inboxes.create(owner, inboxAt(), 10, null)).inbox;
  });
  afterEach(() => on.close());

  const search = (word: string) =>
    on.store.messages.search({ accountId: owner }, saying(word), everything, T);

  it('sees every change that was answered before', async () => {
    for (let n = 0; n < 30; n++) {
      const { messageId } = await onlyPlaced(on.store, mailTo([inbox], { subject: `number${n}` }), T);
      expect((await search(`number${n}`)).messages).toMatchObject([{ id: messageId }]);
      await on.store.messages.delete(inbox.id, messageId, T);
      expect((await search(`number${n}`)).messages).toEqual([]);
    }
  });

  it('lets the event loop turn while it works', async () => {
    const mails = Array.from({ length: 500 }, () => mailTo([inbox], { maxMessages: 9999 }));
    await on.store.messages.addBatch(mails, T);
    await search('warm');
    let turns = 0;
    let done = false;
    // Without three letters the database cannot help: each message is parsed.
    const searching = search('zq').then(() => {
      done = true;
    });
    for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    await searching;
    expect(turns).toBeGreaterThan(5);
  });

  it('finishes what it has begun when the store is closed, and then answers unavailable', async () => {
    await onlyPlaced(on.store, mailTo([inbox], { subject: 'here' }), T);
    await search('here');
    const running = Promise.all(Array.from({ length: 5 }, () => search('here')));
    await on.store.close();
    for (const { messages } of await running) expect(messages).toHaveLength(1);
    await expect(search('here')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('need not have been there when the store is closed', async () => {
    await on.store.close();
    await expect(search('here')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
