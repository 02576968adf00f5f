import { expect, test } from 'vitest';
import { mailTo, onlyPlaced, T } from '../builders.ts';
import { describeStore, EVERY_DAY } from '../contract/suite.ts';
import { describeUsageMeter } from '../contract/usage.ts';
import { openTemporary, openWithInbox } from './open-sqlite.ts';

describeStore(
  'the store on SQLite',
  () => openTemporary(),
  () => openTemporary({ isDurable: false }),
  [...EVERY_DAY, describeUsageMeter],
);

test('the store on SQLite takes the memory of a mail that is given away, and copies no other', async () => {
  const { store, inbox } = await openWithInbox();
  const given = new Uint8Array(new ArrayBuffer(300_000, { maxByteLength: 400_000 }));
  const kept = new Uint8Array(300_000);
  for (const raw of [given, kept]) await onlyPlaced(store, mailTo([inbox], { raw }), T);
  expect([given.length, kept.length]).toEqual([0, 300_000]);
});
