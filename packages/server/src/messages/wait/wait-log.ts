import type { Clock } from '../../clock.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import type { EndedWait, FailedWait, InboxRecord, ReportStore } from '../../store/contract/index.ts';
import { createWriteBehind } from '../../write-behind.ts';
import type { Expectation, Outcome } from './outcome.ts';

/** Ended waits are written together this often: reports may be a moment late. */
const PAUSE_MS = 100;
/** A condition or a summary in a report; longer ones are cut. */
const MAX_CONDITION = 100;
const MAX_SUMMARY = 500;

/** Stores how waits ended, for the reports of test runs. The response to a wait never waits for it. */
export interface WaitLog {
  /** Of an inbox without labels nothing is stored: no report can name it. */
  add(inbox: InboxRecord, expectation: Expectation, ended: EndedOutcome): void;
  /** The same of a list that waited, or of a stream. */
  addHeld(inbox: InboxRecord, kind: 'list' | 'stream', hadMessages: boolean): void;
  /** Resolves when all that was added before the call can be read, or was lost. */
  flushed(): Promise<void>;
}

/** @property waitedMs how long the wait was held */
export type EndedOutcome = Pick<Outcome, 'matched' | 'explanation'> & { waitedMs: number };

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

/** Conditions as texts: `{"kind":"verify"}` for a link. */
function matchOf(match: Filters): Record<string, string> {
  const conditions = Object.entries(match).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    conditions.map(([name, value]) => [
      name,
      cut(typeof value === 'string' ? value : JSON.stringify(value), MAX_CONDITION),
    ]),
  );
}

/** @returns null for a wait that succeeded, undefined for one that is not over: the server stops */
function failureOf(
  { match, count }: Expectation,
  { matched, explanation, waitedMs }: EndedOutcome,
  at: number,
): FailedWait | null | undefined {
  if (matched || !explanation) return null;
  const { reason, seenCount, plainSummary } = explanation;
  if (reason === 'server_stopping') return undefined;
  const summary = cut(plainSummary, MAX_SUMMARY);
  return { at, waitedMs, count, match: matchOf(match), reason, seenCount, summary };
}

const hasLabels = ({ labels }: InboxRecord): boolean => Object.keys(labels).length > 0;

/** @param onLost called with the error when ended waits could not be stored */
export function createWaitLog(
  store: Pick<ReportStore, 'addWaits'>,
  clock: Clock,
  onLost: (error: unknown) => void,
): WaitLog {
  const log = createWriteBehind<EndedWait>({
    write: (waits) => store.addWaits(waits),
    onLost,
    pause: (signal) => clock.sleep(PAUSE_MS, signal),
  });
  return {
    add(inbox, expectation, ended) {
      if (!hasLabels(inbox)) return;
      const failed = failureOf(expectation, ended, clock.now());
      if (failed === undefined) return;
      log.add({ accountId: inbox.accountId, inboxId: inbox.id, kind: 'wait', failed });
    },
    addHeld(inbox, kind, hadMessages) {
      if (hasLabels(inbox)) log.add({ accountId: inbox.accountId, inboxId: inbox.id, kind, hadMessages });
    },
    flushed: () => log.flushed(),
  };
}
