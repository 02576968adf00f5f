import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { damagePage, inDatabase, unreadable } from '../../support/damage.ts';
import { withReadings } from '../../support/store-on.ts';
import { accountOn, DAY, inboxAt, mailTo, refusalOf, sweepAll, T } from '../builders.ts';
import { temporaryPath } from './open-sqlite.ts';

const DAMAGED = { code: 'storage_damaged' };
/** Rows of several pages. */
const INBOXES = 60;

let place: ReturnType<typeof temporaryPath>;
let store: Store;
let accountId: string;
let inboxes: InboxRecord[];
let damages: Error[];

const open = async (): Promise<void> => {
  damages = [];
  store = withReadings(await openSqlite({ path: place.path, onDamage: (error) => damages.push(error) }));
};

beforeEach(async () => {
  place = temporaryPath();
  await open();
  accountId = await accountOn(store);
  inboxes = [];
  for (let n = 0; n < INBOXES; n++) {
    const labels = { half: n % 2 === 0 ? 'even' : 'odd', text: 'x'.repeat(200) };
    inboxes.push((await store.inboxes.create(accountId, inboxAt({ labels }), 1000, null)).inbox);
  }
  const mails = inboxes.map((inbox) => mailTo([inbox]));
  await store.messages.addBatch(mails, T);
});
afterEach(async () => {
  await store.close();
  place.remove();
});

/** Damages a page of a table between two runs of the store. */
async function damage(table: string): Promise<void> {
  await store.close();
  damagePage(place.path, table);
  await open();
}

describe('a damaged page', () => {
  it('fails the mails that need it, and none of those that share their commit', async () => {
    await damage('inboxes');
    const ids = inboxes.map(({ id }) => id);
    const lost = unreadable(place.path, 'select * from inboxes where id = ?', ids);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThan(INBOXES);
    const results = await Promise.allSettled(
      inboxes.map((inbox) => store.messages.addBatch([mailTo([inbox])], T + 1)),
    );
    for (const [n, { id }] of inboxes.entries()) {
      if (lost.includes(id)) expect(results[n]).toMatchObject({ reason: DAMAGED });
      else expect(results[n]).toMatchObject({ value: [[{ inboxId: id }]] });
    }
    await expect(store.ping()).rejects.toMatchObject(DAMAGED);
    expect(damages).toHaveLength(1);
  });

  it('of a mail does not keep its inbox from being deleted, nor others from being deleted with it', async () => {
    await damage('sources');
    expect(await store.inboxes.delete(accountId, inboxes[0]?.id ?? '', T + 1)).toBe(true);
    for (const half of ['even', 'odd']) await store.inboxes.deleteByLabels(accountId, { half }, T + 1);
    for (const { id } of inboxes) expect(await store.inboxes.findTokenHash(id, T + 1)).toBeUndefined();
  });

  it('keeps the sweeper from what needs it, and from nothing else', async () => {
    await store.addresses.hold(accountId, 'held@mayfly.test', T + 1, T);
    await store.refusals.add([refusalOf('nobody@mayfly.test')]);
    await damage('refusals_by_time');
    await expect(sweepAll(store, T + 42 * DAY)).rejects.toMatchObject(DAMAGED);
    for (const table of ['addresses', 'messages'])
      expect(inDatabase(place.path, (rows) => rows.prepare(`select * from ${table}`).all())).toEqual([]);
  });
});
