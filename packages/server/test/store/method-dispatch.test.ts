import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isReading, type Kit, runOn } from '../../src/database/sql.ts';
import { openReader, readingEngine } from '../../src/database/sqlite/connection.ts';
import { newId } from '../../src/ids.ts';
import { OPERATIONS, operationAt } from '../../src/store.ts';
import { everything, T } from './builders.ts';
import type { Opened } from './contract/suite.ts';
import { openTemporary } from './sqlite/open-sqlite.ts';

let opened: Opened & { path: string };
let reader: Kit;
beforeAll(async () => {
  opened = await openTemporary();
  reader = readingEngine(openReader({ path: opened.path, busyTimeoutMs: 10 }));
});
afterAll(async () => {
  await reader.close();
  await opened.close();
});

const message = newId('msg', T);
/** Arguments for each reading method. */
const ITEMS = { owner: { id: 'acc_1', accountId: 'acc_1' }, provider: 'ses', kind: 'template' };

const ARGUMENTS: Record<string, unknown[]> = {
  'accounts.findFirst': [],
  'accounts.find': ['acc_1'],
  'accounts.list': [{ limit: 1, after: 'acc_1' }],
  'keys.findByHash': ['h', T],
  'keys.list': ['acc_1'],
  'keys.find': ['key_1'],
  'keys.newestHash': ['acc_1', T],
  'sessions.find': ['h', T],
  'usage.read': ['acc_1', '2027-01', '2027-01-15'],
  'domains.find': ['mayfly.test'],
  'domains.list': ['acc_1'],
  'inboxes.find': ['acc_1', 'inb_1', T],
  'inboxes.findByToken': ['t', T],
  'inboxes.findTokenHash': ['inb_1', T],
  'inboxes.list': ['acc_1', { labels: { a: 'b' }, address: 'a@mayfly.test', limit: 1, before: 'inb_2' }, T],
  'inboxes.findByAddress': ['a@mayfly.test', T],
  'inboxes.findTakers': ['a@mayfly.test', T],
  'faults.read': ['acc_1', 'inb_1', T],
  'messages.listRows': ['inb_1', everything, T],
  'messages.listAfter': ['inb_1', { after: 0, limit: 1 }, T],
  'messages.listByAccount': ['acc_1', { after: 0, limit: 1 }, T],
  'messages.listNewest': ['acc_1', everything, T],
  'messages.search': [{ accountId: 'acc_1' }, [{ field: 'any', text: 'a' }], everything, T],
  'messages.newestInAccount': ['acc_1'],
  'messages.placeInAccount': ['acc_1', T],
  'messages.check': [
    'inb_1',
    { text: 'word' },
    { ...everything, order: 'oldest-first', onlyMatches: true },
    T,
  ],
  'messages.recipients': ['inb_1', 0, T],
  'messages.existing': ['inb_1', [message], T],
  'messages.find': ['inb_1', message, T],
  'messages.readRaw': ['inb_1', message, 1, T],
  'messages.sizeOf': ['inb_1', message, T],
  'readings.missing': [[1, 2]],
  'readings.listUnread': [0, 1],
  'readings.load': [1],
  'refusals.listByDomain': ['mayfly.test', 'inb_1', 1, T],
  'refusals.listByAccount': ['acc_1', { after: 0, limit: 1 }, T],
  'refusals.listAddresses': ['acc_1', { after: 0, limit: 1 }, T],
  'refusals.recent': [0, T],
  'refusals.listConcerning': ['a@b.test', 0, T],
  'waits.find': ['acc_1', 'inb_1', 'wai_1', T],
  'webhooks.find': ['acc_1', 'whk_1', T],
  'webhooks.list': ['acc_1', { limit: 1, before: 'whk_1' }, T],
  'deliveries.nextAt': [0],
  'reports.listRun': ['acc_1', { run: '1' }, T],
  'reports.listLabels': ['acc_1', 'run', 1, T],
  'providerItems.find': [{ ...ITEMS, name: 'a' }, T],
  'providerItems.list': [ITEMS, T],
  'outgoing.nextAt': [],
  'outgoing.rawOf': ['out_1'],
  'outgoing.list': ['inb_1', { before: 'out_1', limit: 1, messageId: 'msg_1' }, T],
  'outgoing.held': ['inb_1', T],
  'outgoing.readOutcomes': ['acc_1', 'inb_1', T],
  'upkeep.measure': [T],
  'upkeep.time': [],
  'deliveries.list': ['acc_1', 'whk_1', { limit: 1, before: 'dlv_1' }, T],
  'deliveries.listOfMessage': ['acc_1', { inboxId: 'inb_1', messageId: 'msg_1', from: T, to: T }, T],
};

describe('the division of the store between two threads', () => {
  const reading = [...OPERATIONS].flatMap(([path, { kind }]) => (isReading(kind) ? [path] : []));

  it('every method declared as reading is tried below', () => {
    expect(reading.filter((path) => !ARGUMENTS[path])).toEqual([]);
  });

  it.each(reading)('%s works on a connection that cannot write', async (path) => {
    await runOn(operationAt(path), ARGUMENTS[path] ?? [], reader);
  });

  it('that connection does refuse to write', async () => {
    const hold = runOn(operationAt('addresses.hold'), ['acc_1', 'a@mayfly.test', T + 1, T], reader);
    await expect(hold).rejects.toMatchObject({ code: 'unavailable' });
  });
});
