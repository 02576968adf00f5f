import type { InboxRecord, MessageRecord } from '../../store/contract/index.ts';
import { cursorAt, timeOfSince } from '../cursor.ts';
import { readUntil } from '../held/change-signal.ts';
import { stillLiveInbox } from '../live-inbox.ts';
import { type Elsewhere, type ElsewhereDeps, lookElsewhere } from './elsewhere.ts';
import { goneOf, readInFull } from './full-messages.ts';
import { findInOtherInboxes, findOtherRefusals, type OtherMail } from './other-mail.ts';
import type { Expectation, Explanation, Outcome, WaitedMessage } from './outcome.ts';
import { WaitScan } from './scan.ts';
import { reportSummaryOf, summaryOf } from './summary.ts';
import type { ExplanationCaller } from './without-recipient.ts';

export interface ExplainDeps extends ElsewhereDeps {
  /** Resolves when the refusals that were given before the call can be read. */
  refusalsWritten(): Promise<void>;
}

/** A wait while it runs. */
interface Waiting {
  deps: ExplainDeps;
  inbox: InboxRecord;
  expectation: Expectation;
  /** Only messages and refusals after this time count, epoch ms. */
  from: number;
  /** When the wait began, epoch ms. */
  begun: number;
  scan: WaitScan;
}

/**
 * Waits for messages that match, oldest first, or for silence; and explains a wait that failed.
 * @param inbox a live inbox, read before this call
 * @param caller decides what an explanation may show
 * @param signal ends the wait at once: the client disconnected, or the server stops
 * @throws AppError `invalid_since`; `inbox_expired` or `not_found` when the inbox ends meanwhile
 */
export async function waitAndExplain(
  deps: ExplainDeps,
  inbox: InboxRecord,
  expectation: Expectation,
  caller: ExplanationCaller,
  signal: AbortSignal,
): Promise<Outcome> {
  const { since, match, count, waitMs } = expectation;
  const from = since === undefined ? 0 : timeOfSince(inbox.id, since);
  const scan = new WaitScan(deps.held, inbox, { match, after: from, enough: Math.max(count, 1), waitMs });
  const waiting: Waiting = { deps, inbox, expectation, from, begun: deps.held.clock.now(), scan };
  const messages = await untilOver(waiting, signal);
  const wasStopped = signal.aborted && !scan.hasEnough;
  const isSilence = count === 0 && messages.length === 0 && scan.isComplete && !wasStopped;
  const matched = isSilence || (count > 0 && messages.length >= count);
  const explanation = matched ? null : await explain(waiting, { caller, messages, wasStopped });
  return { matched, messages, cursor: cursorAt(inbox.id, scan.place), explanation };
}

/** Checks messages until enough match or the time is over. @returns those that matched and are still there */
function untilOver(
  { deps, inbox, expectation, scan }: Waiting,
  signal: AbortSignal,
): Promise<WaitedMessage[]> {
  const { held } = deps;
  const { id, accountId } = inbox;
  const source = { accountId, subscribe: (listener: () => void) => held.events.onMessage(id, listener) };
  return readUntil({ ...held, source, signal }, expectation.waitMs, async (now, isLast) => {
    const { expiresAt } = stillLiveInbox(await held.store.inboxes.find(accountId, id, now), now, id);
    for (;;) {
      await scan.run(signal);
      if (!scan.hasEnough && !isLast && !signal.aborted) {
        return { result: [], isFinal: false, until: expiresAt };
      }
      const { found, gone } = await readInFull(held, scan.matched);
      scan.drop(gone);
      // Where a match was deleted meanwhile, the next one takes its place.
      if (gone.size === 0 || signal.aborted) return { result: found, isFinal: true, until: expiresAt };
    }
  });
}

async function explain(
  waiting: Waiting,
  ended: { caller: ExplanationCaller; messages: WaitedMessage[]; wasStopped: boolean },
): Promise<Explanation> {
  const { deps, inbox, expectation, from, begun, scan } = waiting;
  await deps.refusalsWritten();
  const { sinkId, ...elsewhere } = await lookElsewhere(deps, inbox, { from, begun }, ended.caller);
  const earlier = expectation.since === undefined ? undefined : await matchBefore(waiting);
  // The last step, so that nothing is shown of a message that was deleted meanwhile.
  const shown = [...scan.seen.map(({ message }) => message), ...(earlier ? [earlier] : [])];
  const gone = new Set(await goneOf(deps.held.store, shown, deps.held.clock.now()));
  const deleted = scan.seen.filter(({ message }) => gone.has(message.id)).length;
  const unexpected = expectation.count === 0 && ended.messages.length > 0;
  const reason: Explanation['reason'] = unexpected
    ? 'unexpected_message'
    : ended.wasStopped
      ? 'server_stopping'
      : 'timeout';
  const isQuiet = reason === 'timeout' && ended.messages.length === 0 && !earlier;
  const otherMail = isQuiet && ended.caller.ownsAccount ? await findOtherMail(waiting, elsewhere) : [];
  const explanation = {
    ...{ reason, seenCount: scan.seenCount - deleted, ...elsewhere, otherMail },
    seen: scan.seen.filter(({ message }) => !gone.has(message.id)).toReversed(),
  };
  const facts = {
    ...{ expectation, from, isComplete: scan.isComplete, commonFailed: scan.commonFailed, sinkId },
    ...{ inbox: await countsOf(waiting), now: deps.held.clock.now() },
    matched: ended.messages.map(({ message }) => message),
    earlier: earlier && !gone.has(earlier.id) ? earlier : undefined,
  };
  const summary = summaryOf(explanation, facts);
  return { ...explanation, summary, reportSummary: reportSummaryOf(explanation, facts) };
}

/** Mail of the account that may have been intended for the inbox, though its address is not similar. */
async function findOtherMail(
  { deps, inbox, expectation, begun, scan }: Waiting,
  { refused, nearMisses }: Pick<Elsewhere, 'refused' | 'nearMisses'>,
): Promise<OtherMail[]> {
  const search = { inbox, match: expectation.match, begun };
  const found = await findInOtherInboxes(deps, search);
  const isExplained = found.length + refused.length + nearMisses.length + scan.seenCount > 0;
  return isExplained ? found : findOtherRefusals(deps, search);
}

/** The inbox with its counts as they are now. */
async function countsOf({ deps, inbox }: Waiting): Promise<InboxRecord> {
  const { clock, store } = deps.held;
  return (await store.inboxes.find(inbox.accountId, inbox.id, clock.now())) ?? inbox;
}

/** The newest message that matches and arrived before the wait's `since`: a wait that failed often missed it. */
async function matchBefore({ deps, inbox, expectation, from }: Waiting): Promise<MessageRecord | undefined> {
  const { clock, store } = deps.held;
  const range = { after: 0, before: from + 1, order: 'newest-first', limit: 1, onlyMatches: true } as const;
  const page = await store.messages.check(inbox, expectation.match, range, clock.now());
  return page.messages[0]?.message;
}
