import type { Clock } from '../../clock.ts';
import type { Filters } from '../../mail/matching/filters.ts';
import type { EndedWait, FailedWait, InboxRecord, ReportStore } from '../../store/contract/index.ts';
import type { Expectation, Outcome } from './outcome.ts';

/** Ended waits are written together this often: a report that is a moment late costs nobody anything. */
const PAUSE_MS = 100;
/** Ended waits in memory while the store is slow or down; more are lost. */
const MAX_WAITING = 1_000;
/** A condition or a summary in a report; longer ones are cut. */
const MAX_CONDITION = 100;
const MAX_SUMMARY = 500;

/** Stores how waits ended, for the reports of test runs. The response to a wait never waits for it. */
export interface WaitLog {
  /** Of an inbox without labels nothing is stored: no report can name it. */
  add(inbox: InboxRecord, expectation: Expectation, ended: EndedOutcome): void;
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
  const { reason, seenCount, reportSummary } = explanation;
  if (reason === 'server_stopping') return undefined;
  const summary = cut(reportSummary, MAX_SUMMARY);
  return { at, waitedMs, count, match: matchOf(match), reason, seenCount, summary };
}

/** @param onLost called with the error when ended waits could not be stored */
export function createWaitLog(
  store: Pick<ReportStore, 'addWaits'>,
  clock: Clock,
  onLost: (error: unknown) => void,
): WaitLog {
  let waiting: EndedWait[] = [];
  let writing: Promise<void> = Promise.resolve();
  let pause: AbortController | undefined;

  const write = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    pause = undefined;
    try {
      await store.addWaits(batch);
    } catch (error) {
      onLost(error);
    }
  };

  return {
    add(inbox, expectation, ended) {
      if (Object.keys(inbox.labels).length === 0 || waiting.length >= MAX_WAITING) return;
      const failed = failureOf(expectation, ended, clock.now());
      if (failed === undefined) return;
      waiting.push({ accountId: inbox.accountId, inboxId: inbox.id, failed });
      if (pause) return;
      pause = new AbortController();
      const { signal } = pause;
      writing = writing.then(() => clock.sleep(PAUSE_MS, signal)).then(write);
    },
    flushed() {
      pause?.abort();
      return writing;
    },
  };
}
