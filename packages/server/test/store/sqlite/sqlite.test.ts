import { expect, test } from 'vitest';
import { accountOn, inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';
import { describeStore, EVERY_DAY } from '../contract/suite.ts';
import { describeUsageMeter } from '../contract/usage-meter.ts';
import { openTemporary } from './open-sqlite.ts';

const SUITES = [...EVERY_DAY, describeUsageMeter];
describeStore(
  'the store on SQLite',
  () => openTemporary(),
  () => openTemporary({ isDurable: false }),
  SUITES,
);

test('the store on SQLite takes the memory of a mail that is given away, and copies no other', async () => {
  const { store, close } = await openTemporary();
  const accountId = await accountOn(store);
  const { inbox } = await store.inboxes.create(accountId, inboxAt(), 10, null);
  const given = new Uint8Array(new ArrayBuffer(300_000, { maxByteLength: 400_000 }));
  const kept = new Uint8Array(300_000);
  for (const raw of [given, kept]) await onlyPlaced(store, mailTo([inbox], { raw }), T);
  expect([given.length, kept.length]).toEqual([0, 300_000]);
  await close();
});
