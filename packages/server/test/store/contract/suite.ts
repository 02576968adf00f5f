import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import type { InboxRecord, NewInbox } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { accountOn, inboxAt } from '../builders.ts';
import type { Select } from '../invariants.ts';
import { describeAccounts } from './accounts.ts';
import { describeEnds } from './ends.ts';
import { describeImports, describeOutgoing } from './imports.ts';
import { describeAddresses, describeInboxes } from './inboxes.ts';
import { describeMessages } from './messages.ts';
import { describeRefusals, describeReports } from './reports.ts';
import { describeSearch } from './search.ts';
import { describeSink } from './sink.ts';
import { describeQuota, describeUsage } from './usage.ts';
import { describeWebhooks } from './webhooks.ts';

/** An engine's store on an empty storage, with what the contract has no method for. */
export interface Opened {
  store: Store;
  /** Another process's store on the same storage, such as the operator's; closed with this one. */
  openAnother(): Promise<Store>;
  /** Runs a statement on the tables. */
  sql: Select;
  /** Rows in each table that holds what clients sent or made. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** What the cases work with. */
export interface Given {
  /** One store for all cases, each with accounts of its own. */
  readonly store: Store;
  /** A store for one case, where it counts rows or sweeps. */
  fresh(): Promise<Opened>;
  /** The same as a server has it, with its threads, for what two processes do at once; `forAll`: for all cases. */
  freshServer(forAll?: 'forAll'): Promise<Opened>;
  /** A new account's id. */
  account(on?: Opened): Promise<string>;
  inbox(owner: string, changes?: Partial<NewInbox>, on?: Opened): Promise<InboxRecord>;
  /** A new account with an inbox, by default in the store of all cases. */
  place(where?: 'shared' | 'fresh' | 'server'): Promise<Place>;
}

export interface Place {
  on: Opened;
  store: Store;
  owner: string;
  inbox: InboxRecord;
}

export const EVERY_DAY: readonly ((given: Given) => void)[] = [
  describeAccounts,
  describeUsage,
  describeQuota,
  describeInboxes,
  describeAddresses,
  describeImports,
  describeSink,
  describeMessages,
  describeOutgoing,
  describeSearch,
  describeRefusals,
  describeEnds,
  describeWebhooks,
  describeReports,
];

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
      fresh: () => fresh(openFresh()),
      freshServer: (forAll) => fresh(open(), forAll),
      account: (on = shared()) => accountOn(on.store),
      async inbox(owner, changes, on = shared()) {
        return (await on.store.inboxes.create(owner, inboxAt(changes), 5_000, null)).inbox;
      },
      async place(where = 'shared') {
        const opening = { fresh: given.fresh, server: given.freshServer, shared };
        const on = await opening[where]();
        const owner = await given.account(on);
        return { on, store: on.store, owner, inbox: await given.inbox(owner, {}, on) };
      },
    };
    for (const suite of suites) suite(given);
  });
}
