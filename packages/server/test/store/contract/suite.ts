import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord, NewInbox } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { inboxAt, T } from '../builders.ts';
import { describeAccountPages } from './accounts/suite-account-pages.ts';
import { describeAccounts } from './accounts/suite-accounts.ts';
import { describeDeletion } from './accounts/suite-deletion.ts';
import { describeEnds } from './inboxes/suite-ends.ts';
import { describeFaults } from './inboxes/suite-faults.ts';
import { describeInboxes } from './inboxes/suite-inboxes.ts';
import { describeSink } from './inboxes/suite-sink.ts';
import { describeStaged } from './inboxes/suite-staged.ts';
import { describeCheck } from './messages/suite-check.ts';
import { describeEmptying } from './messages/suite-emptying.ts';
import { describeExplain } from './messages/suite-explain.ts';
import { describeMessages } from './messages/suite-messages.ts';
import { describeOutgoing } from './messages/suite-outgoing.ts';
import { describeSearch } from './messages/suite-search.ts';
import { describeTakers } from './messages/suite-takers.ts';
import { describeTimeline } from './messages/suite-timeline.ts';
import { describeLimits } from './suite-limits.ts';
import { describeReading } from './suite-reading.ts';
import { describeLargeReports, describeReports } from './suite-reports.ts';
import { describeTwoWriters } from './suite-two-writers.ts';
import { describeUsage } from './suite-usage.ts';
import { describeUsageMeter } from './suite-usage-meter.ts';
import { describeWebhookClocks } from './suite-webhook-clocks.ts';
import { describeWebhooks } from './suite-webhooks.ts';

/** An engine's store on an empty storage, with what the contract has no method for. */
export interface Opened {
  store: Store;
  /** Another process's store on the same storage, such as the operator's; closed with this one. */
  openAnother(): Promise<Store>;
  /** Another writer on the same storage; each of its transactions first waits for `beforeTransaction`. */
  gated(beforeTransaction: () => Promise<void>): Promise<Store>;
  /** Rows in each table that holds what clients sent or made. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** What the cases work with. */
export interface Given {
  /** One store for all cases, each with accounts of its own. */
  readonly store: Store;
  /** A store for one case, where it counts rows or sweeps; `forAll`: for all cases, opened before them. */
  fresh(forAll?: 'forAll'): Promise<Opened>;
  /** The same as a server has it, with its threads: for what two processes do at once. */
  freshServer(forAll?: 'forAll'): Promise<Opened>;
  /** A new account's id. */
  account(on?: Opened): Promise<string>;
  inbox(owner: string, changes?: Partial<NewInbox>, on?: Opened): Promise<InboxRecord>;
}

const EVERY_DAY = [
  describeAccounts,
  describeDeletion,
  describeUsage,
  describeUsageMeter,
  describeLimits,
  describeInboxes,
  describeStaged,
  describeFaults,
  describeTakers,
  describeSink,
  describeMessages,
  describeOutgoing,
  describeAccountPages,
  describeSearch,
  describeCheck,
  describeEmptying,
  describeReading,
  describeEnds,
  describeWebhooks,
  describeWebhookClocks,
  describeExplain,
  describeTimeline,
  describeReports,
];
/** What takes long: deletions interrupted at each of their transactions, and thousands of inboxes. */
export const LONG = [describeTwoWriters, describeLargeReports];

/**
 * Holds an engine to the contract of `store.ts`.
 * @param open opens the store that most cases share
 * @param openFresh opens one for a single case, where that can be had for less
 */
export function describeStore(
  name: string,
  open: () => Promise<Opened>,
  openFresh = open,
  suites: readonly ((given: Given) => void)[] = EVERY_DAY,
): void {
  describe(name, () => {
    const all: Opened[] = [];
    const keep = async (opening: Promise<Opened>): Promise<Opened> => {
      const opened = await opening;
      all.push(opened);
      return opened;
    };
    const fresh = async (opening: Promise<Opened>, forAll?: 'forAll'): Promise<Opened> => {
      if (forAll) return keep(opening);
      const opened = await opening;
      // The next case uses its database on PostgreSQL: emptying one takes less than creating another.
      onTestFinished(() => opened.close());
      return opened;
    };
    const shared = (): Opened => {
      const [first] = all;
      if (!first) throw new Error('no store is open');
      return first;
    };
    beforeAll(async () => {
      await keep(open());
    });
    afterAll(async () => {
      for (const opened of all) await opened.close();
    });
    const given: Given = {
      get store() {
        return shared().store;
      },
      fresh: (forAll) => fresh(openFresh(), forAll),
      freshServer: (forAll) => fresh(open(), forAll),
      async account(on = shared()) {
        const id = newId('acc', T);
        await on.store.accounts.create({ id, name: 'Test', plan: 'developer', createdAt: T }, null);
        return id;
      },
      async inbox(owner, changes, on = shared()) {
        return (await on.store.inboxes.create(owner, inboxAt(changes), 5_000, null)).inbox;
      },
    };
    for (const suite of suites) suite(given);
  });
}
