import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { everything, inboxAt, mailTo, onlyPlaced, sweepAll, T } from '../builders.ts';
import { SHOWING, showingMethods } from '../contract/reading-methods.ts';
import type { Opened } from '../contract/suite.ts';
import { openTemporary } from '../sqlite/open-sqlite.ts';

describe('an inbox whose emptying was stopped after its first step', () => {
  let on: Opened & { path: string };
  let inbox: InboxRecord;
  const owner = newId('acc', T);
  const wish = inboxAt({ expiresAt: T + 1000 });
  let messageId: string;
  beforeEach(async () => {
    on = await openTemporary();
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await on.store.inboxes.create(owner, wish, 10, null)).inbox;
    for (let n = 0; n < 300; n++) await on.store.messages.addBatch([mailTo([inbox])], T);
    messageId = (await onlyPlaced(on.store, mailTo([inbox]), T)).messageId;
    // What the first transaction of deleteAll leaves, when the process ends right after it.
    const database = new DatabaseSync(on.path, { timeout: 5000 });
    database.exec('update inboxes set emptied_up_to = last_received_at, message_count = 0');
    database.close();
  });
  afterEach(() => on.close());

  it('shows none of its messages by any method, though nothing was freed', async () => {
    const shows = showingMethods(on.store, { owner, inbox, tokenHash: wish.tokenHash, messageId });
    expect(Object.keys(shows).toSorted()).toEqual(SHOWING);
    for (const [method, isShown] of Object.entries(shows)) {
      expect([method, await isShown(T)]).toEqual([method, method.startsWith('inboxes.')]);
    }
    expect(await on.store.messages.delete(inbox.id, messageId, T)).toBe(false);
    expect(await on.counts()).toMatchObject({ messages: 301 });
  });

  it('is freed by the sweeper in steps, and keeps what arrived later', async () => {
    const later = await onlyPlaced(on.store, mailTo([inbox]), T);
    const freed = await sweepAll(on.store, T, 50);
    expect(freed.length).toBeGreaterThan(5);
    expect(Math.max(...freed)).toBeLessThan(60);
    expect(await on.counts()).toMatchObject({ messages: 1, sources: 1 });
    const [only] = await on.store.messages.listRows(inbox.id, everything, T);
    expect(only?.id).toBe(later.messageId);
    expect(await on.store.upkeep.sweep(T, 50)).toBe(0);
  });

  it('may expire or be deleted before it was freed, and leaves nothing', async () => {
    await sweepAll(on.store, T + 1000);
    expect(await on.counts()).toMatchObject({ messages: 0, sources: 0 });
    expect(await on.store.upkeep.sweep(T + 1000, 50)).toBe(0);
  });

  it('may be emptied again', async () => {
    expect(await on.store.messages.deleteAll(inbox.id, T)).toBe(true);
    await sweepAll(on.store, T);
    expect(await on.counts()).toMatchObject({ messages: 0, sources: 0 });
  });
});
