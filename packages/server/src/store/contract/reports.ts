/** Reports of test runs: what became of the inboxes with some labels. Part of the Store's contract. */

/** Failed waits that are kept of an inbox: the first ones, because the later ones often follow from them. */
export const MAX_FAILED_WAITS = 10;
/** Failed waits of an inbox whose explanations are kept, the newest: more are those of a loop. */
export const MAX_EXPLAINED_WAITS = 20;
/** Inboxes that one report shows; its sums have all. */
export const MAX_RUN_INBOXES = 1_000;

/** A wait that failed. It has nothing of a message's content, so that it can outlive the messages. */
export interface FailedWait {
  /** Of its explanation. */
  waitId: string;
  /** When it ended, epoch milliseconds. */
  at: number;
  waitedMs: number;
  /** How many messages were wanted; 0 for silence. */
  count: number;
  /** The wait's conditions as texts, cut where they are long. */
  match: Record<string, string>;
  reason: 'timeout' | 'unexpected_message';
  /** How many messages arrived that did not match. */
  seenCount: number;
  /** One or more sentences for a person. */
  summary: string;
}

/** What a failed wait has explained. */
export interface ExplainedWait {
  id: string;
  accountId: string;
  inboxId: string;
  /** Epoch milliseconds. */
  endedAt: number;
  /** JSON of what can outlive the messages. */
  plain: string;
  /** JSON of what replaces parts of it while the inbox is live. */
  content: string;
}

/** What of an inbox with labels was held and has ended: an explained wait, a list with `wait`, or a stream. */
export type EndedWait = { accountId: string; inboxId: string } & (
  | {
      kind: 'wait';
      /** Null for one that succeeded. */
      failed: FailedWait | null;
    }
  | { kind: 'list' | 'stream'; hadMessages: boolean }
);

/** How many lists or streams ended, by whether they returned a message. */
export interface HeldCounts {
  withMessages: number;
  empty: number;
}

/** The waits of an inbox. */
export interface InboxWaits {
  succeeded: number;
  failed: number;
  lists: HeldCounts;
  streams: HeldCounts;
  /** The first {@link MAX_FAILED_WAITS}, oldest first. */
  failures: FailedWait[];
}

/** The refusals of an inbox's address while it was the address of this inbox, or after its end; not those by faults. */
export interface InboxRefusals {
  count: number;
  /** Null without any. */
  last: { at: number; reply: string; mailFrom: string; remoteAddress: string } | null;
}

/** An inbox of a run, live or ended within the last 24 hours. */
export interface RunInbox {
  id: string;
  address: string;
  labels: Record<string, string>;
  createdAt: number;
  state: 'live' | 'expired' | 'deleted';
  /** Null for a live one. */
  endedAt: number | null;
  /** Messages received so far, deleted ones included. */
  received: number;
  /** Null before the first. */
  firstReceivedAt: number | null;
  waits: InboxWaits;
  refusals: InboxRefusals;
}

/** Sums over all inboxes of a run. */
export interface RunTotals {
  inboxes: number;
  /** Inboxes that received nothing. */
  inboxesWithoutMail: number;
  messages: number;
  waitsSucceeded: number;
  waitsFailed: number;
  lists: HeldCounts;
  streams: HeldCounts;
  refusals: number;
}

/** A label, and the live inboxes that have it. */
export interface LabelCount {
  name: string;
  value: string;
  inboxes: number;
  /** When the newest of them was created, epoch milliseconds. */
  newestAt: number;
}

export interface ReportStore {
  /**
   * Adds ended waits, lists and streams to what is kept of their inboxes, also of inboxes that were deleted
   * meanwhile.
   */
  addWaits(waits: EndedWait[]): Promise<void>;
  /** Stores what failed waits have explained; of an inbox the newest {@link MAX_EXPLAINED_WAITS}. */
  addExplained(waits: ExplainedWait[]): Promise<void>;
  /** What a failed wait has explained, for 24 hours; without `content` once the inbox has ended. */
  findWait(
    accountId: string,
    inboxId: string,
    waitId: string,
    now: number,
  ): Promise<{ plain: string; content: string | null } | undefined>;
  /**
   * The account's inboxes that have all the labels and are live or ended within the last 24 hours: sums over all, and
   * {@link MAX_RUN_INBOXES} of them, newest first; those with a problem are preferred. Of deleted inboxes only those
   * that had labels are known.
   * @param labels at least one
   */
  listRun(
    accountId: string,
    labels: Record<string, string>,
    now: number,
  ): Promise<{ totals: RunTotals; inboxes: RunInbox[] }>;
  /**
   * The labels of the account's live inboxes, those of the newest inboxes first.
   * @param name null for labels of all names
   */
  listLabels(accountId: string, name: string | null, limit: number, now: number): Promise<LabelCount[]>;
}
