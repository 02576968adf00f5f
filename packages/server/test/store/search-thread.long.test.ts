import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../src/inboxes/records.ts';
import { parseMail } from '../../src/mail/parse.ts';
import { contentJson } from '../../src/mail/stored-content.ts';
import { hasPostgres } from '../support/postgres.ts';
import { cpuSlowness } from '../support/slowness.ts';
import { accountOn, everything, inboxAt, mailTo, onlyPlaced, reread, saying, T } from './builders.ts';
import type { Opened } from './contract/suite.ts';
import { openStores } from './postgres/open-postgres.ts';
import { openTemporary } from './sqlite/open-sqlite.ts';

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

const HAS_POSTGRES = await hasPostgres();
let postgres: Awaited<ReturnType<typeof openStores>> | undefined;
afterAll(() => postgres?.close());

describe.each(['SQLite', 'PostgreSQL'])('the thread that searches on %s', (engine) => {
  let on: Opened;
  let inbox: InboxRecord;
  beforeEach(async (context) => {
    if (engine === 'SQLite') on = await openTemporary();
    else {
      if (!HAS_POSTGRES) context.skip();
      postgres ??= await openStores();
      on = await postgres.open();
    }
    inbox = (await on.store.inboxes.create(await accountOn(on.store), inboxAt(), 10, null)).inbox;
  });
  afterEach(() => on?.close());

  const search = async (word: string, { store }: Pick<Opened, 'store'> = on) => {
    const scope = { accountId: inbox.accountId };
    const { messages } = await store.messages.search(scope, saying(word), everything, T);
    return messages.map(({ id }) => id);
  };
  const check = async (text: string) => {
    const range = { ...everything, order: 'newest-first' } as const;
    const { messages } = await on.store.messages.check(inbox.id, { text }, range, T);
    return messages.filter(({ failed }) => failed.length === 0).map(({ message }) => message.id);
  };

  it('sees every change that was answered before', async () => {
    for (let n = 0; n < 30; n++) {
      const { messageId } = await onlyPlaced(on.store, mailTo([inbox], { subject: `number${n}` }), T);
      expect(await search(`number${n}`)).toEqual([messageId]);
      await on.store.messages.delete(inbox.id, messageId, T);
      expect(await search(`number${n}`)).toEqual([]);
    }
  });

  it('leaves the main thread free, for a search of the account and for a filter or wait of the inbox', async () => {
    const line = `${'Grüße und viele Wörter '.repeat(3)}\r\n`;
    const text = line.repeat(Math.ceil(TEXT_BYTES / Buffer.byteLength(line)));
    const header = 'Subject: long\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n';
    const raw = Buffer.from(`${header}${text}${NEEDLE}\r\n`);
    const content = Buffer.from(contentJson(parseMail(raw), raw.length));
    const mail = reread(mailTo([inbox], { raw, subject: 'long' }), { content });
    const { messageId } = await onlyPlaced(on.store, mail, T);
    for (const find of [search, check]) {
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
      expect([find.name, least < MAX_BLOCK_MS, least]).toEqual([find.name, true, least]);
    }
  });

  it('finishes what it has begun when the store is closed, and then answers unavailable', async () => {
    await onlyPlaced(on.store, mailTo([inbox], { subject: 'here' }), T);
    const store = await on.openAnother();
    await search('here', { store });
    const running = Promise.all(Array.from({ length: 5 }, () => search('here', { store })));
    await store.close();
    for (const found of await running) expect(found).toHaveLength(1);
    await expect(search('here', { store })).rejects.toMatchObject({ code: 'unavailable' });
    const unused = await on.openAnother();
    await unused.close();
    await expect(search('here', { store: unused })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
