import { beforeAll, describe, expect, it } from 'vitest';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { NewMail } from '../../../src/messages/records.ts';
import type { Store } from '../../../src/store.ts';
import { everything, mailTo, onlyPlaced, rawOf, T } from '../builders.ts';
import type { Given, Opened } from './suite.ts';

const NOW = T + 10;
/** More than a deletion frees in one transaction. */
const MANY = 130;
const LARGE = 300_000;
const SWEEP_ROWS = 200;

async function sweepAll(store: Store): Promise<void> {
  while ((await store.upkeep.sweep(NOW, SWEEP_ROWS)) >= SWEEP_ROWS);
}

const mailOf = (inboxes: InboxRecord[], size: number): NewMail =>
  mailTo(inboxes, { raw: new Uint8Array(size).fill(size % 251), maxMessages: 9999 });

/** An account with an inbox to delete, of which one message is shared with the inbox `kept`. */
interface Target {
  owner: string;
  inbox: InboxRecord;
  /** A message with a source of several pieces. */
  largeId: string;
}

async function fill(given: Given, on: Opened, kept: InboxRecord): Promise<Target> {
  const owner = await given.account(on);
  const inbox = await given.inbox(owner, { labels: { run: '1' } }, on);
  const { messageId: largeId } = await onlyPlaced(on.store, mailOf([inbox], LARGE), T);
  const small = Array.from({ length: MANY }, (_, n) => mailOf([inbox], 100 + n));
  await on.store.messages.addBatch([...small, mailOf([inbox, kept], 50)], T);
  return { owner, inbox, largeId };
}

type Deletion = (store: Store, target: Target) => Promise<unknown>;

const DELETIONS: Readonly<Record<string, Deletion>> = {
  'inboxes.delete': (store, { owner, inbox }) => store.inboxes.delete(owner, inbox.id, NOW),
  'inboxes.deleteByLabels': (store, { owner }) => store.inboxes.deleteByLabels(owner, { run: '1' }, NOW),
  'accounts.delete': (store, { owner }) => store.accounts.delete(owner, NOW),
  'messages.deleteAll': (store, { inbox }) => store.messages.deleteAll(inbox.id, NOW),
  'messages.delete': (store, { inbox, largeId }) => store.messages.delete(inbox.id, largeId, NOW),
  'upkeep.sweep': async (store, { owner, inbox }) => {
    await store.inboxes.setExpiry(owner, inbox.id, { ttlMinutes: 1, expiresAt: NOW }, T);
    await sweepAll(store);
  },
};

/** What another writer does between two transactions of a deletion, before new mail arrives. */
const INTERRUPTIONS: Readonly<Record<string, Deletion>> = {
  'the sweeper': (store) => sweepAll(store),
  'the deletion of the same inbox': (store, { owner, inbox }) => store.inboxes.delete(owner, inbox.id, NOW),
  'the deletion of the same account': (store, { owner }) => store.accounts.delete(owner, NOW),
};

/** Fails unless every message that an inbox lists can be read whole. */
async function expectWhole(store: Store, inbox: InboxRecord, sizes: number[]): Promise<void> {
  const listed = await store.messages.listRows(inbox.id, everything, NOW);
  expect(listed.map(({ size }) => size).toSorted((a, b) => a - b)).toEqual(sizes.toSorted((a, b) => a - b));
  for (const { id, size } of listed) {
    expect(await rawOf(store, inbox.id, id, NOW)).toEqual(new Uint8Array(size).fill(size % 251));
  }
}

/** What the contract promises about deletions beside other writers. */
export function describeTwoWriters(given: Given): void {
  describe.each(Object.entries(DELETIONS))(
    '%s, interrupted between any two of its transactions',
    (_, run) => {
      let on: Opened;
      let kept: InboxRecord;
      let keptSizes: number[];
      let keeper: string;
      beforeAll(async () => {
        on = await given.fresh('forAll');
        keeper = await given.account(on);
        kept = await given.inbox(keeper, {}, on);
        keptSizes = [];
      });

      it.each(Object.entries(INTERRUPTIONS))(
        'by %s and by new mail, deletes nothing else',
        async (_, interrupt) => {
          // Before the first transaction, the second, and so on, until the deletion has no more.
          for (let at = 1, reached = true; reached; at++) {
            const target = await fill(given, on, kept);
            keptSizes.push(50);
            const arrived: InboxRecord[] = [];
            let transactions = 0;
            reached = false;
            const deleting = await on.gated(async () => {
              if (++transactions !== at) return;
              reached = true;
              await interrupt(on.store, target);
              await sweepAll(on.store);
              const inbox = await given.inbox(keeper, {}, on);
              arrived.push(inbox);
              await on.store.messages.addBatch(
                [mailOf([inbox], 7), mailOf([inbox, kept], 8), mailOf([inbox], LARGE)],
                NOW,
              );
              keptSizes.push(8);
            });
            await run(deleting, target);
            for (const inbox of arrived) await expectWhole(on.store, inbox, [7, 8, LARGE]);
            await expectWhole(on.store, kept, keptSizes);

            // What is left goes without a trace, so every source was released exactly once.
            for (const inbox of [...arrived, target.inbox])
              await on.store.inboxes.delete(inbox.accountId, inbox.id, NOW);
            await on.store.accounts.delete(target.owner, NOW);
            await sweepAll(on.store);
            const left = {
              messages: keptSizes.length,
              sources: keptSizes.length,
              source_pieces: 0,
              parked_sources: 0,
            };
            expect(await on.counts()).toMatchObject({ ...left, inboxes: 1 });
            await expectWhole(on.store, kept, keptSizes);
          }
        },
      );
    },
  );
}
