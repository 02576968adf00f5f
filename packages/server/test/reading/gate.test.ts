import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSqlite } from '../../src/database/sqlite/open.ts';
import { createEventBus } from '../../src/events.ts';
import type { InboxRecord } from '../../src/inboxes/records.ts';
import { MAX_LANES, Readings } from '../../src/reading/readings.ts';
import type { NewSource, ReadingOf } from '../../src/reading/sql.ts';
import type { Store } from '../../src/store.ts';
import { accountOn, everything, inboxAt, mailTo, onlyPlaced, T } from '../store/builders.ts';
import { SHOWING, showingMethods } from '../store/contract/reading-methods.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useFolder } from '../support/folder.ts';
import { sharedParsing } from '../support/shared-parsing.ts';
import type { ReadMail } from '../support/store-on.ts';

/** What shows nothing of what a mail says. */
const WITHOUT_READING = ['messages.existing', 'messages.readRaw', 'messages.recipients', 'messages.sizeOf'];
const NOW = T + 1_000;

describe('the gate', () => {
  const folder = useFolder();
  let store: Store;
  let asked: number[] = [];
  let toRead: ReadMail;
  let owner: string;
  let inbox: InboxRecord;

  beforeAll(async () => {
    store = await openSqlite({
      path: join(folder(), 'mayfly.db'),
      async read(sources) {
        asked.push(...sources);
        const size = toRead.raw.length;
        await store.readings.keep(sources.map((source) => ({ ...toRead.reading, source, size })));
      },
    });
    owner = await accountOn(store);
  });
  afterAll(() => store?.close());

  async function unread() {
    asked = [];
    ({ inbox } = await store.inboxes.create(owner, inboxAt(), 1_000, null));
    toRead = mailTo([inbox], { subject: 'hello' });
    return onlyPlaced(store, toRead, T);
  }

  it.each(SHOWING.filter((path) => path.startsWith('messages.')))(
    'has %s wait for the reading of what it shows, and for none that it does not need',
    async (path) => {
      const { messageId } = await unread();
      const show = showingMethods(store, { owner, inbox, tokenHash: '', messageId })[path];
      expect(await show?.(NOW)).toBe(true);
      expect(asked.length > 0).toBe(!WITHOUT_READING.includes(path));
    },
  );

  it('reads a page up to where it was when it was asked for, however many mails arrive meanwhile', async () => {
    await unread();
    let arrived = 0;
    const busy = await openSqlite({
      path: join(folder(), 'busy.db'),
      async read(sources) {
        // One more with each reading: a page that followed would never be finished.
        arrived += 1;
        await onlyPlaced(busy, toRead, T);
        const size = toRead.raw.length;
        await busy.readings.keep(sources.map((source) => ({ ...toRead.reading, source, size })));
      },
    });
    onTestFinished(() => busy.close());
    const made = await busy.inboxes.create(await accountOn(busy), inboxAt(), 1_000, null);
    toRead = mailTo([made.inbox]);
    await onlyPlaced(busy, toRead, T);
    expect(await busy.messages.listRows(made.inbox.id, everything, NOW)).toHaveLength(1);
    expect(await busy.messages.listAfter(made.inbox.id, everything, NOW)).toHaveLength(2);
    expect(arrived).toBe(2);
  });
});

it('the backlog of an account is bounded: beyond it the account gets 451, and nobody else', async () => {
  const readings = new Readings({
    store: { readings: {} as Store['readings'] },
    parsing: { parse: () => new Promise(() => undefined) },
    ...{ authenticating: null, events: createEventBus(), clock: new FakeClock() },
    ...{ log: pino({ level: 'silent' }), isShared: false },
  });
  const begin = (accountId: string) => readings.begin(mailTo([]), [accountId, 'inb']);
  const begun = Array.from({ length: 20_000 }, () => begin('busy'));
  expect(() => begin('busy')).toThrow('Too much mail of this account is not read yet');
  expect(() => begin('other')).not.toThrow();
  begun[0]?.cancel();
  await nextTurn();
  expect(() => begin('busy')).not.toThrow();
});

it('while mails keep arriving, those that a caller awaits are read at once, the others afterwards', async () => {
  const read: number[] = [];
  const loaded: number[] = [];
  const load = async (source: number): Promise<NewSource> => {
    loaded.push(source);
    return mailTo([]);
  };
  const keep = async (all: ReadingOf[]) => {
    read.push(...all.map(({ source }) => source));
    return 0;
  };
  const readings = new Readings({
    store: { readings: { keep, load } as Store['readings'] },
    ...{ parsing: sharedParsing(), authenticating: null, events: createEventBus(), clock: new FakeClock() },
    ...{ log: pino({ level: 'silent' }), isShared: false },
  });
  onTestFinished(() => readings.close());
  const stored = Array.from({ length: MAX_LANES + 300 }, () => readings.begin(mailTo([]), ['acc', 'inb']));
  const arriving = readings.begin(mailTo([]), ['acc', 'inb']);
  for (const [source, one] of stored.entries()) one.committed(source);
  const awaited = [100, 150, 200, 250].map((n) => MAX_LANES + n);
  for (const source of awaited) await readings.ensure([source]);
  expect(read).toEqual(expect.arrayContaining(awaited));
  // Besides these, only those that were begun before there were many.
  await vi.waitFor(() => expect(read).toHaveLength(MAX_LANES + 4));
  await readings.ensure([MAX_LANES + 299]);
  expect(read).toHaveLength(MAX_LANES + 5);
  arriving.cancel();
  await vi.waitFor(() => expect(read).toHaveLength(stored.length));
  // What had to wait did not stay in memory.
  expect(loaded.toSorted((a, b) => a - b)).toEqual(stored.map((_, source) => source).slice(MAX_LANES));
});
