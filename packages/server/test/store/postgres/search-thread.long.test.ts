import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { parseMail } from '../../../src/mail/parse.ts';
import { contentJson } from '../../../src/mail/stored-content.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { cpuSlowness } from '../../support/slowness.ts';
import { everything, inboxAt, mailTo, onlyPlaced, reread, saying, T } from '../builders.ts';
import type { Opened } from '../contract/suite.ts';
import { openStores } from './open-postgres.ts';

const IS_THERE = await hasPostgres();
const MAX_BLOCK_MS = 20;
/** A search on the main thread is above the limit in each of them; a collection of garbage is not. */
const ROUNDS = 5;
const TEXT_BYTES = 40 * 1024 * 1024;
/** What is searched for stands at the end of the long text. */
const NEEDLE = 'needle 4711';

/** @returns the most CPU time of this thread within one turn of the event loop while `work` runs, milliseconds */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isRunning = true;
  const running = work().finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    const before = process.threadCpuUsage();
    await setImmediate();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
  }
  await running;
  return longest;
}

describe.skipIf(!IS_THERE)('searching the text of a large message on PostgreSQL', () => {
  const owner = newId('acc', T);
  let stores: Awaited<ReturnType<typeof openStores>>;
  let on: Opened;
  let inbox: InboxRecord;
  let messageId: string;
  beforeAll(async () => {
    stores = await openStores();
    on = await stores.open();
    await on.store.accounts.create({ id: owner, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await on.store.inboxes.create(owner, inboxAt(), 10, null)).inbox;
    const line = `${'Grüße und viele Wörter '.repeat(3)}\r\n`;
    const text = line.repeat(Math.ceil(TEXT_BYTES / Buffer.byteLength(line)));
    const header = 'Subject: long\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n';
    const raw = Buffer.from(`${header}${text}${NEEDLE}\r\n`);
    const parsed = await parseMail(raw);
    const content = Buffer.from(contentJson(parsed, raw.length));
    ({ messageId } = await onlyPlaced(
      on.store,
      reread(mailTo([inbox], { raw, subject: 'long' }), { content }),
      T,
    ));
  });
  afterAll(async () => {
    await stores?.close();
  });

  const search = async (text: string) => {
    const { messages } = await on.store.messages.search(
      { accountId: owner },
      [{ field: 'text', text }],
      everything,
      T,
    );
    return messages.map(({ id }) => id);
  };
  const check = async (text: string) => {
    const range = { ...everything, order: 'newest-first', onlyMatches: true } as const;
    const { messages } = await on.store.messages.check(inbox.id, { text }, range, T);
    return messages.filter(({ failed }) => failed.length === 0).map(({ message }) => message.id);
  };

  it.each([
    ['a search of the account', search],
    ['a filter or wait of the inbox', check],
  ])('holds the main thread for no longer than 20 ms of CPU time: %s', async (_, find) => {
    // The thread is started by the first call.
    await find('nothing like that');
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS && least >= MAX_BLOCK_MS; round++) {
      let found: string[] = [];
      const ms = await longestBlock(async () => {
        found = await find(NEEDLE.toUpperCase());
      });
      expect(found).toEqual([messageId]);
      least = Math.min(least, ms / cpuSlowness());
    }
    expect(least).toBeLessThan(MAX_BLOCK_MS);
  });

  it('finishes what it has begun when the store is closed, and then answers unavailable', async () => {
    const store = await on.openAnother();
    const searching = store.messages.search({ accountId: owner }, saying('long'), everything, T);
    await store.close();
    expect((await searching).messages).toHaveLength(1);
    await expect(store.messages.search({ accountId: owner }, [], everything, T)).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
