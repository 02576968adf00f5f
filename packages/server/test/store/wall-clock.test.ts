import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { InboxRecord } from '../../src/inboxes/records.ts';
import { inboxAt, mailTo, onlyPlaced, T } from './builders.ts';
import type { Opened } from './contract/suite.ts';
import { openTemporaryHere } from './sqlite/open-sqlite.ts';

const HOUR = 3_600_000;

describe('the wall clock beside stored times', () => {
  let on: Opened;
  let inbox: InboxRecord;
  beforeEach(async () => {
    on = await openTemporaryHere();
    const accountId = newId('acc', T);
    await on.store.accounts.create({ id: accountId, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await on.store.inboxes.create(accountId, inboxAt(), 10, null)).inbox;
  });
  afterEach(() => on.close());

  it('gives messages of an inbox increasing times all the same', async () => {
    const times: number[] = [];
    for (const now of [T + 5000, T + 1000, T - HOUR, T + 5001, T + 4000]) {
      times.push((await onlyPlaced(on.store, mailTo([inbox]), now)).receivedAt);
    }
    expect(times).toEqual([5000, 5001, 5002, 5003, 5004].map((ms) => T + ms));
  });
});
